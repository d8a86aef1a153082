//! Integers of the described APIs. JSON numbers are read exactly up to 2^53 everywhere, so a quantity that can exceed it is text.

use serde_json::Value;

/// Endings of the names of 64-bit integers that stay below 2^53.
const ENDINGS: &[&str] = &[
    // Milliseconds since 1970, or of a wait: 2^53 ms are 285,000 years.
    "_ms", // Bytes of memory or of a disk: 2^53 are 9 petabytes.
    "_bytes",
];

/// Names of 64-bit integers that stay below 2^53.
const NAMES: &[&str] = &[
    // Times in milliseconds, as above, and in seconds.
    "due",
    "maturity",
    "until",
    "ttl_s",
    // Bytes, as above.
    "bytes",
    "offset",
    "size",
    "Upload-Offset",
    // Positions, which count transactions, requests or starts of this node: at a million a second, 2^53 are 285 years.
    "after",
    "end",
    "ledger_seq",
    "life",
    "next",
    "number",
    "searched",
    "seq",
    "view_lag",
    "view_seq",
    "Last-Event-ID",
    // Counts of things that the node has stored or done one by one, as above.
    "conflicts",
    "count",
    "cut_offs",
    "deferred",
    "done",
    "dropped",
    "equivocations",
    "failures",
    "flows_in_flight",
    "flows_parked",
    "flows_paused",
    "flows_queued",
    "flows_retrying",
    "forks",
    "found",
    "garbage",
    "idle_ended",
    "jumps",
    "matched",
    "notarised",
    "pending_deliveries",
    "pool_count",
    "recorded",
    "references",
    "refused",
    "responders",
    "states",
    "transactions",
    "waiting",
    "waiting_deliveries",
    // Chosen by the client, which gets it back.
    "n",
];

/// A 64-bit integer of a description: the name of the property or parameter, and its place.
struct Integer {
    name: String,
    place: String,
}

/// Finds the 64-bit integers of a description that cannot be given as text instead.
fn integers(schema: &Value, name: &str, place: &str, found: &mut Vec<Integer>) {
    let Some(members) = schema.as_object() else {
        for (at, item) in schema.as_array().into_iter().flatten().enumerate() {
            integers(item, name, &format!("{place}/{at}"), found);
        }
        return;
    };
    let format = members.get("format").and_then(Value::as_str);
    if matches!(format, Some("int64" | "uint64")) && !is_kind(schema, "string") {
        found.push(Integer {
            name: name.to_owned(),
            place: place.to_owned(),
        });
    }
    for (member, value) in members {
        let place = format!("{place}/{member}");
        match member.as_str() {
            "properties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    integers(value, name, &format!("{place}/{name}"), found);
                }
            }
            // A parameter has its name next to its schema.
            "schema" => {
                let name = members.get("name").and_then(Value::as_str);
                integers(value, name.unwrap_or(name_of(&place)), &place, found);
            }
            "anyOf" | "oneOf" if has_text(value) => {}
            "example" | "examples" | "x-codes" => {}
            _ => integers(value, name, &place, found),
        }
    }
}

/// Returns whether one of several alternatives is text.
fn has_text(alternatives: &Value) -> bool {
    let mut alternatives = alternatives.as_array().into_iter().flatten();
    alternatives.any(|alternative| is_kind(alternative, "string"))
}

fn is_kind(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    }
}

fn name_of(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or_default()
}

fn documents() -> [Value; 2] {
    let apps = node::Apps::built_in().expect("the flows of this software");
    let flows = |generator: &mut _| node::described_flows(&apps.flows, generator);
    let facts = api::openapi::Facts {
        flows: Some(&flows),
        codes: &[],
    };
    [api::openapi::document(&facts), api::chain::document(&[])]
}

#[test]
fn integers_that_can_exceed_2_to_the_53_are_text() {
    let mut found = Vec::new();
    for document in documents() {
        integers(&document, "", "", &mut found);
    }
    assert!(found.len() > 100, "{} integers", found.len());
    let large: Vec<&str> = found
        .iter()
        .filter(|integer| {
            let name = integer.name.as_str();
            !NAMES.contains(&name) && !ENDINGS.iter().any(|ending| name.ends_with(ending))
        })
        .map(|integer| integer.place.as_str())
        .collect();
    assert!(
        large.is_empty(),
        "make these text with `QuantityText` or `QuantityInput`, or give the reason why they stay below 2^53:\n{}",
        large.join("\n")
    );
    let unused: Vec<&&str> = NAMES
        .iter()
        .filter(|name| !found.iter().any(|integer| integer.name == **name))
        .collect();
    assert!(unused.is_empty(), "no integer has the name of {unused:?}");
}

#[test]
fn the_forms_of_quantities_are_the_same_in_flows_and_in_the_api() {
    let mut generator = schemars::SchemaGenerator::default();
    let schema = |pair: [schemars::Schema; 2]| assert_eq!(pair[0], pair[1]);
    schema([
        generator.subschema_for::<api::QuantityText>(),
        generator.subschema_for::<primitives::QuantityText>(),
    ]);
    schema([
        generator.subschema_for::<api::OptionalQuantityText>(),
        generator.subschema_for::<primitives::OptionalQuantityText>(),
    ]);
    schema([
        generator.subschema_for::<api::QuantityInput>(),
        generator.subschema_for::<primitives::QuantityInput>(),
    ]);
    schema([
        generator.subschema_for::<api::OptionalQuantityInput>(),
        generator.subschema_for::<primitives::OptionalQuantityInput>(),
    ]);
    for json in [
        "0",
        "\"0\"",
        "\"01\"",
        "-1",
        "18446744073709551615",
        "\"18446744073709551616\"",
        "null",
    ] {
        let mut api = serde_json::Deserializer::from_str(json);
        let mut flows = serde_json::Deserializer::from_str(json);
        let api =
            api::OptionalQuantityInput::deserialize(&mut api).map_err(|error| error.to_string());
        let flows = primitives::OptionalQuantityInput::deserialize(&mut flows);
        let flows = flows.map_err(|error| error.to_string());
        assert_eq!(api, flows, "{json}");
    }
}
