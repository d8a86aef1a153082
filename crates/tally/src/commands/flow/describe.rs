//! `tally flow describe` shows the flows that a node can start, from the node's own description.

use std::collections::BTreeMap;

use api::FlowFailure;
use serde::Serialize;
use serde_json::Value;

use super::named_types::{named_types, resolved};
use crate::failure::Failure;
use crate::output::{Output, Table, pairs, stdout_ink};
use crate::target::Target;

/// Maximum number of schemas that are followed to find a type's name.
const DEPTH_MAX: usize = 8;

/// Arguments of `tally flow describe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A flow, such as cash.issue; all flows by default
    flow: Option<String>,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

/// A flow that can be started.
#[derive(Debug, Serialize)]
struct Described {
    flow: String,
    endpoint: String,
    permission: String,
    steps: Vec<String>,
    arguments: Value,
    result: Value,
}

/// The same, with the types that its arguments and its result name.
#[derive(Debug, Serialize)]
struct DescribedWithTypes {
    #[serde(flatten)]
    flow: Described,
    /// The schemas, by their names.
    types: BTreeMap<String, Value>,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let (wanted, output) = (self.flow, self.output);
        self.target.with_client(async |client| {
            let document = client.openapi().await?;
            let mut flows = described(&document);
            let Some(wanted) = wanted else {
                return output.show(&flows, |flows| list(flows));
            };
            flows.retain(|flow| flow.flow == wanted);
            let Some(flow) = flows.pop() else {
                return Err(Failure::from(FlowFailure {
                    code: "flow.unknown".to_owned(),
                    message: format!("the node has no flow '{wanted}'"),
                    hint: "List the flows with 'tally flow describe'.".to_owned(),
                    retry_after_ms: None,
                }));
            };
            let types = named_types(&document, [&flow.arguments, &flow.result]);
            let described = DescribedWithTypes { flow, types };
            output.show(&described, |described| {
                let types = described.types.iter();
                let types = types.map(|(name, schema)| fields(&document, name, schema));
                let parts = [one(&document, &described.flow)].into_iter().chain(types);
                parts.collect::<Vec<_>>().join("\n\n")
            })
        })
    }
}

/// Returns every operation that starts one flow.
fn described(document: &Value) -> Vec<Described> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let flows = paths.filter_map(|(path, methods)| {
        let operation = &methods["post"];
        let flow = operation["x-flow"].as_str()?;
        let json = |place: &Value| {
            let schema = &place["content"]["application/json"]["schema"];
            resolved(document, schema).clone()
        };
        let outcome = json(&operation["responses"]["200"]);
        let steps = operation["x-progress-steps"].as_array().into_iter();
        let steps = steps.flatten().filter_map(Value::as_str);
        Some(Described {
            flow: flow.to_owned(),
            endpoint: format!("POST {path}"),
            permission: text(&operation["x-permission"]),
            steps: steps.map(str::to_owned).collect(),
            arguments: json(&operation["requestBody"]),
            result: resolved(document, &outcome["properties"]["result"]).clone(),
        })
    });
    let mut flows: Vec<Described> = flows.collect();
    flows.sort_by(|a, b| a.flow.cmp(&b.flow));
    flows
}

fn list(flows: &[Described]) -> String {
    let mut table = Table::new(&["flow", "permission", "arguments"]);
    for flow in flows {
        let fields = flow.arguments["properties"].as_object().into_iter();
        let fields: Vec<&str> = fields.flatten().map(|(name, _)| name.as_str()).collect();
        table.row([flow.flow.clone(), flow.permission.clone(), fields.join(" ")]);
    }
    table.render(stdout_ink())
}

fn one(document: &Value, flow: &Described) -> String {
    let head = pairs(&[
        ("flow", flow.flow.clone()),
        ("endpoint", flow.endpoint.clone()),
        ("permission", flow.permission.clone()),
        ("steps", flow.steps.join(", ")),
    ]);
    let arguments = fields(document, "argument", &flow.arguments);
    let result = fields(document, "result", &flow.result);
    // `head` ends with the end of its last line.
    format!("{head}\n{arguments}\n\n{result}")
}

