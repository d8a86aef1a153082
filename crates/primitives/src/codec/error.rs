//! Why bytes were refused.

use crate::{Coded, ERRORS, ErrorInfo};

/// Reasons why bytes do not decode, with the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The input ends inside an item.
    #[error("the input ends inside the item at byte {offset}; send it whole")]
    Truncated {
        /// The offset at which the item starts.
        offset: usize,
    },
    /// Another type of item was wanted.
    #[error("expected {expected} at byte {offset}; encode by the schema")]
    WrongType {
        /// The offset at which the item starts.
        offset: usize,
        /// The expected item.
        expected: &'static str,
    },
    /// The item is not in the deterministic form, or uses a part of CBOR that this codec does not support.
    #[error("{what} at byte {offset}; use the deterministic form of RFC 8949 section 4.2.1")]
    NotCanonical {
        /// The offset at which the item starts.
        offset: usize,
        /// The fault.
        what: &'static str,
    },
    /// A number does not fit its field.
    #[error("the number at byte {offset} does not fit its field; keep within the schema's range")]
    OutOfRange {
        /// The offset at which the item starts.
        offset: usize,
    },
    /// An array or byte string with another number of elements than wanted.
    #[error(
        "{found} elements at byte {offset} where {expected} are wanted; check that both sides speak the same version"
    )]
    WrongLength {
        /// The offset at which the item starts.
        offset: usize,
        /// Elements wanted.
        expected: usize,
        /// Elements announced.
        found: usize,
    },
    /// A collection over its limit, or longer than the rest of the input can be.
    #[error(
        "{found} elements announced at byte {offset}, at most {limit} can be; stay within the limits"
    )]
    TooLong {
        /// The offset at which the item starts.
        offset: usize,
        /// The most there can be.
        limit: usize,
        /// Elements announced.
        found: u64,
    },
    /// Text that is not UTF-8.
    #[error("the text at byte {offset} is not UTF-8; encode it as UTF-8")]
    BadText {
        /// The offset at which the item starts.
        offset: usize,
    },
    /// A variant with a number that is not known.
    #[error(
        "variant {tag} at byte {offset} is not known; check that both sides speak the same version"
    )]
    UnknownVariant {
        /// The offset at which the variant's array starts.
        offset: usize,
        /// The number found.
        tag: u64,
    },
    /// Bytes after the item.
    #[error("bytes follow the item at byte {offset}; send exactly one item")]
    Trailing {
        /// The offset at which they start.
        offset: usize,
    },
    /// Nested too deeply.
    #[error("nested too deeply at byte {offset}; flatten the value")]
    TooDeep {
        /// The offset at which the item starts.
        offset: usize,
    },
    /// The right shape, but a rule of the type is broken.
    #[error("the item before byte {offset} is refused: {reason}")]
    Invalid {
        /// The decoder's offset.
        offset: usize,
        /// The rule.
        reason: &'static str,
    },
}

impl Coded for DecodeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "codec.truncated",
            Self::WrongType { .. } => "codec.wrong_type",
            Self::NotCanonical { .. } => "codec.not_canonical",
            Self::OutOfRange { .. } => "codec.out_of_range",
            Self::WrongLength { .. } => "codec.wrong_length",
            Self::TooLong { .. } => "codec.too_long",
            Self::BadText { .. } => "codec.bad_text",
            Self::UnknownVariant { .. } => "codec.unknown_variant",
            Self::Trailing { .. } => "codec.trailing",
            Self::TooDeep { .. } => "codec.too_deep",
            Self::Invalid { .. } => "codec.invalid",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
