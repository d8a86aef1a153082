//! Checks that a proposed swap is the one that a party has agreed to: the states it gives, the states it gets, and nothing else
//! of its own.

use flow::library::Asked;
use ledger::{SignedTransaction, StateAndRef, TransactionState};
use primitives::{Decode, PublicKey, Timestamp};

use super::leg::Leg;
use super::states::Locked;
use crate::cash_name;
use crate::flows::agreed::asks_only_for;
use crate::stock::stock_name;
use crate::swap::SwapError;
use crate::{CashCommand, stock::StockCommand};

/// Maximum time that a proposed swap may wait for the notary, in milliseconds. So a signature cannot be held back and used after
/// prices have moved.
pub(super) const WINDOW_MS_MAX: u64 = 600_000;

/// The agreement of this party.
pub(super) struct Agreed<'a> {
    pub(super) leg: &'a Leg,
    pub(super) locked: &'a Locked,
    /// The key for the states that it gets.
    pub(super) receiver: &'a PublicKey,
    /// The key for its change.
    pub(super) change_to: &'a PublicKey,
}

impl Agreed<'_> {
    /// Checks a proposal. `consumed` are the states that it consumes, in order.
    ///
    /// # Errors
    /// `swap.proposal_differs`.
    pub(super) fn check(
        &self,
        asked: &Asked,
        proposal: &SignedTransaction,
        consumed: &[StateAndRef],
        now: Timestamp,
    ) -> Result<(), SwapError> {
        let differs = |what| Err(SwapError::Proposal(what));
        let wire = proposal.wire();
        let (gives, _) = self.leg.gives();
        let moves = gives.move_command();
        let is_move = |RawValue(value)| value == moves;
        if !asks_only_for(asked, proposal, gives.contract(), is_move) {
            return differs("it asks for more than a move of the given states");
        }
        if !wire.commands().iter().all(is_a_move) {
            return differs("it does more than to move cash and stock");
        }
        if wire.notary() != Some(&self.leg.notary) {
            return differs("it names another notary");
        }
        // At the end of time every window is short enough.
        let latest = now.plus_ms(WINDOW_MS_MAX).unwrap_or(Timestamp::MAX);
        let until = wire.time_window().and_then(|window| window.end());
        if until.is_none_or(|until| until > latest) {
            return differs("it can be notarised for too long");
        }
        self.check_consumed(asked, consumed)?;
        self.check_made(asked, wire.outputs())
    }

    /// Checks that the proposal consumes exactly the given states of this party, because a signature would release every state
    /// that its keys own.
    fn check_consumed(&self, asked: &Asked, consumed: &[StateAndRef]) -> Result<(), SwapError> {
        let given = &self.locked.states;
        for input in consumed {
            let is_given = given.iter().any(|own| own.reference == input.reference);
            if !is_given && owner_of(&input.state).is_none_or(|owner| is_own(asked, &owner)) {
                return Err(SwapError::Proposal("it consumes something else"));
            }
        }
        let all = given.iter().all(|own| {
            consumed
                .iter()
                .any(|input| input.reference == own.reference)
        });
        match all {
            true => Ok(()),
            false => Err(SwapError::Proposal(
                "it does not consume all states that this party gives",
            )),
        }
    }

    /// Checks the outputs for this party: one state that it gets, one with its change if there is any, and no other state of its
    /// own. Every output must be cash or stock, because another contract might count the same cash as its own payment.
    fn check_made(&self, asked: &Asked, outputs: &[TransactionState]) -> Result<(), SwapError> {
        let (gets, quantity) = self.leg.gets();
        let (gives, _) = self.leg.gives();
        let mut expected = vec![(gets.contract(), gets.state(quantity, self.receiver))];
        if self.locked.change > 0 {
            let change = gives.state(self.locked.change, self.change_to);
            expected.push((gives.contract(), change));
        }
        for output in outputs {
            let found = expected
                .iter()
                .position(|(contract, data)| output.contract == **contract && output.data == *data);
            if let Some(found) = found {
                expected.swap_remove(found);
                continue;
            }
            let Some(owner) = owner_of(output) else {
                return Err(SwapError::Proposal("it makes something else"));
            };
            let ours = [self.receiver, self.change_to].contains(&&owner);
            if ours || is_own(asked, &owner) {
                return Err(SwapError::Proposal("it makes another state of this party"));
            }
        }
        match expected.is_empty() {
            true => Ok(()),
            false => Err(SwapError::Proposal(
                "this party does not get what was agreed",
            )),
        }
    }
}

/// Returns whether this party would sign with the key or a part of it.
fn is_own(asked: &Asked, owner: &PublicKey) -> bool {
    asked.keys.contains(owner)
        || owner
            .leaf_keys()
            .iter()
            .any(|leaf| asked.keys.contains(leaf))
}

/// Returns the owner of a state of cash or stock; `None` for other states.
fn owner_of(state: &TransactionState) -> Option<PublicKey> {
    if state.contract == *cash_name() {
        let cash = crate::CashState::from_bytes(&state.data).ok()?;
        Some(cash.owner)
    } else if state.contract == *stock_name() {
        let stock = crate::stock::StockState::from_bytes(&state.data).ok()?;
        Some(stock.owner)
    } else {
        None
    }
}

fn is_a_move(command: &ledger::Command) -> bool {
    let value = &command.value;
    if command.contract == *cash_name() {
        CashCommand::from_bytes(value).is_ok_and(|value| value == CashCommand::Move)
    } else {
        command.contract == *stock_name()
            && StockCommand::from_bytes(value).is_ok_and(|value| value == StockCommand::Move)
    }
}

/// The raw bytes of a command's value.
struct RawValue(Vec<u8>);

impl Decode for RawValue {
    fn decode(d: &mut primitives::Decoder<'_>) -> Result<Self, primitives::DecodeError> {
        d.raw().map(|bytes| Self(bytes.to_vec()))
    }
}
