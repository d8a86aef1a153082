//! The cash flows, from JSON to JSON.

use primitives::Timestamp;

use crate::fixtures::*;
use crate::world::World;

const B: &str = "O=Bank B, L=London, C=GB";
const C: &str = "O=Bank C, L=London, C=GB";

#[track_caller]
fn refused(world: &mut World, flow: &str, json: &str, code: &str) {
    let error = world.run(flow, json).expect_err(json);
    assert_eq!(error.code, code, "{json}: {error}");
    assert!(!error.hint.is_empty(), "{code} has a hint");
    assert!(world.delivered.is_empty());
}

#[test]
fn issue() {
    let mut world = World::new();
    world
        .run("cash.issue", r#"{"currency":"GBP","quantity":1000}"#)
        .unwrap();
    assert_eq!(world.holds('A', "A GBP"), [1000]);
    let large = r#"{"currency":"EUR","quantity":"9007199254740993"}"#;
    world.run("cash.issue", large).unwrap();
    assert_eq!(world.holds('A', "A EUR"), [9_007_199_254_740_993]);
    let split = r#"{"currency":"GBP","quantity":10,"outputs":3,"reference":"01"}"#;
    world.run("cash.issue", split).unwrap();
    assert_eq!(world.holds('A', "A GBP 01"), [3, 3, 4]);
    assert!(world.delivered.is_empty(), "nobody else is concerned");
    let to_b = format!(r#"{{"currency":"USD","quantity":7,"recipient":"{B}"}}"#);
    let output = world.run("cash.issue", &to_b).unwrap();
    assert_eq!(world.holds('B', "A USD"), [7]);
    let (id, payee) = world.delivered[0];
    assert_eq!(payee, party('B').id());
    assert_eq!(output, format!(r#"{{"transaction":"{id}"}}"#));
    assert_eq!(world.notarised, 0, "an issue has nothing to notarise");
}

#[test]
fn issue_refused() {
    let table = [
        (r#"{"currency":"GBP","quantity":0}"#, "cash.zero_amount"),
        (
            r#"{"currency":"GBP","quantity":5,"outputs":6}"#,
            "cash.split_impossible",
        ),
        (
            r#"{"currency":"GBP","quantity":5,"outputs":0}"#,
            "cash.split_impossible",
        ),
        (
            r#"{"currency":"GBP","quantity":5000,"outputs":1001}"#,
            "cash.split_impossible",
        ),
        (
            r#"{"currency":"GBP","quantity":5,"recipient":"O=No Bank, L=London, C=GB"}"#,
            "cash.unknown_party",
        ),
        (
            r#"{"currency":"GBP","quantity":5,"notary":"O=Bank B, L=London, C=GB"}"#,
            "cash.not_a_notary",
        ),
        (
            r#"{"currency":"pounds","quantity":5}"#,
            "flow.bad_arguments",
        ),
        (r#"{"currency":"GBP","quantity":-5}"#, "flow.bad_arguments"),
        (r#"{"currency":"GBP","quantity":5.5}"#, "flow.bad_arguments"),
        (
            r#"{"currency":"GBP","quantity":"05"}"#,
            "flow.bad_arguments",
        ),
        (
            r#"{"currency":"GBP","quantity":"18446744073709551616"}"#,
            "flow.bad_arguments",
        ),
        (
            r#"{"currency":"GBP","quantity":5,"reference":"0"}"#,
            "flow.bad_arguments",
        ),
        (
            r#"{"currency":"GBP","quantity":5,"recipient":"Bank B"}"#,
            "flow.bad_arguments",
        ),
        (r#"{"currency":"GBP","amount":5}"#, "flow.bad_arguments"),
    ];
    for (json, code) in table {
        refused(&mut World::new(), "cash.issue", json, code);
    }
}

#[test]
fn a_lock_without_end_is_refused() {
    // Microseconds given for milliseconds would lock the cash for 57,000 years.
    for (until, code) in [
        ("253402300800000", "lock.too_far"),
        ("1767225600000000", "lock.too_far"),
        ("-1", "flow.bad_arguments"),
    ] {
        let json = format!(r#"{{"currency":"GBP","quantity":5,"until":{until}}}"#);
        refused(&mut World::new(), "cash.lock", &json, code);
    }
}

#[test]
fn pay_with_change_from_several_states_to_several_payees() {
    let mut world = World::new();
    world
        .run(
            "cash.issue",
            r#"{"currency":"GBP","quantity":100,"outputs":5}"#,
        )
        .unwrap();
    let pay = format!(
        r#"{{"currency":"GBP","payments":[{{"to":"{B}","quantity":30,"states":4}},{{"to":"{C}","quantity":20}}]}}"#
    );
    world.run("cash.pay", &pay).unwrap();
    assert_eq!(world.holds('B', "A GBP"), [7, 7, 8, 8]);
    assert_eq!(world.holds('C', "A GBP"), [20]);
    assert_eq!(
        world.holds('A', "A GBP"),
        [10, 20, 20],
        "the change is one state"
    );
    assert_eq!(world.notarised, 1);
    let payees: Vec<_> = world.delivered.iter().map(|(_, party)| *party).collect();
    assert_eq!(payees.len(), 2);
    assert!(payees.contains(&party('B').id()) && payees.contains(&party('C').id()));

    let exact = format!(r#"{{"currency":"GBP","payments":[{{"to":"{B}","quantity":50}}]}}"#);
    world.run("cash.pay", &exact).unwrap();
    assert!(
        world.holds('A', "A GBP").is_empty(),
        "no change, no state for it"
    );
}

#[test]
fn payments_have_a_time_window_on_request() {
    for (window, end_ms) in [("", None), (r#","window_ms":30000"#, Some(30_000))] {
        for (flow, payments) in [
            (
                "cash.pay",
                format!(r#""payments":[{{"to":"{B}","quantity":3}}]"#),
            ),
            (
                "cash.issue_and_pay",
                format!(r#""quantity":3,"recipient":"{B}""#),
            ),
        ] {
            let mut world = World::new();
            world
                .run("cash.issue", r#"{"currency":"GBP","quantity":3}"#)
                .unwrap();
            let json = format!(r#"{{"currency":"GBP",{payments}{window}}}"#);
            world.run(flow, &json).unwrap();
            let (payment, _) = world.delivered[0];
            let found = world.transactions[&payment].wire().time_window();
            let end = found.and_then(|window| window.end());
            assert_eq!(
                end,
                end_ms.and_then(|ms| Timestamp::EPOCH.plus_ms(ms)),
                "{flow}"
            );
            assert!(found.and_then(|window| window.start()).is_none());
        }
    }
}

#[test]
fn pay_cash_of_another_issuer() {
    let mut world = World::new();
    world.give("B GBP", 10);
    world.give("B GBP 07", 10);
    let by_name =
        format!(r#"{{"currency":"GBP","issuer":"{B}","payments":[{{"to":"{C}","quantity":4}}]}}"#);
    world.run("cash.pay", &by_name).unwrap();
    assert_eq!(world.holds('C', "B GBP"), [4]);
    let id = token("B GBP 07").id();
    let by_id = format!(r#"{{"token":"{id}","payments":[{{"to":"{C}","quantity":4}}]}}"#);
    world.run("cash.pay", &by_id).unwrap();
    assert_eq!(world.holds('C', "B GBP 07"), [4]);
    let to_myself = format!(
        r#"{{"token":"{id}","payments":[{{"to":"O=Bank A, L=London, C=GB","quantity":6,"states":6}}]}}"#
    );
    world.delivered.clear();
    world.run("cash.pay", &to_myself).unwrap();
    assert_eq!(world.holds('A', "B GBP 07"), [1; 6]);
    assert!(world.delivered.is_empty());
}

#[test]
fn pay_refused() {
    let to = |quantity: &str| format!(r#""payments":[{{"to":"{B}","quantity":{quantity}}}]"#);
    let id = token("A GBP").id();
    let table = [
        (
            format!(r#"{{"currency":"GBP",{}}}"#, to("101")),
            "vault.insufficient_funds",
        ),
        (
            format!(r#"{{"currency":"USD",{}}}"#, to("1")),
            "vault.insufficient_funds",
        ),
        (
            format!(r#"{{"currency":"GBP",{}}}"#, to("0")),
            "cash.zero_amount",
        ),
        (
            r#"{"currency":"GBP","payments":[]}"#.to_string(),
            "cash.no_payment",
        ),
        (format!("{{{}}}", to("1")), "cash.token_ambiguous"),
        (
            format!(r#"{{"token":"{id}","currency":"GBP",{}}}"#, to("1")),
            "cash.token_ambiguous",
        ),
        (
            format!(r#"{{"token":"{id}","issuer":"{B}",{}}}"#, to("1")),
            "cash.token_ambiguous",
        ),
        (
            format!(
                r#"{{"currency":"GBP","payments":[{{"to":"{B}","quantity":{max}}},{{"to":"{C}","quantity":1}}]}}"#,
                max = u64::MAX
            ),
            "cash.overflow",
        ),
        (
            format!(r#"{{"currency":"GBP","payments":[{{"to":"{B}","quantity":1,"states":2}}]}}"#),
            "cash.split_impossible",
        ),
        (
            format!(r#"{{"currency":"GBP","payments":[{{"to":"{B}","quantity":1,"state":2}}]}}"#),
            "flow.bad_arguments",
        ),
    ];
    for (json, code) in table {
        let mut world = World::new();
        world
            .run("cash.issue", r#"{"currency":"GBP","quantity":100}"#)
            .unwrap();
        refused(&mut world, "cash.pay", &json, code);
        assert_eq!(world.holds('A', "A GBP"), [100]);
    }
}

#[test]
fn issue_and_pay() {
    let mut world = World::new();
    let json = format!(r#"{{"currency":"GBP","quantity":9,"recipient":"{B}","states":2}}"#);
    let output = world.run("cash.issue_and_pay", &json).unwrap();
    assert_eq!(world.holds('B', "A GBP"), [4, 5]);
    assert!(world.holds('A', "A GBP").is_empty());
    assert_eq!((world.transactions.len(), world.notarised), (2, 1));
    let (payment, _) = world.delivered[0];
    assert!(
        output.contains(&format!(r#""payment":"{payment}""#)),
        "{output}"
    );
    let zero = format!(r#"{{"currency":"GBP","quantity":0,"recipient":"{B}"}}"#);
    world.delivered.clear();
    refused(&mut world, "cash.issue_and_pay", &zero, "cash.zero_amount");
}

#[test]
fn exit() {
    let mut world = World::new();
    world
        .run(
            "cash.issue",
            r#"{"currency":"GBP","quantity":100,"outputs":2}"#,
        )
        .unwrap();
    world
        .run("cash.exit", r#"{"currency":"GBP","quantity":60}"#)
        .unwrap();
    assert_eq!(world.holds('A', "A GBP"), [40]);
    assert_eq!(world.notarised, 1);
    let table = [
        (
            r#"{"currency":"GBP","quantity":0}"#.to_string(),
            "cash.zero_amount",
        ),
        (
            r#"{"currency":"GBP","quantity":41}"#.to_string(),
            "vault.insufficient_funds",
        ),
        (
            format!(r#"{{"currency":"GBP","quantity":1,"issuer":"{B}"}}"#),
            "cash.not_the_issuer",
        ),
    ];
    for (json, code) in table {
        refused(&mut world, "cash.exit", &json, code);
    }
    world
        .run("cash.exit", r#"{"currency":"GBP","quantity":40}"#)
        .unwrap();
    assert!(world.holds('A', "A GBP").is_empty());
}
