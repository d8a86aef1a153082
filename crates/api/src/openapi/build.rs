//! Puts the description together.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::answers::{answers, content, problem};
use super::model::{Kind, Operation, Parameter};
use super::operations;
use crate::codes::{ERRORS, ErrorInfo, files};
use crate::node::FlowInfo;
use crate::problem::Problem;

/// What the description depends on besides the types.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Flows that can be started here; `None` leaves them open.
    pub flows: Option<&'a [FlowInfo]>,
    /// Codes of other parts of the node and their causes, which flows and refusals may carry.
    pub codes: &'a [(&'a str, &'a str)],
}

/// What a description is put together from.
pub(crate) struct Parts<'a> {
    /// In the order in which they are shown.
    pub(crate) operations: &'a [&'static Operation],
    /// Codes of the API itself.
    pub(crate) errors: &'a [&'static ErrorInfo],
    /// Codes of other parts and their causes.
    pub(crate) others: &'a [(&'a str, &'a str)],
    /// Names types that only events carry.
    pub(crate) mentioned: fn(&mut SchemaGenerator),
    /// Changes schemas by what is known here.
    pub(crate) refine: &'a dyn Fn(&mut Map<String, Value>),
    /// What the description says of itself.
    pub(crate) info: Value,
    /// What operations belong to.
    pub(crate) tags: Value,
}

/// The whole description.
pub fn document(facts: &Facts<'_>) -> Value {
    let refine = |schemas: &mut Map<String, Value>| {
        if let Some(flows) = facts.flows {
            for schema in ["StartFlow", "StreamStart"] {
                if let Some(schema) = schemas.get_mut(schema) {
                    name_flows(schema, flows);
                }
            }
        }
    };
    assemble(&Parts {
        operations: &operations().collect::<Vec<_>>(),
        errors: &ERRORS.iter().chain(files::ERRORS).collect::<Vec<_>>(),
        others: facts.codes,
        mentioned: |generator| {
            for mentioned in [
                generator.subschema_for::<crate::events::FlowStep>(),
                generator.subschema_for::<crate::events::VaultStart>(),
                generator.subschema_for::<crate::events::VaultChange>(),
            ] {
                // Named for their definitions only.
                drop(mentioned);
            }
        },
        refine: &refine,
        info: json!({
            "title": "Tallystick node",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A node's HTTP API: flows, the vault, the ledger, the node itself.",
            "description": "JSON over HTTP/1.1 and HTTP/2, TLS only. Amounts and sequence numbers are integers (sums of amounts are text), ids, hashes and keys are text, times are milliseconds since the Unix epoch. Everything that is no success is a problem (RFC 9457) with a stable code and a hint.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        }),
        tags: json!([
            { "name": "flows", "description": "Start flows, follow them, learn what came of them." },
            { "name": "vault", "description": "What the node owns." },
            { "name": "ledger", "description": "What the node has recorded." },
            { "name": "attachments", "description": "Files that transactions refer to by their hash." },
            { "name": "notary", "description": "What a notary has seen consumed." },
            { "name": "contracts", "description": "Contracts of the node's binary, and what the node signs that others propose." },
            { "name": "node", "description": "The node and its network." },
            { "name": "users", "description": "Who may do what." },
        ]),
    })
}

/// Puts a description together.
pub(crate) fn assemble(parts: &Parts<'_>) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut all: Map<String, Value> = Map::new();
    for operation in parts.operations {
        let described = described(operation, &mut generator);
        if let Some(methods) = all
            .entry(operation.path)
            .or_insert_with(|| json!({}))
            .as_object_mut()
        {
            methods.insert(operation.method.to_owned(), described);
        }
    }
    generator.subschema_for::<Problem>();
    (parts.mentioned)(&mut generator);
    let mut schemas = generator.take_definitions(true);
    schemas.values_mut().for_each(without_links);
    let codes = error_code(parts.errors, parts.others);
    schemas.insert("ErrorCode".to_owned(), codes);
    if let Some(code) = schemas
        .get_mut("Problem")
        .and_then(|problem| problem.pointer_mut("/properties/code"))
    {
        *code = json!({ "$ref": "#/components/schemas/ErrorCode" });
    }
    (parts.refine)(&mut schemas);
    let examples: Map<String, Value> = parts
        .errors
        .iter()
        .map(|info| {
            (
                info.code.to_owned(),
                json!({ "summary": info.cause, "value": problem(info) }),
            )
        })
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": parts.info,
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "tags": parts.tags,
        "paths": all,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer", "description": "A token of the node's configuration." } },
            "schemas": schemas,
            "examples": examples,
        },
    })
}

fn described(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = Vec::new();
    for segment in operation.segments {
        parameters.push(parameter(segment, "path", generator));
    }
    for query in operation.query {
        let place = if matches!(query.kind, Kind::Header | Kind::HeaderText(_)) {
            "header"
        } else {
            "query"
        };
        parameters.push(parameter(query, place, generator));
    }
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "responses": answers(operation, generator),
    });
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = &operation.body {
        described["requestBody"] = json!({ "required": true, "content": content(body, generator) });
    }
    if !operation.token {
        described["security"] = json!([]);
    }
    described
}

