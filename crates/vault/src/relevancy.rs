//! Which of a transaction's states concern us.

use std::sync::Arc;

use ledger::{StateAndRef, StateFacts, StateRef, WireTransaction};
use primitives::PublicKey;

/// A change of the vault, in the order of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewChange {
    /// An output that concerns us. The coin selection and the view share it.
    Produced(Arc<Produced>),
    /// An input, whether the vault holds it or not. The vault ignores inputs that it does not hold.
    Consumed(Consumed),
}

/// An output that concerns us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Produced {
    /// The ledger sequence of its transaction.
    pub seq: u64,
    /// The state.
    pub state: StateAndRef,
    /// The contract's description of the state. `fungible` is set only if one of our keys owns the state and no encumbrance is
    /// on it: a state of another owner is kept but is not our money, and an encumbered state cannot be spent by itself.
    pub facts: StateFacts,
}

/// An input of a recorded transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumed {
    /// The ledger sequence of the transaction that consumed it.
    pub seq: u64,
    /// The state.
    pub reference: StateRef,
}

/// Tells whether a state concerns us: one of our keys owns it or takes part in it.
pub fn is_relevant(facts: &StateFacts, is_ours: &dyn Fn(&PublicKey) -> bool) -> bool {
    facts.owner.as_ref().is_some_and(is_ours) || facts.participants.iter().any(is_ours)
}

/// Returns the changes of a transaction recorded at `seq`: its inputs first, then those of its outputs that concern us.
///
/// `facts` are the contracts' descriptions of the outputs, in order. A state that its contract does not describe is left out.
///
/// # Panics
/// There are fewer `facts` than outputs.
pub fn changes(
    seq: u64,
    transaction: &WireTransaction,
    is_ours: &dyn Fn(&PublicKey) -> bool,
    facts: impl IntoIterator<Item = Option<StateFacts>>,
) -> Vec<ViewChange> {
    let consumed = transaction.inputs().iter().map(|reference| {
        ViewChange::Consumed(Consumed {
            seq,
            reference: *reference,
        })
    });
    let mut facts = facts.into_iter();
    let produced = (0u32..)
        .zip(transaction.outputs())
        .filter_map(|(index, state)| {
            let facts = facts.next();
            let mut facts = facts.expect("each output has one description or none")?;
            if !is_relevant(&facts, is_ours) {
                return None;
            }
            let is_free = state.encumbrance.is_none();
            if !is_free || !facts.owner.as_ref().is_some_and(is_ours) {
                facts.fungible = None;
            }
            let reference = StateRef::new(transaction.id(), index);
            let state = StateAndRef {
                state: state.clone(),
                reference,
            };
            Some(ViewChange::Produced(Arc::new(Produced {
                seq,
                state,
                facts,
            })))
        });
    consumed.chain(produced).collect()
}
