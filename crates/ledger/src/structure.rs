//! The first stage of verification: rules that a transaction alone can break.

use std::collections::BTreeSet;
use std::hash::Hash as StdHash;

use primitives::{Coded, DecodeError, Hash};
use thiserror::Error;

use crate::limits::{
    ATTACHMENTS_MAX, COMMAND_SIGNERS_MAX, COMMANDS_MAX, COMPONENT_BYTES_MAX,
    INPUTS_AND_REFERENCES_MAX, OUTPUTS_MAX, SIGNERS_MAX, TRANSACTION_BYTES_MAX,
};
use crate::rings::check_rings;
use crate::{Command, Party, StateRef, TimeWindow, TransactionState, errors};

/// The components of a transaction, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Components {
    pub(crate) inputs: Vec<StateRef>,
    pub(crate) outputs: Vec<TransactionState>,
    pub(crate) commands: Vec<Command>,
    pub(crate) attachments: Vec<Hash>,
    pub(crate) notary: Option<Party>,
    pub(crate) time_window: Option<TimeWindow>,
    pub(crate) references: Vec<StateRef>,
    pub(crate) parameters: Option<Hash>,
}

/// Reasons why a transaction is not well formed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StructureError {
    /// It does not decode.
    #[error("the transaction does not decode: {0}")]
    Malformed(#[from] DecodeError),
    /// It, or one of its components, has too many bytes.
    #[error(
        "the transaction or one of its components has too many bytes (at most {TRANSACTION_BYTES_MAX}, {COMPONENT_BYTES_MAX})"
    )]
    TooLarge,
    /// A group has too many components.
    #[error("the transaction has too many {0} (at most {1})")]
    TooMany(&'static str, usize),
    /// It consumes nothing and makes nothing.
    #[error("the transaction has neither inputs nor outputs")]
    Empty,
    /// It has no command.
    #[error("the transaction has no command")]
    NoCommand,
    /// A command without signers.
    #[error("command {0} has no signers")]
    NoSigners(usize),
    /// A command names a signer twice.
    #[error("command {0} names a signer twice")]
    DuplicateSigner(usize),
    /// A state is consumed twice.
    #[error("{0} is an input twice")]
    DuplicateInput(StateRef),
    /// A state is referred to twice.
    #[error("{0} is a reference twice")]
    DuplicateReference(StateRef),
    /// A state is consumed and referred to.
    #[error("{0} is an input and a reference")]
    InputAlsoReferenced(StateRef),
    /// An attachment is listed twice.
    #[error("attachment {0} is listed twice")]
    DuplicateAttachment(Hash),
    /// It has inputs, references or outputs but no notary.
    #[error("the transaction has states but no notary")]
    NotaryMissing,
    /// It has a time window but no notary to judge it.
    #[error("the transaction has a time window but no notary")]
    TimeWindowWithoutNotary,
    /// An output's encumbrance is not an output, or the output itself, or does not lead back in a ring.
    #[error("the encumbrance of output {0} does not lead through other outputs back to it")]
    EncumbranceInvalid(u32),
}

impl StructureError {
    pub(crate) fn code_of(&self) -> &'static str {
        match self {
            StructureError::Malformed(_) => "tx.malformed",
            StructureError::TooLarge => "tx.too_large",
            StructureError::TooMany(..) => "tx.too_many_components",
            StructureError::Empty => "tx.empty",
            StructureError::NoCommand => "tx.no_command",
            StructureError::NoSigners(_) => "tx.no_signers",
            StructureError::DuplicateSigner(_) => "tx.duplicate_signer",
            StructureError::DuplicateInput(_) => "tx.duplicate_input",
            StructureError::DuplicateReference(_) => "tx.duplicate_reference",
            StructureError::InputAlsoReferenced(_) => "tx.input_also_referenced",
            StructureError::DuplicateAttachment(_) => "tx.duplicate_attachment",
            StructureError::NotaryMissing => "tx.notary_missing",
            StructureError::TimeWindowWithoutNotary => "tx.time_window_without_notary",
            StructureError::EncumbranceInvalid(_) => "tx.encumbrance_invalid",
        }
    }
}

