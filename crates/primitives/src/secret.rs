//! Values that no output shows: passphrases, tokens, and the seeds of keys and of random values.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use zeroize::Zeroize;

/// A secret value. `Debug` shows the same text for every value, there is no `Display`, and the memory is wiped when the value is dropped.
///
/// It is as large as the value itself. Comparing two secrets takes a time that depends on their lengths only.
#[derive(Clone)]
pub struct Secret<T: Zeroize>(T);

/// A passphrase, a password or a token.
pub type SecretText = Secret<String>;

/// The 32 bytes from which a key or random values are derived.
pub type Seed = Secret<[u8; 32]>;

impl<T: Zeroize> Secret<T> {
    /// Hides a value.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value. Call it only where the value is used; it must not go to a log, an error message or a report.
    #[must_use]
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl<T: Zeroize + AsRef<[u8]>> PartialEq for Secret<T> {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.0.as_ref(), other.0.as_ref());
        let pairs = ours.iter().zip(theirs);
        let difference = pairs.fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0 && ours.len() == theirs.len()
    }
}

impl<T: Zeroize + AsRef<[u8]>> Eq for Secret<T> {}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for SecretText {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

/// Files and messages carry the text itself.
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
            .map_err(|_| de::Error::custom("a secret has to be a text between quotes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_value() {
        let (text, seed) = (SecretText::from("swordfish"), Seed::new([77; 32]));
        for shown in [
            format!("{text:?}"),
            format!("{text:#?}"),
            format!("{seed:?}"),
            format!("{seed:#?}"),
        ] {
            assert_eq!(shown, "(secret)");
        }
        assert_eq!(format!("{:?}", Some(text)), "Some((secret))");
    }

    #[test]
    fn serialised_form_is_the_text_itself() {
        let secret: SecretText = serde_json::from_str("\"swordfish\"").unwrap();
        assert_eq!(secret.expose(), "swordfish");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"swordfish\"");
    }

    #[test]
    fn error_of_another_type_hides_the_value() {
        let error = serde_json::from_str::<SecretText>("81726354").unwrap_err();
        assert!(!error.to_string().contains("81726354"), "{error}");
    }

    #[test]
    fn equal_secrets_have_equal_bytes() {
        let secret = SecretText::from("swordfish");
        assert_eq!(secret, "swordfish".into());
        for other in ["", "swordfis", "swordfish ", "Swordfish"] {
            assert_ne!(secret, other.into());
        }
        assert_ne!(Seed::new([1; 32]), Seed::new([2; 32]));
    }

    #[test]
    fn secret_is_as_large_as_its_value() {
        assert_eq!(size_of::<Seed>(), 32);
    }
}
