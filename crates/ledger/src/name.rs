//! Legal names: the X.500 names that parties go by.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use primitives::{Coded, Decode, DecodeError, Decoder, Encode, Encoder};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

use crate::errors;
use crate::limits::{LEGAL_NAME_BYTES_MAX, NAME_ATTRIBUTE_CHARS_MAX, ORGANISATION_CHARS_MAX};

/// A validated X.500 name: `O`, `L` and `C` are required, `CN`, `OU` and `ST` optional.
///
/// It is kept, hashed and encoded (CBOR text string) in its canonical form: the attributes that are present, in the order
/// `CN, OU, O, L, ST, C`, each as `KEY=value`, joined by a comma and one space, as in `O=Bank A, L=London, C=GB`.
///
/// A value has 1 to 64 characters (`O`: 128), no space at either end and no two in a row. Characters are Latin letters (up
/// to U+024F, never combining marks), digits, space and `-.'&()/:_@!*`: names that look alike are alike. `C` is two
/// capitals. The `FromStr` form is forgiving about order and spacing; the decoder takes the canonical form only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LegalName(Arc<str>);

/// Reasons why a legal name is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// The text is not a list of `KEY=value`.
    #[error("'{0}' is not of the form KEY=value")]
    Syntax(String),
    /// An attribute that names do not have.
    #[error("unknown attribute '{0}'")]
    UnknownAttribute(String),
    /// An attribute given twice.
    #[error("attribute {0} is given twice")]
    Repeated(&'static str),
    /// A required attribute is missing.
    #[error("attribute {0} is missing")]
    Missing(&'static str),
    /// A value is empty or too long.
    #[error("attribute {0} has 1 to {1} characters")]
    Length(&'static str, usize),
    /// A character or a space that is not allowed.
    #[error("attribute {0} has a character or a space that names may not have there")]
    Character(&'static str),
    /// The country is not two capitals.
    #[error("C is a country code of two capital letters")]
    Country,
    /// The whole name is too long, or it is not in canonical form where that is asked.
    #[error("the name is not in canonical form")]
    NotCanonical,
}

impl Coded for NameError {
    fn code(&self) -> &'static str {
        "name.invalid"
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

/// Attribute keys in canonical order.
const KEYS: [&str; 6] = ["CN", "OU", "O", "L", "ST", "C"];

impl LegalName {
    /// Makes a name of the three required attributes.
    pub fn new(organisation: &str, locality: &str, country: &str) -> Result<Self, NameError> {
        Self::from_values([
            None,
            None,
            Some(organisation),
            Some(locality),
            None,
            Some(country),
        ])
    }

    /// Makes a name of all attributes, in canonical order: `CN, OU, O, L, ST, C`.
    pub fn from_values(values: [Option<&str>; 6]) -> Result<Self, NameError> {
        let mut text = String::new();
        for (key, value) in KEYS.into_iter().zip(values) {
            let Some(value) = value else {
                if matches!(key, "O" | "L" | "C") {
                    return Err(NameError::Missing(key));
                }
                continue;
            };
            check_value(key, value)?;
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(key);
            text.push('=');
            text.push_str(value);
        }
        if text.len() > LEGAL_NAME_BYTES_MAX {
            return Err(NameError::NotCanonical);
        }
        Ok(Self(text.into()))
    }

    /// Returns the canonical form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the organisation (`O`).
    pub fn organisation(&self) -> &str {
        self.value("O").expect("a name has an organisation")
    }

    /// Returns the locality (`L`).
    pub fn locality(&self) -> &str {
        self.value("L").expect("a name has a locality")
    }

    /// Returns the country (`C`), two capitals.
    pub fn country(&self) -> &str {
        self.value("C").expect("a name has a country")
    }

    /// Returns the common name (`CN`).
    pub fn common_name(&self) -> Option<&str> {
        self.value("CN")
    }

    /// Returns the organisational unit (`OU`).
    pub fn organisational_unit(&self) -> Option<&str> {
        self.value("OU")
    }

    /// Returns the state or province (`ST`).
    pub fn state(&self) -> Option<&str> {
        self.value("ST")
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.0
            .split(", ")
            .filter_map(|part| part.split_once('='))
            .find_map(|(k, value)| (k == key).then_some(value))
    }

    /// Takes a name that must be in canonical form already.
    fn from_canonical(text: &str) -> Result<Self, NameError> {
        if text.len() > LEGAL_NAME_BYTES_MAX {
            return Err(NameError::NotCanonical);
        }
        let mut next = 0;
        for part in text.split(", ") {
            let (key, value) = part.split_once('=').ok_or(NameError::NotCanonical)?;
            loop {
                match KEYS.get(next).copied() {
                    None => return Err(NameError::NotCanonical),
                    Some(k) if k == key => break,
                    Some(k @ ("O" | "L" | "C")) => return Err(NameError::Missing(k)),
                    Some(_) => next += 1,
                }
            }
            check_value(KEYS[next], value)?;
            next += 1;
        }
        match KEYS.get(next) {
            None => Ok(Self(text.into())),
            Some(_) => Err(NameError::Missing("O, L or C")),
        }
    }
}

fn check_value(key: &'static str, value: &str) -> Result<(), NameError> {
    if key == "C" {
        let good = value.len() == 2 && value.bytes().all(|b| b.is_ascii_uppercase());
        return if good {
            Ok(())
        } else {
            Err(NameError::Country)
        };
    }
    let chars_max = if key == "O" {
        ORGANISATION_CHARS_MAX
    } else {
        NAME_ATTRIBUTE_CHARS_MAX
    };
    if value.is_empty() || value.chars().take(chars_max + 1).count() > chars_max {
        return Err(NameError::Length(key, chars_max));
    }
    let mut after_space = true;
    for c in value.chars() {
        if !is_allowed(c) || (c == ' ' && after_space) {
            return Err(NameError::Character(key));
        }
        after_space = c == ' ';
    }
    if after_space {
        return Err(NameError::Character(key));
    }
    Ok(())
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || " -.'&()/:_@!*".contains(c)
        || (('\u{c0}'..='\u{24f}').contains(&c) && c.is_alphabetic())
}

impl FromStr for LegalName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let mut values: [Option<&str>; 6] = [None; 6];
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| NameError::Syntax(part.chars().take(64).collect()))?;
            let key = match key.trim().to_ascii_uppercase() {
                key if key == "S" => "ST".to_string(),
                key => key,
            };
            let index = KEYS
                .iter()
                .position(|k| **k == key)
                .ok_or_else(|| NameError::UnknownAttribute(key.chars().take(64).collect()))?;
            if values[index].replace(value.trim()).is_some() {
                return Err(NameError::Repeated(KEYS[index]));
            }
        }
        Self::from_values(values)
    }
}

impl fmt::Display for LegalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LegalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LegalName({})", self.0)
    }
}

impl Serialize for LegalName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

primitives::text_schema!(LegalName, "LegalName", {
    "minLength": 1,
    "maxLength": 1024,
    "examples": ["O=Bank A, L=London, C=GB"],
    "description": "A legal name: `CN`, `OU`, `O`, `L`, `ST` and `C`, of which `O`, `L` and `C` are required."
});

impl<'de> Deserialize<'de> for LegalName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Encode for LegalName {
    fn encode(&self, e: &mut Encoder) {
        e.text(&self.0);
    }
}

impl Decode for LegalName {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let text = d.text()?;
        Self::from_canonical(text).map_err(|_| d.invalid("a legal name is not in canonical form"))
    }
}
