//! Texts that no output shows: passwords, passphrases, tokens, and seeds in hexadecimal digits.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use zeroize::Zeroize;

/// A secret text. `Debug` shows the same for every value, there is no `Display`, and the memory is wiped when the value is dropped.
///
/// JSON carries the text itself, and the description of the API calls it a string. Comparing two secrets takes a time that depends on
/// their lengths only.
#[derive(Clone)]
pub struct SecretText(String);

impl SecretText {
    /// Returns the text, for the one place that needs it. It must not go to a log, an error message or a report.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for SecretText {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl PartialEq for SecretText {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.bytes().zip(other.0.bytes());
        let difference = pairs.fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0 && self.0.len() == other.0.len()
    }
}

impl Eq for SecretText {}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The error of a value of another type does not show the value, which could be a passphrase without its quotes.
impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)
            .map(Self)
            .map_err(|_| de::Error::custom("a secret has to be a string"))
    }
}

impl JsonSchema for SecretText {
    fn inline_schema() -> bool {
        String::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{SignAndSend, StartBundler, StartForging};
    use crate::{LoggedIn, Login, NewUser, UserChange};

    const SECRET: &str = "swordfish";

    /// Reads a type from JSON that holds the secret, and checks what it shows and that it writes the same JSON again.
    fn check<T: de::DeserializeOwned + Serialize + fmt::Debug>(json: &str) {
        assert!(json.contains(SECRET), "{json}");
        let value: T = serde_json::from_str(json).expect(json);
        for shown in [format!("{value:?}"), format!("{value:#?}")] {
            assert!(!shown.contains(SECRET), "{shown}");
            assert!(shown.contains("(secret)"), "{shown}");
        }
        let again = serde_json::to_value(&value).expect("a type of the API is JSON");
        let given: serde_json::Value = serde_json::from_str(json).expect(json);
        for (name, field) in given.as_object().expect("an object") {
            assert_eq!(again.get(name), Some(field), "{name} of {json}");
        }
    }

    #[test]
    fn debug_output_hides_secrets() {
        check::<Login>(r#"{"user":"ann","password":"swordfish"}"#);
        check::<LoggedIn>(r#"{"token":"swordfish","expires_ms":1}"#);
        check::<NewUser>(r#"{"name":"ann","password":"swordfish"}"#);
        check::<UserChange>(r#"{"password":"swordfish"}"#);
        check::<SignAndSend>(r#"{"passphrase":"swordfish","recipient":"TLY-"}"#);
        check::<StartForging>(r#"{"passphrase":"swordfish"}"#);
        check::<StartForging>(r#"{"seed":"swordfish"}"#);
        check::<StartBundler>(r#"{"chain":2,"passphrase":"swordfish","rate_min":"1"}"#);
        check::<StartBundler>(r#"{"chain":2,"seed":"swordfish","rate_min":"1"}"#);
    }

    #[test]
    fn error_of_another_type_hides_the_value() {
        let error = serde_json::from_str::<Login>(r#"{"user":"ann","password":81726354}"#);
        let error = error.expect_err("a number is no password").to_string();
        assert!(!error.contains("81726354"), "{error}");
    }

    #[test]
    fn equal_secrets_have_equal_bytes() {
        let secret = SecretText::from(SECRET);
        assert_eq!(secret, SECRET.into());
        for other in ["", "swordfis", "swordfish ", "Swordfish"] {
            assert_ne!(secret, other.into());
        }
    }
}
