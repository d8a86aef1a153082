//! JSON schemas of types that are text in JSON: descriptions of APIs are made of them.

/// Says of a type that is a string in JSON what the string may be: the members of a JSON schema beside its type. The
/// schema stands wherever the type is used, without a name of its own, so that generated clients see plain text.
#[macro_export]
macro_rules! text_schema {
    ($type:ty, $name:literal, { $($members:tt)* }) => {
        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", $($members)* })
            }
        }
    };
}
