//! Builds a swap from data alone.

use ledger::{Constraint, Party, StateAndRef, TransactionBuilder};
use primitives::{Hash, PublicKey};

use super::{Goods, SwapError};

/// One party's contribution: its states, the quantity to give, the receiver's key and the key for the change.
#[derive(Clone, Debug)]
pub(crate) struct Contribution {
    pub(crate) goods: Goods,
    pub(crate) states: Vec<StateAndRef>,
    pub(crate) quantity: u64,
    pub(crate) to: PublicKey,
    pub(crate) change_to: PublicKey,
}

/// The transaction, and the positions of its outputs.
#[derive(Clone, Debug)]
pub(crate) struct Swap {
    pub(crate) builder: TransactionBuilder,
    /// For each contribution, the output for its receiver, and the output with the change if there is one.
    pub(crate) places: Vec<(u32, Option<u32>)>,
}

/// The owners of the states that one contract moves.
struct Movers {
    goods: Goods,
    keys: Vec<PublicKey>,
}

/// Builds the transaction that exchanges all contributions at once. The owners of all states consumed have to sign.
pub(crate) fn swap(notary: Party, given: &[Contribution]) -> Result<Swap, SwapError> {
    let mut builder = TransactionBuilder::new(notary);
    let mut codes: Vec<Hash> = Vec::new();
    let mut movers: Vec<Movers> = Vec::new();
    let mut over: Vec<(usize, &Contribution, Constraint, u64)> = Vec::new();
    let mut places: Vec<(u32, Option<u32>)> = Vec::new();
    for (index, given) in given.iter().enumerate() {
        let (held, owners) = given.goods.sum(&given.states)?;
        let wanted = given.quantity;
        let too_little = SwapError::TooLittle { held, wanted };
        let change = held.checked_sub(wanted).ok_or(too_little)?;
        let first = given.states.first().ok_or(SwapError::States)?;
        let constraint = first.state.constraint.clone();
        let mixed = |state: &&StateAndRef| state.state.constraint != constraint;
        if let Some(state) = given.states.iter().find(mixed) {
            let why = "it is bound to another version of the contract than the others";
            return Err(SwapError::State(state.reference, why));
        }
        let code = given.goods.code(&constraint);
        if !codes.contains(&code) {
            codes.push(code);
            builder = builder.attachment(code);
        }
        let contract = given.goods.contract();
        match movers
            .iter_mut()
            .find(|movers| movers.goods.contract() == contract)
        {
            Some(movers) => {
                let new = owners.into_iter().filter(|key| !movers.keys.contains(key));
                let new: Vec<PublicKey> = new.collect();
                movers.keys.extend(new);
            }
            None => movers.push(Movers {
                goods: given.goods.clone(),
                keys: owners,
            }),
        }
        let data = given.goods.state(wanted, &given.to);
        builder =
            builder
                .inputs(&given.states)
                .output_data(contract.clone(), constraint.clone(), data);
        places.push((place(index), None));
        if change > 0 {
            over.push((index, given, constraint, change));
        }
    }
    // The change comes after the exchanged states, so that the positions of those are known beforehand.
    let changes_from = places.len();
    for (after, (index, given, constraint, change)) in over.into_iter().enumerate() {
        let data = given.goods.state(change, &given.change_to);
        builder = builder.output_data(given.goods.contract().clone(), constraint, data);
        if let Some(at) = places.get_mut(index) {
            at.1 = Some(place(changes_from + after));
        }
    }
    for movers in movers {
        let command = movers.goods.move_command();
        builder = builder.command(movers.goods.contract().clone(), command, movers.keys);
    }
    Ok(Swap { builder, places })
}

/// Converts an index to an output position.
fn place(index: usize) -> u32 {
    u32::try_from(index).expect("limits keep a transaction's outputs far below 2^32")
}
