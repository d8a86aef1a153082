//! Compares each problem that a test of this program receives by hand-written requests with the operation's row, from which the description is
//! made.

use api::codes::ERRORS;
use api::operations::{Operation, START_FLOW_AT_ENDPOINT, operations};
use api::problem::PROBLEM_JSON;

use crate::http_api::fixture::Reply;

/// The status of refusals with codes of flows, contracts and other parts of the node.
const REFUSED: u64 = 422;

/// The status of a head that the HTTP library refuses before there is an operation. It has no body.
const HEAD_TOO_LARGE: u16 = 431;

/// Checks that the operation's row lists the code and the status of a problem.
///
/// # Panics
/// The row does not list them, so that the description is incomplete.
pub fn check(method: &str, path: &str, reply: &Reply) {
    let Some(operation) = operation_of(method, path) else {
        return;
    };
    if let Some(fault) = fault(operation, reply) {
        panic!("{method} {path}: {fault}: {reply:?}");
    }
}

/// Returns the operation of a request. Of several rows that fit, the one with the fewest segments in braces is meant.
fn operation_of(method: &str, path: &str) -> Option<&'static Operation> {
    let path = path.split('?').next().unwrap_or_default();
    let all = operations().chain([&START_FLOW_AT_ENDPOINT.row]);
    let fitting = all.filter(|row| row.method.as_str().eq_ignore_ascii_case(method));
    let fitting = fitting.filter(|row| fits(row.path, path));
    fitting.min_by_key(|row| row.segments.len())
}

/// Whether a path is of this form.
fn fits(form: &str, path: &str) -> bool {
    let (mut form, mut path) = (form.split('/'), path.split('/'));
    loop {
        match (form.next(), path.next()) {
            (None, None) => return true,
            (Some(part), Some(real)) if part == real => {}
            (Some(part), Some(real)) if part.starts_with('{') && !real.is_empty() => {}
            _ => return false,
        }
    }
}

/// Says how a problem differs from its description.
fn fault(operation: &Operation, reply: &Reply) -> Option<String> {
    let mut answers = operation.answers.iter();
    let is_answer = answers.any(|answer| answer.status == reply.status);
    if reply.status < 400 || is_answer || reply.status == HEAD_TOO_LARGE {
        return None;
    }
    if !reply
        .head
        .contains(&format!("content-type: {PROBLEM_JSON}"))
    {
        return Some("not a problem".to_owned());
    }
    let problem = reply.json();
    let (Some(code), Some(status)) = (problem["code"].as_str(), problem["status"].as_u64()) else {
        return Some("no code or no status".to_owned());
    };
    if status != u64::from(reply.status) {
        return Some(format!("the body says {status}"));
    }
    let mut listed = operation.refusals();
    let is_listed = listed.any(|info| info.code == code && u64::from(info.status) == status);
    let is_own = ERRORS.iter().any(|info| info.code == code);
    let is_others = operation.others && status == REFUSED && !is_own;
    (!is_listed && !is_others).then(|| format!("{code} with {status} is not described"))
}

#[test]
fn a_problem_that_is_not_described_is_found() {
    let reply = |status: u16, code: &str| Reply {
        status,
        head: format!("HTTP/1.1 {status}\r\ncontent-type: {PROBLEM_JSON}"),
        body: format!(r#"{{"code":"{code}","status":{status}}}"#),
    };
    let missing = "/v1/flows/00000000000000000000000000000000";
    for (method, path, status, code, is_described) in [
        ("GET", missing, 401, "api.unauthorised", true),
        ("GET", missing, 404, "node.unknown_flow", true),
        ("GET", missing, 422, "cash.zero_amount", true),
        ("GET", missing, 400, "cash.zero_amount", false),
        ("GET", missing, 422, "node.unknown_flow", false),
        ("GET", missing, 422, "api.bad_batch", false),
        ("POST", "/v1/flows/batch", 422, "api.bad_batch", true),
        (
            "POST",
            "/v1/flows/batch?a=b",
            422,
            "cash.zero_amount",
            false,
        ),
        ("POST", "/v1/flows/cash.pay", 422, "cash.zero_amount", true),
    ] {
        let operation = operation_of(method, path).expect(path);
        let fault = fault(operation, &reply(status, code));
        assert_eq!(fault.is_none(), is_described, "{path} {code}: {fault:?}");
    }
    assert!(operation_of("PUT", "/v1/flows").is_none());
    assert!(operation_of("GET", "/v1/flows/a/b").is_none());
}
