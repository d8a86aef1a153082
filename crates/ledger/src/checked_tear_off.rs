//! Tear-offs that have been checked.

use primitives::{Decode, DecodeError, Decoder, Hash, PublicKey};

use crate::limits::COMMAND_SIGNERS_MAX;
use crate::structure::check_references;
use crate::tear_off::FilteredGroup;
use crate::{
    ContractName, FilteredTransaction, Group, Party, StateRef, StructureError, TearOffError,
    TimeWindow, TransactionState, TxId,
};

/// A tear-off on which a notary may rely: it has all inputs, all references, the notary, the time window and the
/// parameters of the transaction with this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTearOff {
    id: TxId,
    inputs: Vec<StateRef>,
    references: Vec<StateRef>,
    notary: Party,
    time_window: Option<TimeWindow>,
    parameters: Option<Hash>,
}

impl CheckedTearOff {
    /// Returns the transaction's id.
    pub fn id(&self) -> TxId {
        self.id
    }

    /// Returns all states consumed.
    pub fn inputs(&self) -> &[StateRef] {
        &self.inputs
    }

    /// Returns all states read.
    pub fn references(&self) -> &[StateRef] {
        &self.references
    }

    /// Returns the notary that has to decide.
    pub fn notary(&self) -> &Party {
        &self.notary
    }

    /// Returns the time window.
    pub fn time_window(&self) -> Option<&TimeWindow> {
        self.time_window.as_ref()
    }

    /// Returns the hash of the network parameters it was made under.
    pub fn parameters(&self) -> Option<&Hash> {
        self.parameters.as_ref()
    }
}

/// The revealed content of a tear-off for any reader: parts of the transaction with this id, each with its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedTearOff {
    /// The transaction's id.
    pub id: TxId,
    /// Inputs shown.
    pub inputs: Vec<(u32, StateRef)>,
    /// Outputs shown.
    pub outputs: Vec<(u32, TransactionState)>,
    /// Commands shown, with all their signers.
    pub commands: Vec<(u32, crate::Command)>,
    /// Attachments shown.
    pub attachments: Vec<(u32, Hash)>,
    /// The notary, if shown.
    pub notary: Option<Party>,
    /// The time window, if shown.
    pub time_window: Option<TimeWindow>,
    /// References shown.
    pub references: Vec<(u32, StateRef)>,
    /// The hash of the network parameters, if shown.
    pub parameters: Option<Hash>,
}

impl FilteredTransaction {
    /// Checks a notary's tear-off: it hashes to its id and shows the groups a notary needs whole, so nothing of them can
    /// be held back.
    pub fn verify(&self) -> Result<CheckedTearOff, TearOffError> {
        self.check_id()?;
        for group in Group::FOR_NOTARY {
            if !matches!(self.group(group), FilteredGroup::Whole(_)) {
                return Err(TearOffError::Incomplete(group));
            }
        }
        let inputs = self.values(Group::Inputs)?;
        let references = self.values(Group::References)?;
        check_references(&inputs, &references)?;
        let notary = self.at_most_one(Group::Notary, "notaries")?;
        let notary = notary.ok_or(TearOffError::Structure(StructureError::NotaryMissing))?;
        Ok(CheckedTearOff {
            id: self.claimed_id(),
            inputs,
            references,
            notary,
            time_window: self.at_most_one(Group::TimeWindow, "time windows")?,
            parameters: self.at_most_one(Group::Parameters, "parameters")?,
        })
    }

    /// Checks and decodes all revealed parts.
    pub fn open(&self) -> Result<OpenedTearOff, TearOffError> {
        self.check_id()?;
        let commands = self.decode_all(Group::Commands, |d| {
            d.expect_array(2)?;
            Ok((ContractName::decode(d)?, d.bytes()?.to_vec()))
        })?;
        let signers = self.decode_all(Group::Signers, |d| {
            d.vec_of::<PublicKey>(COMMAND_SIGNERS_MAX)
        })?;
        if !commands.is_empty() && !matches!(self.group(Group::Signers), FilteredGroup::Whole(_)) {
            return Err(TearOffError::SignersHidden);
        }
        let commands = commands
            .into_iter()
            .map(|(index, (contract, value))| {
                let (_, signers) = signers
                    .get(index as usize)
                    .ok_or(TearOffError::SignersHidden)?;
                Ok((
                    index,
                    crate::Command {
                        contract,
                        value,
                        signers: signers.clone(),
                    },
                ))
            })
            .collect::<Result<_, TearOffError>>()?;
        Ok(OpenedTearOff {
            id: self.claimed_id(),
            inputs: self.decode_all(Group::Inputs, StateRef::decode)?,
            outputs: self.decode_all(Group::Outputs, TransactionState::decode)?,
            commands,
            attachments: self.decode_all(Group::Attachments, Hash::decode)?,
            notary: self.at_most_one(Group::Notary, "notaries")?,
            time_window: self.at_most_one(Group::TimeWindow, "time windows")?,
            references: self.decode_all(Group::References, StateRef::decode)?,
            parameters: self.at_most_one(Group::Parameters, "parameters")?,
        })
    }

    fn values<T: Decode>(&self, group: Group) -> Result<Vec<T>, TearOffError> {
        let values = self.decode_all(group, T::decode)?;
        Ok(values.into_iter().map(|(_, value)| value).collect())
    }

    fn at_most_one<T: Decode>(
        &self,
        group: Group,
        what: &'static str,
    ) -> Result<Option<T>, TearOffError> {
        let mut values = self.values(group)?;
        if values.len() > 1 {
            return Err(TearOffError::Structure(StructureError::TooMany(what, 1)));
        }
        Ok(values.pop())
    }

    fn decode_all<T>(
        &self,
        group: Group,
        decode: impl Fn(&mut Decoder<'_>) -> Result<T, DecodeError>,
    ) -> Result<Vec<(u32, T)>, TearOffError> {
        let read = |index: u32, bytes: &[u8]| {
            let mut d = Decoder::new(bytes);
            let value = decode(&mut d)?;
            d.finish()?;
            Ok((index, value))
        };
        match self.group(group) {
            FilteredGroup::Hidden(_) => Ok(Vec::new()),
            FilteredGroup::Whole(components) => (0u32..)
                .zip(components)
                .map(|(index, c)| read(index, &c.bytes))
                .collect(),
            FilteredGroup::Part { components, .. } => components
                .iter()
                .map(|(index, c)| read(*index, &c.bytes))
                .collect(),
        }
    }
}
