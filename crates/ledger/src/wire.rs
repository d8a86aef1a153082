//! Transactions as they travel and are stored.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use primitives::{Hash, PublicKey};

use crate::group::{GROUPS, Group};
use crate::structure::Components;
use crate::{Command, Party, StateRef, TimeWindow, TransactionState, TxId};

/// A well-formed transaction without its signatures: the bytes as carried, their meaning, and the id.
///
/// # Format
/// `[version 1, privacy salt (32 bytes), groups]`, where groups is an array of nine arrays of byte strings, in the order
/// of [`Group`]; each byte string is the encoding of one component:
///
/// | group | component |
/// |---|---|
/// | inputs, references | [`StateRef`] |
/// | outputs | [`TransactionState`] |
/// | commands | `[contract name, value (byte string)]` |
/// | attachments | hash |
/// | notary (0 or 1) | [`Party`] |
/// | time window (0 or 1) | [`TimeWindow`] |
/// | signers | array of keys, one component for each command |
/// | parameters (0 or 1) | hash |
///
/// # Invariants
/// The bytes are canonical, decode to the components kept here, keep every rule of [`StructureError`](crate::StructureError), and hash to the id.
/// Cheap to clone.
#[derive(Clone)]
pub struct WireTransaction(pub(crate) Arc<Wire>);

pub(crate) struct Wire {
    pub(crate) id: TxId,
    pub(crate) bytes: Vec<u8>,
    pub(crate) salt: [u8; 32],
    pub(crate) group_hashes: [Hash; GROUPS],
    /// The position of each component in `bytes`, group after group.
    pub(crate) ranges: Vec<Range<u32>>,
    /// The first component of each group in `ranges`.
    pub(crate) starts: [u32; GROUPS + 1],
    pub(crate) components: Components,
}

impl WireTransaction {
    /// Returns the bytes as carried.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// Returns the id.
    pub fn id(&self) -> TxId {
        self.0.id
    }

    /// Returns the salt that determines the components' nonces. Its holder can confirm a guess of a hidden component.
    pub fn privacy_salt(&self) -> &[u8; 32] {
        &self.0.salt
    }

    /// Returns the states consumed.
    pub fn inputs(&self) -> &[StateRef] {
        &self.0.components.inputs
    }

    /// Returns the states read and not consumed.
    pub fn references(&self) -> &[StateRef] {
        &self.0.components.references
    }

    /// Returns the states made.
    pub fn outputs(&self) -> &[TransactionState] {
        &self.0.components.outputs
    }

    /// Returns the state made at an index.
    pub fn output(&self, index: usize) -> Option<&TransactionState> {
        self.0.components.outputs.get(index)
    }

    /// Returns the commands with their signers.
    pub fn commands(&self) -> &[Command] {
        &self.0.components.commands
    }

    /// Returns the attachments.
    pub fn attachments(&self) -> &[Hash] {
        &self.0.components.attachments
    }

    /// Returns the notary.
    pub fn notary(&self) -> Option<&Party> {
        self.0.components.notary.as_ref()
    }

    /// Returns the time window for its notarisation.
    pub fn time_window(&self) -> Option<&TimeWindow> {
        self.0.components.time_window.as_ref()
    }

    /// Returns the hash of the network parameters it was made under.
    pub fn parameters(&self) -> Option<&Hash> {
        self.0.components.parameters.as_ref()
    }

    /// Tells whether the notary has to sign: the transaction consumes or reads states, or has a time window.
    pub fn needs_notary(&self) -> bool {
        !self.inputs().is_empty() || !self.references().is_empty() || self.time_window().is_some()
    }

    /// Returns every key that has to sign: the signers of the commands and, where needed, the notary. Sorted, each
    /// once.
    pub fn required_signers(&self) -> Vec<PublicKey> {
        let mut keys = self.command_signers();
        keys.extend(self.notary_key());
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().cloned().collect()
    }

    /// Returns the keys that have to sign for the commands, each this transaction alone. Sorted, each once.
    pub fn command_signers(&self) -> Vec<&PublicKey> {
        let commands = self.commands().iter();
        let mut keys: Vec<&PublicKey> = commands
            .flat_map(|command| command.signers.iter())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the notary's key, if the notary has to sign. It always signs a batch, even for a single transaction.
    pub fn notary_key(&self) -> Option<&PublicKey> {
        let notary = self.notary().filter(|_| self.needs_notary());
        notary.map(|notary| &notary.key)
    }

    /// Returns the number of components of a group.
    pub fn count(&self, group: Group) -> usize {
        self.component_ranges(group).len()
    }

    /// Returns the bytes of a component.
    pub fn component(&self, group: Group, index: usize) -> Option<&[u8]> {
        self.component_ranges(group)
            .get(index)
            .map(|range| self.slice(range))
    }

    /// Returns the bytes of a group's components.
    pub fn components(&self, group: Group) -> impl ExactSizeIterator<Item = &[u8]> {
        self.component_ranges(group)
            .iter()
            .map(|range| self.slice(range))
    }

    /// Returns the hash of a group.
    pub fn group_hash(&self, group: Group) -> Hash {
        self.0.group_hashes[group.index()]
    }

    pub(crate) fn parts(&self) -> &Components {
        &self.0.components
    }

    fn component_ranges(&self, group: Group) -> &[Range<u32>] {
        let starts = &self.0.starts;
        &self.0.ranges[starts[group.index()] as usize..starts[group.index() + 1] as usize]
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.0.bytes[range.start as usize..range.end as usize]
    }
}

impl PartialEq for WireTransaction {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id && self.0.salt == other.0.salt
    }
}

impl Eq for WireTransaction {}

impl fmt::Debug for WireTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireTransaction")
            .field("id", &self.0.id)
            .field("components", &self.0.components)
            .finish_non_exhaustive()
    }
}
