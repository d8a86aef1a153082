//! JSON schemas of types that are text in JSON: descriptions of APIs are made of them.

/// Describes the allowed strings of a type that is a string in JSON: the members of a JSON schema in addition to its
/// type. The schema is inlined wherever the type is used, without a name of its own, so generated clients see plain
/// text.
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
