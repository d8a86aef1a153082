//! Bodies, answers and problems of an operation.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::codes::ErrorInfo;
use crate::operations::{Content, Operation};
use crate::problem::PROBLEM_JSON;

pub(super) fn content(content: &Content, generator: &mut SchemaGenerator) -> Value {
    let is_json = content.media.ends_with("json") && !content.media.ends_with("x-ndjson");
    let mut described = json!({ "schema": (content.schema)(generator).to_value() });
    match serde_json::from_str::<Value>(content.example) {
        Ok(example) if is_json => described["example"] = example,
        _ if is_json || content.example.is_empty() => {}
        _ => described["example"] = content.example.into(),
    }
    json!({ content.media: described })
}

pub(super) fn answers(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut answers = Map::new();
    for answer in operation.answers {
        let mut described = json!({ "description": answer.help });
        if let Some(body) = &answer.content {
            described["content"] = content(body, generator);
        }
        if answer.status == 202 && operation.body.is_some() {
            described["headers"] = json!({ "Location": { "description": "The URL of the flow.", "schema": { "type": "string" } } });
        }
        answers.insert(answer.status.to_string(), described);
    }
    problems_of(operation, &mut answers);
    answers.into()
}

/// Adds an operation's refusals as problems.
pub(super) fn problems_of(operation: &Operation, answers: &mut Map<String, Value>) {
    for (status, codes) in problems(operation) {
        let named: Vec<&str> = codes.iter().map(|info| info.code).collect();
        let mut text = named.join(", ");
        if status == REFUSED && operation.others {
            text.push_str(if text.is_empty() { "" } else { ", " });
            text.push_str(match operation.path.starts_with(CHAIN) {
                true => "or a code of the chain",
                false => "or a code of the flow, the ledger or the vault",
            });
        }
        let examples: Map<String, Value> = codes
            .iter()
            .map(|info| {
                let place = format!("#/components/examples/{}", info.code);
                (info.code.to_owned(), json!({ "$ref": place }))
            })
            .collect();
        let mut media = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
        if !examples.is_empty() {
            media["examples"] = examples.into();
        }
        let answer = answers
            .entry(status.to_string())
            .or_insert_with(|| json!({ "description": text, "content": {} }));
        answer["content"][PROBLEM_JSON] = media;
        if matches!(status, 429 | 503) {
            answer["headers"] = json!({ "Retry-After": { "description": "Seconds to wait before a retry, if a retry can help.", "schema": { "type": "integer" } } });
        }
    }
}

/// Operations of a chain node.
const CHAIN: &str = "/v1/chain/";

/// The status of refusals with codes that are not the API's own.
const REFUSED: u16 = 422;

/// Returns an operation's refusal codes, by status.
fn problems(operation: &Operation) -> BTreeMap<u16, Vec<&'static ErrorInfo>> {
    let mut problems: BTreeMap<u16, Vec<&'static ErrorInfo>> = BTreeMap::new();
    for info in operation.refusals() {
        problems.entry(info.status).or_default().push(info);
    }
    if operation.others {
        problems.entry(REFUSED).or_default();
    }
    problems
}

/// Returns a code's problem, as an example.
pub(super) fn problem(info: &ErrorInfo) -> Value {
    json!({
        "type": format!("urn:tally:error:{}", info.code),
        "title": title(info.status),
        "status": info.status,
        "detail": info.cause,
        "code": info.code,
        "hint": info.action,
    })
}

fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Payload Too Large",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        507 => "Insufficient Storage",
        _ => "Internal Server Error",
    }
}
