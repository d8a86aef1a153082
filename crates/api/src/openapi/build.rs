//! Builds the description.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::answers::{answers, content, problem};
use super::endpoints::{self, FlowFacts};
use super::parameter::parameter;
use crate::codes::{ERRORS, ErrorInfo, files};
use crate::operations::{Operation, Permission, operations};
use crate::problem::Problem;

/// Inputs of the description in addition to the types.
#[derive(Clone, Copy, Default)]
pub struct Facts<'a> {
    /// The flows that can be started on this node; `None` describes their arguments as any JSON value.
    pub flows: Option<&'a FlowsOf<'a>>,
    /// Error codes of other parts of the node with their causes. They occur in flow failures and refusals.
    pub codes: &'a [(&'a str, &'a str)],
}

/// Returns the flows that can be started, in order. Adds the schemas of their arguments and results to the generator.
pub type FlowsOf<'a> = dyn Fn(&mut SchemaGenerator) -> Vec<FlowFacts> + 'a;

/// The parts of a description.
pub(crate) struct Parts<'a> {
    /// The operations, in the order of the description.
    pub(crate) operations: &'a [&'static Operation],
    /// Codes of the API itself.
    pub(crate) errors: &'a [&'static ErrorInfo],
    /// Error codes of other parts of the node with their causes.
    pub(crate) others: &'a [(&'a str, &'a str)],
    /// Generates the types that only events carry.
    pub(crate) mentioned: fn(&mut SchemaGenerator),
    /// Flows that have their own operations.
    pub(crate) flows: Option<&'a FlowsOf<'a>>,
    /// The `info` object of the description.
    pub(crate) info: Value,
    /// The tags of the operations.
    pub(crate) tags: Value,
}

/// Builds the whole description.
pub fn document(facts: &Facts<'_>) -> Value {
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
                // Generated only for their definitions.
                drop(mentioned);
            }
        },
        flows: facts.flows,
        info: json!({
            "title": "Tallystick node",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A node's HTTP API: flows, the vault, the ledger, the node itself.",
            "description": "JSON over HTTP/1.1 and HTTP/2, TLS only. Quantities are decimal text in answers, and numbers or decimal text in requests. Sequence numbers and counts are integers, ids, hashes and keys are text, times are milliseconds since the Unix epoch. Every answer that is not a success is a problem (RFC 9457) with a stable code and a hint.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        }),
        tags: json!([
            { "name": "flows", "description": "Start flows, follow their progress and read their outcomes." },
            { "name": "vault", "description": "What the node owns." },
            { "name": "ledger", "description": "What the node has recorded." },
            { "name": "attachments", "description": "Files that transactions refer to by their hash." },
            { "name": "notary", "description": "What a notary has seen consumed." },
            { "name": "contracts", "description": "Contracts of the node's binary, and the proposals of others that the node signs." },
            { "name": "node", "description": "The node and its network." },
            { "name": "users", "description": "Who may do what." },
        ]),
    })
}

/// Assembles a description from its parts.
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
            methods.insert(operation.method.member().to_owned(), described);
        }
    }
    generator.subschema_for::<Problem>();
    (parts.mentioned)(&mut generator);
    let flows = parts.flows.map(|flows| flows(&mut generator));
    let mut tags = parts.tags.clone();
    if let Some(flows) = &flows {
        let further = endpoints::describe(flows, &mut all, &mut generator);
        if let Some(tags) = tags.as_array_mut() {
            tags.extend(further);
        }
    }
    let mut schemas = generator.take_definitions(true);
    schemas.values_mut().for_each(without_links);
    schemas.values_mut().for_each(without_riddles);
    let codes = error_code(parts.errors, parts.others);
    schemas.insert("ErrorCode".to_owned(), codes);
    if let Some(code) = schemas
        .get_mut("Problem")
        .and_then(|problem| problem.pointer_mut("/properties/code"))
    {
        *code = json!({ "$ref": "#/components/schemas/ErrorCode" });
    }
    for start in ["StartFlow", "StreamStart"] {
        if let (Some(schema), Some(flows)) = (schemas.get_mut(start), &flows) {
            name_flows(schema, flows);
        }
    }
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
        "tags": tags,
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
        parameters.push(parameter(segment, "path"));
    }
    for query in operation.query {
        parameters.push(parameter(query, query.kind.place()));
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
    match (operation.permission, operation.token_optional) {
        (Permission::Anyone, true) => described["security"] = json!([{}, { "bearer": [] }]),
        (Permission::Anyone, false) => described["security"] = json!([]),
        _ => {}
    }
    if let Some(permission) = operation.permission.name() {
        described["x-permission"] = permission.into();
    }
    described
}

/// Returns the schema of a code and the list of known codes; applications have their own.
fn error_code(own: &[&ErrorInfo], others: &[(&str, &str)]) -> Value {
    let known: BTreeMap<&str, &str> = own
        .iter()
        .map(|info| (info.code, info.cause))
        .chain(others.iter().copied())
        .collect();
    json!({
        "type": "string",
        "pattern": "^[a-z][a-z0-9_]*\\.[a-z][a-z0-9_]*$",
        "description": "The error code. Its meaning never changes. `x-codes` lists the codes of the node; applications add their own.",
        "x-codes": known,
    })
}