impl Coded for StructureError {
    fn code(&self) -> &'static str {
        self.code_of()
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

fn at_most(what: &'static str, count: usize, max: usize) -> Result<(), StructureError> {
    if count > max {
        Err(StructureError::TooMany(what, max))
    } else {
        Ok(())
    }
}

/// Returns the first value that comes twice.
fn first_duplicate<T: Ord + StdHash>(values: &[T]) -> Option<&T> {
    const FEW: usize = 16;
    if values.len() <= FEW {
        return values
            .iter()
            .enumerate()
            .find_map(|(i, v)| values[..i].contains(v).then_some(v));
    }
    let mut seen = BTreeSet::new();
    values.iter().find(|v| !seen.insert(*v))
}

/// Inputs and references: not too many, none twice, none in both.
pub(crate) fn check_references(
    inputs: &[StateRef],
    references: &[StateRef],
) -> Result<(), StructureError> {
    at_most(
        "inputs and references",
        inputs.len() + references.len(),
        INPUTS_AND_REFERENCES_MAX,
    )?;
    if let Some(input) = first_duplicate(inputs) {
        return Err(StructureError::DuplicateInput(*input));
    }
    if let Some(reference) = first_duplicate(references) {
        return Err(StructureError::DuplicateReference(*reference));
    }
    if !references.is_empty() && !inputs.is_empty() {
        let inputs: BTreeSet<_> = inputs.iter().collect();
        if let Some(both) = references.iter().find(|r| inputs.contains(r)) {
            return Err(StructureError::InputAlsoReferenced(*both));
        }
    }
    Ok(())
}

impl Components {
    /// Checks all rules that need only the transaction itself.
    pub(crate) fn check(&self) -> Result<(), StructureError> {
        check_references(&self.inputs, &self.references)?;
        at_most("outputs", self.outputs.len(), OUTPUTS_MAX)?;
        at_most("commands", self.commands.len(), COMMANDS_MAX)?;
        at_most("attachments", self.attachments.len(), ATTACHMENTS_MAX)?;
        if self.inputs.is_empty() && self.outputs.is_empty() {
            return Err(StructureError::Empty);
        }
        self.check_commands()?;
        if let Some(hash) = first_duplicate(&self.attachments) {
            return Err(StructureError::DuplicateAttachment(*hash));
        }
        if self.notary.is_none() {
            return Err(match self.time_window {
                Some(_) => StructureError::TimeWindowWithoutNotary,
                None => StructureError::NotaryMissing,
            });
        }
        check_rings(&self.outputs).map_err(StructureError::EncumbranceInvalid)
    }

    fn check_commands(&self) -> Result<(), StructureError> {
        if self.commands.is_empty() {
            return Err(StructureError::NoCommand);
        }
        let mut signers = 0usize;
        for (index, command) in self.commands.iter().enumerate() {
            if command.signers.is_empty() {
                return Err(StructureError::NoSigners(index));
            }
            at_most(
                "signers of a command",
                command.signers.len(),
                COMMAND_SIGNERS_MAX,
            )?;
            if first_duplicate(&command.signers).is_some() {
                return Err(StructureError::DuplicateSigner(index));
            }
            signers += command.signers.len();
        }
        at_most("signers", signers, SIGNERS_MAX)
    }
}

impl StructureError {
    /// Converts the error to one of a decoder, which has a fixed text for each broken rule.
    pub(crate) fn into_decode_error(self, d: &primitives::Decoder<'_>) -> DecodeError {
        let rule = match self {
            StructureError::Malformed(error) => return error,
            StructureError::TooLarge => "a transaction or a component has too many bytes",
            StructureError::TooMany(..) => "a transaction has too many components of a kind",
            StructureError::Empty => "a transaction has neither inputs nor outputs",
            StructureError::NoCommand => "a transaction has no command",
            StructureError::NoSigners(_) => "a command has no signers",
            StructureError::DuplicateSigner(_) => "a command names a signer twice",
            StructureError::DuplicateInput(_) => "a state is an input twice",
            StructureError::DuplicateReference(_) => "a state is a reference twice",
            StructureError::InputAlsoReferenced(_) => "a state is an input and a reference",
            StructureError::DuplicateAttachment(_) => "an attachment is listed twice",
            StructureError::NotaryMissing => "a transaction has no notary",
            StructureError::TimeWindowWithoutNotary => "a time window without a notary",
            StructureError::EncumbranceInvalid(_) => "encumbered outputs do not form rings",
        };
        d.invalid(rule)
    }
}
