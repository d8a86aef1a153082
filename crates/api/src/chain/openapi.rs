//! A chain node's API as OpenAPI 3.1.

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::codes;
use super::events::{BlockAdded, BlockPopped, Forked, Stuck, TransactionLeft};
use super::operations::operations;
use crate::codes::ErrorInfo;
use crate::openapi::{Parts, assemble};
use crate::operations::Operation;

/// Builds the description, with the codes of the chain and of other parts and their causes.
#[must_use]
pub fn document(others: &[(&str, &str)]) -> Value {
    let errors: Vec<&ErrorInfo> = crate::codes::ERRORS
        .iter()
        .filter(|info| named(info.code))
        .chain(codes::ERRORS)
        .collect();
    assemble(&Parts {
        operations: &operations().collect::<Vec<_>>(),
        errors: &errors,
        others,
        mentioned,
        flows: None,
        info: json!({
            "title": "Tallystick chain node",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A chain node's HTTP API: blocks, transactions, accounts, forging, the node itself.",
            "description": "JSON over HTTP/1.1 and HTTP/2, TLS only. Amounts are decimal text in minor units, in requests numbers too; heights and times integers, times in seconds since genesis unless their name says milliseconds; ids, hashes, keys and bytes are hexadecimal text, accounts are TLY-.... Reading and submitting need no token. Every answer that is not a success is a problem (RFC 9457) with a stable code and a hint.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        }),
        tags: json!([
            { "name": "chain", "description": "The blocks of the chain, and its events." },
            { "name": "transactions", "description": "Submit transactions and learn their results." },
            { "name": "accounts", "description": "Balances and histories." },
            { "name": "forging", "description": "Forgers and bundlers." },
            { "name": "peers", "description": "The other nodes." },
            { "name": "orders", "description": "What operators order." },
            { "name": "node", "description": "The node itself." },
        ]),
    })
}

/// Returns whether an operation, or every operation with a token, may refuse with this code.
fn named(code: &str) -> bool {
    let mut all = operations().flat_map(Operation::refusals);
    all.any(|info| info.code == code)
}

fn mentioned(generator: &mut SchemaGenerator) {
    for event in [
        generator.subschema_for::<BlockAdded>(),
        generator.subschema_for::<BlockPopped>(),
        generator.subschema_for::<Forked>(),
        generator.subschema_for::<TransactionLeft>(),
        generator.subschema_for::<Stuck>(),
    ] {
        // Generated only for their definitions.
        drop(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_reference_leads_somewhere_and_every_operation_is_named_once() {
        let document = document(&[("chain_tx.malformed", "The bytes do not decode.")]);
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let place = reference.split('"').next().unwrap_or_default();
            assert!(document.pointer(place).is_some(), "{place}");
        }
        let ids: BTreeSet<&str> = operations().map(|operation| operation.id).collect();
        let places: BTreeSet<_> = operations().map(|o| (o.method, o.path)).collect();
        let count = operations().count();
        assert_eq!((ids.len(), places.len()), (count, count));
        let tags = document["tags"].to_string();
        for operation in operations() {
            assert!(tags.contains(operation.tag), "{}", operation.tag);
            let segments = operation.path.matches('{').count();
            assert_eq!(segments, operation.segments.len(), "{}", operation.path);
            let bodies = operation.answers.iter().filter_map(|answer| answer.content);
            for body in bodies.chain(operation.body) {
                if body.media == "application/json" && !body.example.is_empty() {
                    let example = serde_json::from_str::<Value>(body.example);
                    assert!(example.is_ok(), "{}", operation.id);
                }
            }
        }
        assert_eq!(
            document.pointer("/paths/~1v1~1chain~1blocks/get/security"),
            Some(&json!([]))
        );
    }
}
