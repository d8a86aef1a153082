//! The rows that the view writes and reads. They hold plain bytes and numbers, because the view knows no contract.

/// A value to compare with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Datum {
    /// A number.
    Number(u64),
    /// Text.
    Text(String),
    /// Bytes of an id or a key.
    Bytes(Vec<u8>),
}

/// A change of the vault, in the order of the ledger.
// Most changes are the large kind; a box each would cost more than it saves.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewChange {
    /// An output that is relevant here.
    Produced(ProducedState),
    /// An input. It is ignored if the view does not hold the state.
    Consumed(ConsumedState),
    /// A state that is put into quarantine. It is ignored if the view does not hold the state, or holds it as consumed.
    Quarantined(QuarantinedState),
}

/// A relevant output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducedState {
    /// The transaction's id.
    pub tx: [u8; 32],
    /// The output's index, below 65,536.
    pub output: u32,
    /// The transaction's sequence in the ledger.
    pub seq: u64,
    /// The contract's name.
    pub contract: String,
    /// The token, if the state is fungible.
    pub token: Option<TokenFacts>,
    /// The quantity of the token, in minor units.
    pub quantity: u64,
    /// The owner's key, encoded, where the state has one.
    pub owner: Option<Vec<u8>>,
    /// The party id of the owner, where it is known.
    pub owner_party: Option<[u8; 32]>,
    /// The participants' keys, encoded, where they are more than the owner.
    pub participants: Option<Vec<u8>>,
    /// The encoded key of each participant, for queries, with the participant's party id if it is known.
    pub participant_keys: Vec<(Vec<u8>, Option<[u8; 32]>)>,
    /// Its linear id, if it is linear.
    pub linear_id: Option<[u8; 32]>,
    /// The notary's party id.
    pub notary: [u8; 32],
    /// When the transaction was recorded, in ms since the Unix epoch.
    pub recorded_at: u64,
    /// The state, encoded.
    pub state: Vec<u8>,
    /// Values of the columns that its contract declares: a column's index in [`super::ViewOptions::columns`], and a value of
    /// its kind. An index outside that list, or a value of another kind, is refused.
    pub columns: Vec<(u32, Datum)>,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

impl ColumnKind {
    pub(super) fn text(self) -> &'static str {
        match self {
            ColumnKind::Number => "number",
            ColumnKind::Text => "text",
            ColumnKind::Bytes => "bytes",
        }
    }

    /// Returns whether a value is of this kind.
    pub fn fits(self, value: &Datum) -> bool {
        matches!(
            (self, value),
            (ColumnKind::Number, Datum::Number(_))
                | (ColumnKind::Text, Datum::Text(_))
                | (ColumnKind::Bytes, Datum::Bytes(_))
        )
    }
}

/// A column that a contract declares for its states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewColumn {
    /// The contract's name.
    pub contract: String,
    /// The column's name.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnKind,
}

/// An issued token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenFacts {
    /// The token's id.
    pub id: [u8; 32],
    /// The token's common name, "GBP".
    pub symbol: String,
    /// The issuer.
    pub issuer: String,
}

/// An input of a recorded transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedState {
    /// The sequence in the ledger of the transaction that produced the state.
    pub of_seq: u64,
    /// The output's index.
    pub output: u32,
    /// The consuming transaction's sequence in the ledger.
    pub seq: u64,
    /// When it was recorded, in ms since the Unix epoch.
    pub at: u64,
}

/// A state that a notary reports as consumed elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantinedState {
    /// The sequence in the ledger of the transaction that produced the state.
    pub of_seq: u64,
    /// The output's index.
    pub output: u32,
}

/// A state as the view holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    /// The position of the state: it grows with the ledger sequence. Pages of states begin after a cursor.
    pub cursor: i64,
    /// The transaction's id.
    pub tx: [u8; 32],
    /// The output's index.
    pub output: u32,
    /// The transaction's sequence in the ledger.
    pub seq: u64,
    /// The contract's name.
    pub contract: String,
    /// The token, if the state is fungible.
    pub token: Option<TokenFacts>,
    /// The quantity in minor units; 0 if there is no token.
    pub quantity: u64,
    /// The owner's key, encoded.
    pub owner: Option<Vec<u8>>,
    /// The participants' keys, encoded, where they are more than the owner.
    pub participants: Option<Vec<u8>>,
    /// The notary's party id.
    pub notary: [u8; 32],
    /// When it was recorded, in ms since the Unix epoch.
    pub recorded_at: u64,
    /// The state, encoded.
    pub state: Vec<u8>,
    /// The sequence of the transaction that consumed it.
    pub consumed_seq: Option<u64>,
    /// When that was recorded, in ms since the Unix epoch.
    pub consumed_at: Option<u64>,
    /// Its linear id, if it is linear.
    pub linear_id: Option<[u8; 32]>,
    /// Whether it is in quarantine.
    pub quarantined: bool,
    /// Values of the columns that its contract declares, in the order of the columns; only on the pages of a query.
    pub columns: Vec<(u32, Datum)>,
}

/// The unconsumed states of one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The token.
    pub token: TokenFacts,
    /// The sum that can be spent, in minor units.
    pub quantity: u128,
    /// The number of states that make it up.
    pub states: u64,
    /// The sum in quarantine, in minor units.
    pub quarantined: u128,
    /// The number of states in quarantine.
    pub quarantined_states: u64,
}

/// Which unconsumed states to list; nothing set means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFilter {
    /// Only states of this contract.
    pub contract: Option<String>,
    /// Only states of this token.
    pub token: Option<[u8; 32]>,
    /// Only states in quarantine, or only others.
    pub quarantined: Option<bool>,
}
