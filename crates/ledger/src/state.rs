//! States as a transaction carries them.

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};

use crate::{Constraint, ContractName, Party, StateRef};

/// A state together with everything the ledger needs to know of it.
///
/// Encoded as `[contract name, data (byte string), constraint, notary, encumbrance or null]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionState {
    /// The contract's own encoding of the state.
    pub data: Vec<u8>,
    /// The contract that decides about it.
    pub contract: ContractName,
    /// Which code may do so.
    pub constraint: Constraint,
    /// The notary that knows whether it is consumed.
    pub notary: Party,
    /// The index of another output of the same transaction that can only be consumed together with this one. Encumbered
    /// outputs form rings: the output named here is encumbered too, and following the indices leads back here.
    pub encumbrance: Option<u32>,
}

impl Encode for TransactionState {
    fn encode(&self, e: &mut Encoder) {
        e.array(5);
        self.contract.encode(e);
        e.bytes(&self.data);
        self.constraint.encode(e);
        self.notary.encode(e);
        self.encumbrance.encode(e);
    }
}

impl Decode for TransactionState {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        StateReader::default().read(d)
    }
}

/// Reads states that follow one another. Most have the contract and the notary of the one before: where the bytes are the
/// same, so is the value.
#[derive(Default)]
pub(crate) struct StateReader<'a> {
    contract: Option<(&'a [u8], ContractName)>,
    notary: Option<(&'a [u8], Party)>,
}

impl<'a> StateReader<'a> {
    pub(crate) fn read(&mut self, d: &mut Decoder<'a>) -> Result<TransactionState, DecodeError> {
        d.expect_array(5)?;
        Ok(TransactionState {
            contract: read_like(&mut self.contract, d)?,
            data: d.bytes()?.to_vec(),
            constraint: Constraint::decode(d)?,
            notary: read_like(&mut self.notary, d)?,
            encumbrance: Option::decode(d)?,
        })
    }
}

fn read_like<'a, T: Decode + Clone>(
    last: &mut Option<(&'a [u8], T)>,
    d: &mut Decoder<'a>,
) -> Result<T, DecodeError> {
    let bytes = d.clone().raw()?;
    if let Some((same, value)) = last
        && *same == bytes
    {
        d.raw()?;
        return Ok(value.clone());
    }
    let value = T::decode(d)?;
    *last = Some((bytes, value.clone()));
    Ok(value)
}

/// A state with its reference. Encoded as `[state, reference]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateAndRef {
    /// The state.
    pub state: TransactionState,
    /// Its name.
    pub reference: StateRef,
}

primitives::record!(StateAndRef { state, reference });