/// Turns alternatives that are constant words into an `enum`, which client generators understand. Removes a default of
/// null from optional members, because some generators take such a member for a required one.
fn without_riddles(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            let words = members.get("oneOf").and_then(Value::as_array).map(|all| {
                let word = |one: &Value| one.get("const").filter(|word| word.is_string()).cloned();
                all.iter().map(word).collect::<Option<Vec<Value>>>()
            });
            if let Some(Some(words)) = words {
                members.remove("oneOf");
                members.insert("type".to_owned(), "string".into());
                members.insert("enum".to_owned(), words.into());
            }
            members.values_mut().for_each(without_riddles);
        }
        Value::Array(members) => members.iter_mut().for_each(without_riddles),
        _ => {}
    }
}

/// Replaces links to types in the code's comments by the names of the types.
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

/// Adds the list of flows and their arguments: one alternative per flow, distinguished by its name. Client and request
/// generators understand this form best.
fn name_flows(schema: &mut Value, flows: &[FlowFacts]) {
    let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    let alternatives: Vec<Value> = flows
        .iter()
        .zip(endpoints::names(flows))
        .map(|(flow, name)| {
            let mut alternative = json!({
                "properties": {
                    "flow": { "const": flow.name },
                    "args": endpoints::reference(&endpoints::arguments_of(&name)),
                },
            });
            if !endpoints::needs_nothing(flow) {
                alternative["required"] = json!(["args"]);
            }
            alternative
        })
        .collect();
    if let Some(flow) = schema
        .pointer_mut("/properties/flow")
        .and_then(Value::as_object_mut)
    {
        flow.insert("enum".to_owned(), names.into());
    }
    if let Some(schema) = schema.as_object_mut().filter(|_| !alternatives.is_empty()) {
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
            // The page groups operations by their tags.
            assert!(tags.contains(operation.tag), "{}", operation.tag);
            let segments = operation.path.matches('{').count();
            assert_eq!(segments, operation.segments.len(), "{}", operation.path);
        }
    }

    #[test]
    fn a_login_may_carry_a_token_and_other_open_operations_carry_none() {
        let document = document(&Facts::default());
        let security = |path: &str, method: &str| &document["paths"][path][method]["security"];
        let optional = json!([{}, { "bearer": [] }]);
        assert_eq!(*security("/v1/login", "post"), optional);
        assert_eq!(*security("/health", "get"), json!([]));
        assert!(security("/v1/logout", "post").is_null());
    }

    #[test]
    fn a_node_names_its_flows() {
        let flow = |name: &str| FlowFacts {
            name: name.to_owned(),
            versions: vec![1, 2],
            steps: vec!["building".to_owned()],
            arguments: schemars::json_schema!({ "type": "object", "properties": { "quantity": true }, "required": ["quantity"] }),
            result: schemars::json_schema!({ "type": "string" }),
        };
        let flows = |_: &mut SchemaGenerator| vec![flow("a.b"), flow("a.b_c"), flow("a.b.c")];
        let facts = Facts {
            flows: Some(&flows),
            codes: &[("x.y", "Why.")],
        };
        let document = document(&facts);
        let schemas = &document["components"]["schemas"];
        let start = &schemas["StartFlow"];
        assert_eq!(
            start["properties"]["flow"]["enum"],
            json!(["a.b", "a.b_c", "a.b.c"])
        );
        let alternative = &start["oneOf"][0]["properties"];
        assert_eq!(alternative["flow"], json!({ "const": "a.b" }));
        let place = "#/components/schemas/ABArguments";
        assert_eq!(alternative["args"], json!({ "$ref": place }));
        assert_eq!(
            schemas["ABArguments"]["properties"],
            json!({ "quantity": true })
        );
        let operation = &document["paths"]["/v1/flows/a.b"]["post"];
        for (member, expected) in [
            ("operationId", json!("startAB")),
            ("tags", json!(["a flows"])),
            ("x-permission", json!("flow.start:a.b")),
            ("x-progress-steps", json!(["building"])),
        ] {
            assert_eq!(operation[member], expected, "{member}");
        }
        let outcome = &schemas["ABOutcome"]["properties"];
        assert_eq!(outcome["result"]["type"], "string");
        assert_eq!(outcome["flow_id"]["type"], "string");
        // Names that would collide are made distinct, here and where the generic start refers to them.
        let ids = ["a.b_c", "a.b.c"].map(|name| {
            let path = format!("/v1/flows/{name}");
            document["paths"][path]["post"]["operationId"].clone()
        });
        assert_eq!(ids, ["startABC", "startABC_"]);
        let last = &start["oneOf"][2]["properties"]["args"]["$ref"];
        assert_eq!(last, "#/components/schemas/ABC_Arguments");
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