fn parameter(parameter: &Parameter, place: &str, generator: &mut SchemaGenerator) -> Value {
    let schema = match parameter.kind {
        Kind::Number | Kind::Header => {
            json!({ "type": "integer", "format": "uint64", "minimum": 0 })
        }
        Kind::Count => json!({ "type": "integer", "format": "uint32", "minimum": 0 }),
        Kind::Hex(digits) => {
            json!({ "type": "string", "pattern": format!("^[0-9a-f]{{{digits}}}$") })
        }
        Kind::Text(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
        Kind::Form(form) | Kind::HeaderText(form) => json!({ "type": "string", "pattern": form }),
        Kind::Words(words) => json!({ "type": "string", "enum": words }),
        Kind::Of(schema) => schema(generator).to_value(),
    };
    json!({
        "name": parameter.name,
        "in": place,
        "required": place == "path",
        "description": parameter.help,
        "schema": schema,
    })
}

/// The form of a code, and those that are known; applications bring their own.
fn error_code(own: &[&ErrorInfo], others: &[(&str, &str)]) -> Value {
    let known: BTreeMap<&str, &str> = own
        .iter()
        .map(|info| (info.code, info.cause))
        .chain(others.iter().copied())
        .collect();
    json!({
        "type": "string",
        "pattern": "^[a-z][a-z0-9_]*\\.[a-z][a-z0-9_]*$",
        "description": "Stable; its meaning never changes. `x-codes` lists those that the node knows; applications bring their own.",
        "x-codes": known,
    })
}

/// Comments of the code link to types; here they name them.
fn without_links(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "description" => {
                        *text = text
                            .replace("[`crate::", "`")
                            .replace("[`", "`")
                            .replace("`]", "`");
                    }
                    member => without_links(member),
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(without_links),
        _ => {}
    }
}

/// Which flows there are, and the fields of their arguments: one alternative for each flow, told apart by its name, which is what
/// generators of clients and of requests understand best.
fn name_flows(schema: &mut Value, flows: &[FlowInfo]) {
    let startable = || flows.iter().filter(|flow| !flow.versions.is_empty());
    let names: Vec<&str> = startable().map(|flow| flow.name.as_str()).collect();
    let free: Vec<&str> = startable()
        .filter(|flow| flow.arguments.is_empty())
        .map(|flow| flow.name.as_str())
        .collect();
    let mut alternatives: Vec<Value> = startable()
        .filter(|flow| !flow.arguments.is_empty())
        .map(|flow| {
            let fields: Map<String, Value> = flow.arguments.iter().map(|name| (name.clone(), true.into())).collect();
            json!({
                "required": ["args"],
                "properties": {
                    "flow": { "const": flow.name },
                    "args": { "type": "object", "properties": fields, "additionalProperties": false },
                },
            })
        })
        .collect();
    if let Some(flow) = schema
        .pointer_mut("/properties/flow")
        .and_then(Value::as_object_mut)
    {
        flow.insert("enum".to_owned(), names.into());
    }
    if let Some(schema) = schema.as_object_mut().filter(|_| !alternatives.is_empty()) {
        if !free.is_empty() {
            alternatives.push(json!({ "properties": { "flow": { "enum": free } } }));
        }
        schema.insert("oneOf".to_owned(), alternatives.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_reference_leads_somewhere_and_every_operation_is_named_once() {
        let document = document(&Facts::default());
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let place = reference.split('"').next().unwrap_or_default();
            assert!(document.pointer(place).is_some(), "{place}");
        }
        let ids: BTreeSet<&str> = operations().map(|operation| operation.id).collect();
        let places: BTreeSet<_> = operations().map(|o| (o.method, o.path)).collect();
        assert_eq!(
            (ids.len(), places.len()),
            (operations().count(), operations().count())
        );
        let tags: BTreeSet<&str> = document["tags"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tag| tag["name"].as_str())
            .collect();
        for operation in operations() {
            // The page shows operations by their tags.
            assert!(tags.contains(operation.tag), "{}", operation.tag);
            let segments = operation.path.matches('{').count();
            assert_eq!(segments, operation.segments.len(), "{}", operation.path);
        }
    }

    #[test]
    fn a_node_names_its_flows() {
        let flow = |name: &str, versions: &[u32]| FlowInfo {
            name: name.to_owned(),
            versions: versions.to_vec(),
            arguments: vec!["quantity".to_owned()],
        };
        let flows = [flow("a.b", &[1]), flow("responder", &[])];
        let facts = Facts {
            flows: Some(&flows),
            codes: &[("x.y", "Why.")],
        };
        let document = document(&facts);
        let start = &document["components"]["schemas"]["StartFlow"];
        assert_eq!(start["properties"]["flow"]["enum"], json!(["a.b"]));
        let alternative = &start["oneOf"][0]["properties"];
        assert_eq!(alternative["flow"], json!({ "const": "a.b" }));
        let args = &alternative["args"];
        assert_eq!(args["properties"], json!({ "quantity": true }));
        let codes = &document["components"]["schemas"]["ErrorCode"]["x-codes"];
        assert_eq!(
            (&codes["x.y"], codes["node.busy"].is_string()),
            (&json!("Why."), true)
        );
    }

    #[test]
    fn examples_are_json() {
        for operation in operations() {
            let bodies = operation.answers.iter().filter_map(|answer| answer.content);
            for body in bodies.chain(operation.body) {
                if body.media == "application/json" && !body.example.is_empty() {
                    assert!(
                        serde_json::from_str::<Value>(body.example).is_ok(),
                        "{}",
                        operation.id
                    );
                }
            }
        }
    }
}
