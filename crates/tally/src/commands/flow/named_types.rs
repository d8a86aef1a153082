//! The types that the schemas of a flow name.

use std::collections::BTreeMap;

use serde_json::Value;

/// Maximum number of types that are shown below a flow.
const TYPES_MAX: usize = 64;

/// Returns the types that schemas name, directly or through other types.
pub fn named_types(document: &Value, schemas: [&Value; 2]) -> BTreeMap<String, Value> {
    let mut types = BTreeMap::new();
    let mut open: Vec<&Value> = schemas.into();
    while let Some(schema) = open.pop() {
        let place = schema["$ref"].as_str();
        let name = place.map(|place| place.rsplit_once('/').map_or(place, |(_, name)| name));
        if let Some(name) = name.filter(|name| !types.contains_key(*name))
            && types.len() < TYPES_MAX
        {
            let named = resolved(document, schema);
            types.insert(name.to_owned(), named.clone());
            // A reference that leads nowhere stands for itself.
            open.extend((named != schema).then_some(named));
        }
        match schema {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    types
}

/// Returns the schema that a reference names. A schema that is no reference, or one that leads nowhere, stands for itself.
pub(super) fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let place = schema["$ref"]
        .as_str()
        .and_then(|text| text.strip_prefix('#'));
    place
        .and_then(|place| document.pointer(place))
        .unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_found_through_other_types() {
        let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let of = |fields: Value| json!({ "type": "object", "properties": fields });
        let document = json!({ "components": { "schemas": {
            "Payment": of(json!({ "to": { "type": "string" }, "token": reference("TokenArgs") })),
            "TokenArgs": of(json!({ "symbol": { "type": "string" }, "again": reference("Payment") })),
            "StateRef": of(json!({ "tx": { "type": "string" } })),
            "Unused": of(json!({})),
        } } });
        let list = json!({ "type": "array", "items": reference("Payment") });
        let arguments = of(json!({ "payments": list, "lost": reference("Nowhere") }));
        let result =
            of(json!({ "state": { "anyOf": [reference("StateRef"), { "type": "null" }] } }));
        let types = named_types(&document, [&arguments, &result]);
        let names: Vec<&str> = types.keys().map(String::as_str).collect();
        assert_eq!(names, ["Nowhere", "Payment", "StateRef", "TokenArgs"]);
        assert_eq!(types["StateRef"]["properties"]["tx"]["type"], "string");
        assert!(named_types(&document, [&json!({}), &Value::Null]).is_empty());
    }
}
