//! As much of JSON Schema as the API's description uses.

use serde_json::Value;

/// Returns the faults of a value by a schema of the document.
pub fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(document, schema, value, "", &mut faults);
    faults
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let place = reference.trim_start_matches('#');
        let schema = document.pointer(place).expect("a definition");
        check(document, schema, value, at, faults);
    }
    let is = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a type {other}"),
    };
    let kinds = match &schema["type"] {
        Value::Null => Vec::new(),
        Value::String(kind) => vec![kind.as_str()],
        kinds => kinds
            .as_array()
            .expect("types")
            .iter()
            .filter_map(Value::as_str)
            .collect(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        faults.push(format!("{at}: {value} is none of {kinds:?}"));
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        faults.push(format!("{at}: {value} is none of {values:?}"));
    }
    if let Some(expected) = schema.get("const")
        && expected != value
    {
        faults.push(format!("{at}: {value} is not {expected}"));
    }
    for kind in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[kind].as_array()
            && !choices
                .iter()
                .any(|choice| self::faults(document, choice, value).is_empty())
        {
            faults.push(format!("{at}: {value} fits none of {kind}"));
        }
    }
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !object.contains_key(name.as_str().expect("a name")) {
                faults.push(format!("{at}: {name} is missing"));
            }
        }
        for (name, value) in object {
            match &schema["properties"][name] {
                Value::Null if schema["type"] == "object" && schema["properties"].is_object() => {
                    faults.push(format!("{at}: {name} is not described"));
                }
                Value::Null => {}
                schema => check(document, schema, value, &format!("{at}/{name}"), faults),
            }
        }
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for (index, value) in values.iter().enumerate() {
            check(document, items, value, &format!("{at}/{index}"), faults);
        }
    }
}
