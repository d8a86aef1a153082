//! Facts about states for the vault, and about commands for people.

use primitives::{Hash, PublicKey, Timestamp};

use crate::{Party, TokenId};

/// A contract's description of one of its states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFacts {
    /// Keys of the parties that the state concerns: they receive it and keep it.
    pub participants: Vec<PublicKey>,
    /// The key that can spend it.
    pub owner: Option<PublicKey>,
    /// Its value, if it is fungible.
    pub fungible: Option<Fungible>,
    /// Identity shared by all its versions, if it has a history of its own.
    pub linear_id: Option<Hash>,
    /// A flow to be started at a time, as long as the state is not consumed.
    pub scheduled: Option<Scheduled>,
    /// Values of the columns that the contract declares, at most one for each column: see [`crate::Contract::columns`].
    pub columns: Vec<(&'static str, ColumnValue)>,
}

/// A flow that every node that keeps the state starts at a given time, with the reference of the state as argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The time of the start. A node that is down or busy at that time starts the flow late.
    pub at: Timestamp,
    /// The flow's registered name, at most 128 bytes. A node starts only flows that are registered as schedulable by states.
    pub flow: String,
}

/// A column that a contract gives its states, for queries of the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnSpec {
    /// Its name: lower-case letters, digits and `_`, a letter first, at most
    /// [`COLUMN_NAME_BYTES_MAX`](crate::limits::COLUMN_NAME_BYTES_MAX) bytes.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ColumnKind,
}

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// Text.
    Text,
    /// Bytes, such as an id.
    Bytes,
}

/// A state's value in a column. Text and bytes longer than [`COLUMN_BYTES_MAX`](crate::limits::COLUMN_BYTES_MAX) are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnValue {
    /// A number.
    Number(u64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl ColumnValue {
    fn fits(&self, kind: ColumnKind) -> bool {
        let (mine, bytes) = match self {
            ColumnValue::Number(_) => (ColumnKind::Number, 0),
            ColumnValue::Text(text) => (ColumnKind::Text, text.len()),
            ColumnValue::Bytes(bytes) => (ColumnKind::Bytes, bytes.len()),
        };
        mine == kind && bytes <= crate::limits::COLUMN_BYTES_MAX
    }
}

impl StateFacts {
    /// Drops values of columns that are not declared, of another kind, too long, or present already: invalid columns never
    /// prevent a state from being kept.
    pub(crate) fn keep_declared(&mut self, declared: &[ColumnSpec]) {
        let mut seen = Vec::new();
        self.columns.retain(|(name, value)| {
            let spec = declared.iter().find(|spec| spec.name == *name);
            let keep = spec.is_some_and(|spec| value.fits(spec.kind)) && !seen.contains(name);
            seen.push(*name);
            keep
        });
    }
}

/// A contract's description of one of its commands, for people. Nothing is decided by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFacts {
    /// The name of the operation, such as `issue`.
    pub name: &'static str,
    /// The names and values of its fields, as text: numbers in decimal digits, hashes in hexadecimal digits.
    pub fields: Vec<(&'static str, String)>,
}

impl CommandFacts {
    /// Makes the description of a command without fields.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            fields: Vec::new(),
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: &'static str, value: impl std::fmt::Display) -> Self {
        self.fields.push((name, value.to_string()));
        self
    }
}

/// A quantity of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fungible {
    /// Which token: quantities of the same one add up.
    pub token: TokenId,
    /// Its name for people, such as `GBP`.
    pub symbol: String,
    /// Issuer named in the state. Any party can write any name; only the key is proved.
    pub issuer: Party,
    /// How much, in minor units.
    pub quantity: u64,
}
