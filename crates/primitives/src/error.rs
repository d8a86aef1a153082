//! Stable error codes, and the interface of every public error.

/// One code of the error catalogue. The entry in `docs/errors/` is generated from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorInfo {
    /// `domain.snake_case`, never changed once released.
    pub code: &'static str,
    /// Its cause.
    pub cause: &'static str,
    /// Advised action.
    pub action: &'static str,
}

impl ErrorInfo {
    /// Returns the advised action for `code` in a catalogue; empty if the code is not in it.
    #[must_use]
    pub fn action_of(catalogue: &[Self], code: &str) -> &'static str {
        catalogue
            .iter()
            .find(|info| info.code == code)
            .map_or("", |info| info.action)
    }
}

/// An error with a stable code and a hint.
pub trait Coded: std::error::Error {
    /// `domain.snake_case`.
    fn code(&self) -> &'static str;

    /// Returns the advised action.
    fn hint(&self) -> &'static str;
}

macro_rules! catalogue {
    ($($code:literal: $cause:literal => $action:literal;)*) => {
        &[$(ErrorInfo { code: $code, cause: $cause, action: $action }),*]
    };
}

/// The codes of this crate.
pub const ERRORS: &[ErrorInfo] = catalogue! {
    "codec.truncated": "The input ends inside an item." => "Send the whole message; check for a cut transfer.";
    "codec.wrong_type": "An item of another type stands where the format wants a certain one." => "Encode by the schema in docs/formats/tallystick.cddl.";
    "codec.not_canonical": "The bytes are CBOR but not its one deterministic form, or use a part of CBOR that the format leaves out." => "Encode by RFC 8949 section 4.2.1: shortest integers and lengths, definite lengths, sorted map keys, no floats, no tags.";
    "codec.out_of_range": "A number does not fit its field." => "Keep the number within the range that the schema gives.";
    "codec.wrong_length": "An array or a byte string has another number of elements than the schema says." => "Encode by the schema in docs/formats/tallystick.cddl; check that both sides speak the same version.";
    "codec.too_long": "A collection is longer than its limit, or claims more elements than the rest of the input can hold." => "Stay within the limits that the schema gives.";
    "codec.bad_text": "A text string is not UTF-8." => "Encode text as UTF-8.";
    "codec.unknown_variant": "The number of a variant is not known here." => "Check that both sides speak the same version.";
    "codec.trailing": "Bytes follow the item." => "Send exactly one item.";
    "codec.too_deep": "Items are nested deeper than allowed." => "Flatten the value; at most 32 levels are read.";
    "codec.invalid": "The item has the right shape but breaks a rule of its type." => "See the message for the rule.";
    "key.malformed": "Bytes or text are not a public key." => "Give the key as its scheme, a colon and its bytes in hexadecimal.";
    "key.composite": "A composite key breaks a rule." => "Give 1 to 64 different children with weights of at least 1, a threshold between 1 and the sum of weights, at most 8 levels and 1024 keys in all.";
    "merkle.out_of_range": "A proof names a leaf outside its tree." => "Make the proof again from the whole list of leaves.";
    "merkle.wrong_length": "A proof has more or fewer hashes than its tree needs." => "Make the proof again from the whole list of leaves.";
    "merkle.not_sorted": "The leaves of a partial tree are not in ascending order, or one comes twice." => "List each revealed leaf once, in ascending order.";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_complete() {
        for (at, info) in ERRORS.iter().enumerate() {
            assert!(info.code.contains('.') && !info.cause.is_empty() && !info.action.is_empty());
            assert!(ERRORS[..at].iter().all(|other| other.code != info.code));
        }
        assert_eq!(
            ErrorInfo::action_of(ERRORS, "codec.trailing"),
            "Send exactly one item."
        );
        assert_eq!(ErrorInfo::action_of(ERRORS, "codec.none"), "");
    }
}
