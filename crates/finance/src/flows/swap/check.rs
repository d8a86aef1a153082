//! Whether a proposed swap is the one that a party has agreed to, as far as it concerns that party: what it gives, what it gets, and
//! nothing else of its own.

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

/// How long a proposed swap may wait for the notary at most, in milliseconds. So nobody can hold a signature back, and use it when
/// prices have moved.
pub(super) const WINDOW_MS_MAX: u64 = 600_000;

/// What this party has agreed to.
pub(super) struct Agreed<'a> {
    pub(super) leg: &'a Leg,
    pub(super) locked: &'a Locked,
    /// The key for what it gets.
    pub(super) receiver: &'a PublicKey,
    /// The key for what is over.
    pub(super) change_to: &'a PublicKey,
}

impl Agreed<'_> {
    /// Checks a proposal. `consumed` is what it consumes, in its order.
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
            return differs("it asks for more than a move of what is given");
        }
        if !wire.commands().iter().all(is_a_move) {
            return differs("it does more than to move cash and stock");
        }
        if wire.notary() != Some(&self.leg.notary) {
            return differs("it names another notary");
        }
        let latest = now.plus_ms(WINDOW_MS_MAX).unwrap_or(Timestamp::MAX);
        let until = wire.time_window().and_then(|window| window.end());
        if until.is_none_or(|until| until > latest) {
            return differs("it can be notarised for too long");
        }
        self.check_consumed(asked, consumed)?;
        self.check_made(asked, wire.outputs())
    }

    /// Of this party's states, those that it gives and no others. A signature would be good for all that its keys own.
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
            false => Err(SwapError::Proposal("it leaves out what is given")),
        }
    }

    /// What this party gets, as one state, what is over of what it gives, as another, and no other state of its own. Every state is cash
    /// or stock: another contract might count the same cash as its own payment.
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

/// Whether a key, or a part of it, is one that this party would sign with.
fn is_own(asked: &Asked, owner: &PublicKey) -> bool {
    asked.keys.contains(owner)
        || owner
            .leaf_keys()
            .iter()
            .any(|leaf| asked.keys.contains(leaf))
}

/// Who owns a state of cash or stock; nobody, if it is something else.
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

/// A command's value as it is.
struct RawValue(Vec<u8>);

impl Decode for RawValue {
    fn decode(d: &mut primitives::Decoder<'_>) -> Result<Self, primitives::DecodeError> {
        d.raw().map(|bytes| Self(bytes.to_vec()))
    }
}