/// Returns the fields of an object. Any other schema is one nameless field.
fn fields(document: &Value, what: &str, schema: &Value) -> String {
    let mut table = Table::new(&[what, "type", "required", "meaning"]);
    let required = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|all| all.iter().any(|field| field == name))
    };
    match schema["properties"].as_object() {
        Some(properties) => {
            for (name, field) in properties {
                let needed = if required(name) { "yes" } else { "" };
                table.row([
                    name.clone(),
                    kind(field, DEPTH_MAX),
                    needed.to_owned(),
                    meaning(document, field),
                ]);
            }
        }
        None => table.row([
            "(itself)".to_owned(),
            kind(schema, DEPTH_MAX),
            "yes".to_owned(),
            meaning(document, schema),
        ]),
    }
    table.render(stdout_ink())
}

/// Returns the first sentence of a field's description, on one line.
fn meaning(document: &Value, field: &Value) -> String {
    let said = match field["description"].as_str() {
        Some(said) => said.to_owned(),
        None => text(&resolved(document, field)["description"]),
    };
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    line.split_once(". ")
        .map_or(line.clone(), |(first, _)| format!("{first}."))
}

/// Returns a short name for a schema's type.
fn kind(schema: &Value, depth: usize) -> String {
    if let Some(place) = schema["$ref"].as_str() {
        let name = place.rsplit_once('/').map_or(place, |(_, name)| name);
        return name.to_owned();
    }
    if let Some(words) = words(schema) {
        return words;
    }
    if let Some(alternatives) = schema["anyOf"].as_array().or(schema["oneOf"].as_array())
        && depth > 0
    {
        let kinds = alternatives
            .iter()
            .filter(|alternative| alternative["type"] != "null")
            .map(|alternative| kind(alternative, depth - 1));
        let mut kinds: Vec<String> = kinds.collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    let named: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let named = named.into_iter().filter(|kind| *kind != "null");
    let named = named.map(|name| match name {
        "array" if depth > 0 => format!("list of {}", kind(&schema["items"], depth - 1)),
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => "whole number".to_owned(),
        other => other.to_owned(),
    });
    let named: Vec<String> = named.collect();
    match named.is_empty() {
        true => "any".to_owned(),
        false => named.join(" or "),
    }
}

/// Returns the only values of a text, if its schema lists them.
fn words(schema: &Value) -> Option<String> {
    let one = schema["const"].as_str().map(str::to_owned);
    let several = schema["enum"].as_array().map(|values| {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        values.join(" or ")
    });
    one.or(several).filter(|text| !text.is_empty())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_have_short_names() {
        for (schema, expected) in [
            (json!({ "type": "string" }), "text"),
            (json!({ "type": ["integer", "null"] }), "whole number"),
            (
                json!({ "type": ["integer", "string", "null"] }),
                "whole number or text",
            ),
            (
                json!({ "type": "array", "items": { "type": "boolean" } }),
                "list of true or false",
            ),
            (
                json!({ "anyOf": [{ "$ref": "#/components/schemas/Wait" }, { "type": "null" }] }),
                "Wait",
            ),
            (json!({}), "any"),
        ] {
            assert_eq!(kind(&schema, DEPTH_MAX), expected, "{schema}");
        }
    }

    #[test]
    fn one_blank_line_separates_the_parts() {
        let flow = Described {
            flow: "cash.issue".to_owned(),
            endpoint: "POST /v1/flows/cash.issue".to_owned(),
            permission: "flow.start:cash.issue".to_owned(),
            steps: vec!["building".to_owned()],
            arguments: json!({ "properties": { "quantity": { "type": "integer" } } }),
            result: json!({ "type": "string" }),
        };
        let text = one(&json!({}), &flow);
        let blank = text.lines().filter(|line| line.is_empty()).count();
        assert_eq!(blank, 2, "{text}");
        assert!(!text.contains("\n\n\n") && !text.ends_with('\n'), "{text}");
    }
}
