//! An operation for each flow that can be started: `POST /v1/flows/{name}`, with the schemas of its arguments and its result.

use std::collections::BTreeSet;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::answers::problems_of;
use super::parameter::parameter;
use crate::Outcome;
use crate::operations::START_FLOW_AT_ENDPOINT;

/// A flow that can be started, for the description.
#[derive(Clone, Debug)]
pub struct FlowFacts {
    /// Its registered name.
    pub name: String,
    /// Its versions; the schemas belong to the last one.
    pub versions: Vec<u32>,
    /// Its progress steps, in their usual order.
    pub steps: Vec<String>,
    /// The schema of its arguments.
    pub arguments: Schema,
    /// The schema of its result.
    pub result: Schema,
}

/// Adds the flows' operations to the paths and their schemas to the definitions. Returns the tags of the operations.
pub(super) fn describe(
    flows: &[FlowFacts],
    paths: &mut Map<String, Value>,
    generator: &mut SchemaGenerator,
) -> Vec<Value> {
    let mut tags: Vec<String> = Vec::new();
    for (flow, name) in flows.iter().zip(names(flows)) {
        let arguments = arguments_of(&name);
        let outcome = format!("{name}Outcome");
        let mut schema = flow.arguments.clone();
        describe_as(&mut schema, &flow.name, "The arguments of the flow.");
        let ended = outcome_of(flow, generator);
        let definitions = generator.definitions_mut();
        definitions.insert(arguments.clone(), schema.to_value());
        definitions.insert(outcome.clone(), ended);
        let tag = tag(&flow.name);
        if !tags.contains(&tag) {
            tags.push(tag.clone());
        }
        let operation = operation(flow, (&name, &tag), (&arguments, &outcome));
        let path = START_FLOW_AT_ENDPOINT.at(&[&flow.name]);
        paths.insert(path, json!({ "post": operation }));
    }
    let text = "An endpoint for each flow of this kind: the body is its arguments, the answer its outcome.";
    tags.iter()
        .map(|tag| json!({ "name": tag, "description": text }))
        .collect()
}

/// Returns the names of operations and schemas: each flow's name in Pascal case, with a suffix if two would be equal.
pub(super) fn names(flows: &[FlowFacts]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::with_capacity(flows.len());
    for flow in flows {
        let mut name = pascal(&flow.name);
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// Returns the name of the schema of a flow's arguments.
pub(super) fn arguments_of(name: &str) -> String {
    format!("{name}Arguments")
}

/// Returns whether a flow may be started without arguments.
pub(super) fn needs_nothing(flow: &FlowFacts) -> bool {
    let required = flow.arguments.get("required").and_then(Value::as_array);
    let is_object = match flow.arguments.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    };
    is_object && required.is_none_or(Vec::is_empty)
}

fn operation(
    flow: &FlowFacts,
    (name, tag): (&str, &str),
    (arguments, outcome): (&str, &str),
) -> Value {
    let parameters: Vec<Value> = START_FLOW_AT_ENDPOINT
        .query
        .iter()
        .map(|query| parameter(query, query.kind.place()))
        .collect();
    let answer = |help: &str, headers: Value| {
        json!({
            "description": help,
            "headers": headers,
            "content": { "application/json": { "schema": reference(outcome) } },
            "links": { "outcome": {
                "operationId": "getFlow",
                "parameters": { "flow_id": "$response.body#/flow_id" },
                "description": "The state of the flow.",
            } },
        })
    };
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        answer(
            "The flow has succeeded: it is finalised or delivered.",
            json!({}),
        ),
    );
    let text = |help: &str| json!({ "description": help, "schema": { "type": "string" } });
    responses.insert(
        "202".to_owned(),
        answer(
            "The flow has not ended: the wait has timed out, or the request asked for no wait.",
            json!({
                "Location": text("The URL of the flow."),
                "Link": text("Its events, as the relation `monitor`, and its cancellation, as `cancel`."),
            }),
        ),
    );
    problems_of(&START_FLOW_AT_ENDPOINT, &mut responses);
    let versions = match flow.versions.as_slice() {
        [] | [_] => String::new(),
        all => {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!(
                " Versions: {}; the schemas are of the last.",
                all.join(", ")
            )
        }
    };
    json!({
        "operationId": format!("start{name}"),
        "tags": [tag],
        "summary": format!("Starts {}.", flow.name),
        "description": format!("Starts the flow `{}` with the body as its arguments, and waits as asked. A flow that fails is an answer, not a problem.{versions}", flow.name),
        "parameters": parameters,
        "requestBody": {
            "required": !needs_nothing(flow),
            "content": { "application/json": { "schema": reference(arguments) } },
        },
        "responses": responses,
        "x-flow": flow.name,
        "x-permission": format!("flow.start:{}", flow.name),
        "x-progress-steps": flow.steps,
    })
}

/// Returns the schema of a flow's outcome, with its own result.
fn outcome_of(flow: &FlowFacts, generator: &mut SchemaGenerator) -> Value {
    let mut outcome = Outcome::json_schema(generator);
    if let Some(properties) = outcome.get_mut("properties").and_then(Value::as_object_mut) {
        let mut result = flow.result.clone();
        // No description is added next to a `$ref`, because older versions of JSON Schema ignore it there.
        if result.get("$ref").is_none() {
            describe_as(&mut result, "", "The output of a flow that succeeded.");
        }
        properties.insert("result".to_owned(), result.to_value());
    }
    describe_as(&mut outcome, &flow.name, "The outcome of the flow.");
    outcome.to_value()
}

fn describe_as(schema: &mut Schema, flow: &str, otherwise: &str) {
    let said = schema.get("description").and_then(Value::as_str);
    let text = match (flow, said) {
        ("", Some(said)) => said.to_owned(),
        ("", None) => otherwise.to_owned(),
        (flow, _) => format!("`{flow}`: {otherwise}"),
    };
    schema.insert("description".to_owned(), text.into());
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Returns the tag of a flow's operation: its application.
fn tag(name: &str) -> String {
    let application = name.split_once('.').map_or(name, |(first, _)| first);
    format!("{application} flows")
}

/// Converts `cash.issue_and_pay` to `CashIssueAndPay`.
fn pascal(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .flat_map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters)
        })
        .collect()
}
