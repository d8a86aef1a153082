//! A part of the ledger as rows of the vault tables, and the port to the ledger.

use primitives::storage::StoreFailure;

/// A transaction of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultTransaction {
    /// Its sequence in the ledger.
    pub sequence: u64,
    /// Its id.
    pub id: [u8; 32],
    /// When it was recorded, in ms since the Unix epoch.
    pub recorded_at: u64,
}

/// A quantity of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultToken {
    /// The token's id.
    pub id: [u8; 32],
    /// Its symbol.
    pub symbol: String,
    /// The issuer's name.
    pub issuer: String,
    /// The quantity in minor units.
    pub quantity: u64,
}

/// A state that the vault keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultState {
    /// The transaction that produced it.
    pub transaction: VaultTransaction,
    /// The output's index.
    pub output: u32,
    /// The contract's name.
    pub contract: String,
    /// The notary's name.
    pub notary: String,
    /// The owner's name, if it is known.
    pub owner: Option<String>,
    /// The owner's key, encoded.
    pub owner_key: Option<Vec<u8>>,
    /// The token, if the state is fungible.
    pub token: Option<VaultToken>,
    /// The linear id, if the state is linear.
    pub linear_id: Option<[u8; 32]>,
    /// A JSON object of the columns that the contract declares, without the character U+0000.
    pub fields: String,
    /// The participants' keys, encoded, with their names if these are known.
    pub participants: Vec<(Vec<u8>, Option<String>)>,
}

/// A state that a transaction consumed. It is ignored if the tables do not hold the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedVaultState {
    /// The sequence of the transaction that produced it.
    pub of_sequence: u64,
    /// The output's index.
    pub output: u32,
    /// The consuming transaction.
    pub by: VaultTransaction,
}

/// The next transactions of the ledger, with the states that they produced and consumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultBatch {
    /// The position that the batch follows.
    pub after: u64,
    /// The position that it leads to.
    pub upto: u64,
    /// All transactions in between.
    pub transactions: Vec<VaultTransaction>,
    /// The states that they produced.
    pub states: Vec<VaultState>,
    /// The states that they consumed.
    pub consumed: Vec<ConsumedVaultState>,
}

/// The ledger as the vault tables need it.
pub trait VaultSource: Send {
    /// Returns the name of the node's party.
    fn party(&self) -> String;

    /// Names the form of the rows. If the tables were filled in another form, they are filled again.
    fn form(&self) -> String;

    /// Returns the sequence of the ledger's last transaction, 0 if there is none.
    ///
    /// # Errors
    /// The ledger cannot be read.
    fn end(&self) -> Result<u64, StoreFailure>;

    /// Returns the next transactions after `after`, at most some thousand rows of them, or `None` if there are none up to `end`.
    ///
    /// # Errors
    /// The ledger cannot be read.
    fn batch(&self, after: u64, end: u64) -> Result<Option<VaultBatch>, StoreFailure>;

    /// Returns the sequences and output indexes of all states in quarantine.
    ///
    /// # Errors
    /// The ledger cannot be read.
    fn quarantined(&self) -> Result<Vec<(u64, u32)>, StoreFailure>;
}
