//! Arguments and outputs as JSON.

use flow::FlowError;
use primitives::Encode;

use crate::engine::flows::registry;

#[test]
fn arguments() {
    let registry = registry();
    let check = |json: &str, expected: &str| {
        let result = registry
            .args_from_json("test.ask", 3, json.as_bytes())
            .and_then(|args| registry.args_to_json("test.ask", 3, &args));
        match result {
            Ok(text) => assert_eq!(text, expected),
            Err(FlowError { code, message, .. }) => {
                assert_eq!(code, "flow.bad_arguments");
                assert!(message.contains(expected), "{message}");
            }
        }
    };
    check(
        r#"{"amount": 5, "currency": "GBP"}"#,
        r#"{"amount":5,"currency":"GBP"}"#,
    );
    check(
        r#"{"amout": 5, "currency": "GBP"}"#,
        "unknown field 'amout', did you mean 'amount'? The fields are: amount, currency",
    );
    check(
        r#"{"amount": 5, "currency": "GBP", "zzzzz": 1}"#,
        "unknown field 'zzzzz'. The fields are",
    );
    check(r#"{"amount": 5}"#, "missing field `currency`");
    check(
        r#"{"amount": -5, "currency": "GBP"}"#,
        "invalid value: integer `-5`, expected u64",
    );
    check("{", "EOF while parsing");
    check("", "invalid type: null");
}

#[test]
fn outputs() {
    let registry = registry();
    let output = "done".to_owned().to_bytes();
    assert_eq!(
        registry.output_to_json("test.ask", 3, &output).unwrap(),
        r#""done""#
    );
    assert_eq!(
        registry
            .output_to_json("test.ask", 3, &[0xff])
            .unwrap_err()
            .code,
        "flow.bad_output"
    );
}

#[test]
fn unknown_flows() {
    let registry = registry();
    let error = registry.args_from_json("test.aks", 3, b"{}").unwrap_err();
    assert_eq!(error.code, "flow.unknown");
    assert!(
        error.message.contains("did you mean 'test.ask'?"),
        "{}",
        error.message
    );
    let error = registry.args_from_json("test.ask", 4, b"{}").unwrap_err();
    assert_eq!(error.code, "flow.version_unsupported");
    assert_eq!(registry.current_version("test.ask").unwrap(), 3);
}

#[test]
fn the_list_names_versions_fields_and_responders() {
    let list = registry().list();
    let ask = list.iter().find(|flow| flow.name == "test.ask").unwrap();
    assert_eq!(ask.versions, [3]);
    assert_eq!(
        ask.arguments
            .iter()
            .map(|field| field.name)
            .collect::<Vec<_>>(),
        ["amount", "currency"]
    );
    let offer = list.iter().find(|flow| flow.name == "test.offer").unwrap();
    assert_eq!(offer.responds_to, [1, 2]);
}
