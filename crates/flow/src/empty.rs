//! `ledger.empty`: a flow that does nothing. It shows that a node takes work and answers, and measures the cost of a
//! start.

use std::borrow::Cow;

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{Flow, FlowContext, FlowError, FlowRegistry};

/// Registers the flow.
pub fn register_flows(registry: &mut FlowRegistry) {
    registry.register::<Empty>();
}

/// Empty arguments and an empty result. Encoded as an empty list; in JSON as `{}` or null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<NoFields>")]
pub struct Nothing;

/// An object without fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

impl From<Option<NoFields>> for Nothing {
    fn from(_: Option<NoFields>) -> Self {
        Self
    }
}

impl JsonSchema for Nothing {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Nothing".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["object", "null"], "properties": {}, "additionalProperties": false })
    }
}

impl Encode for Nothing {
    fn encode(&self, e: &mut Encoder) {
        e.array(0);
    }
}

impl Decode for Nothing {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(0).map(|()| Self)
    }
}

/// A flow that does nothing: one start, no effect, no session.
#[derive(Debug)]
pub struct Empty;

impl Flow for Empty {
    const NAME: &'static str = "ledger.empty";
    const VERSION: u32 = 1;
    type Args = Nothing;
    type Output = Nothing;

    async fn run(_: FlowContext, args: Nothing) -> Result<Nothing, FlowError> {
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_an_empty_object_or_nothing_at_all() {
        let mut registry = FlowRegistry::new();
        register_flows(&mut registry);
        for (json, good) in [
            ("{}", true),
            ("null", true),
            ("", true),
            (r#"{"a":1}"#, false),
            ("7", false),
        ] {
            let args = registry.args_from_json(Empty::NAME, 1, json.as_bytes());
            assert_eq!(args.is_ok(), good, "{json}");
            if let Ok(args) = args {
                assert_eq!(args, [0x80]);
            }
        }
        let output = registry.output_to_json(Empty::NAME, 1, &[0x80]);
        assert_eq!(output.as_deref(), Ok("null"));
    }
}
