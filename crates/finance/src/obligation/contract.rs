//! The obligation contract.
//!
//! Each obligation has an id, and each command names the obligations that it changes. Every obligation that is consumed or
//! made is named once, and changes only as that command allows. A settlement must pay each obligee the reduction of its
//! obligations, in the tokens that the command gives. The payment is the obligee's net gain of cash over the whole
//! transaction, for all its obligations together.
//!
//! # Correctness
//! The same cash must not pay twice. The payments counted by other contracts are unknown here, so obligations are settled
//! only in transactions that hold nothing but obligations and cash.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ledger::{
    CommandFacts, Contract, ContractName, ContractRejection, LedgerTransaction, StateFacts, TokenId,
};
use primitives::{Decode, DecodeError, Hash, PublicKey};

use super::{ObligationCommand, ObligationError, ObligationState, SettlementPayment};
use crate::{CashState, cash_name};

type Outcome = Result<(), ObligationError>;

/// The name of the obligation contract.
pub const OBLIGATION_NAME: &str = "tally.obligation";

/// Returns the contract's checked name.
pub fn obligation_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| {
        ContractName::new(OBLIGATION_NAME).expect("a constant that is a valid name")
    })
}

/// The obligation contract, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObligationContract;

impl Contract for ObligationContract {
    fn name(&self) -> &str {
        OBLIGATION_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(check(tx)?)
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let obligation = ObligationState::from_bytes(data)?;
        Ok(StateFacts {
            participants: vec![obligation.obligee.clone(), obligation.obligor.key],
            owner: Some(obligation.obligee),
            fungible: None,
            linear_id: Some(obligation.id),
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        Ok(Some(ObligationCommand::from_bytes(value)?.facts()))
    }
}

/// One obligation before and after the transaction.
#[derive(Default)]
struct Change {
    before: Option<ObligationState>,
    after: Option<ObligationState>,
}

fn read(data: &[u8]) -> Result<ObligationState, ObligationError> {
    ObligationState::from_bytes(data).map_err(ObligationError::State)
}

fn check(tx: &LedgerTransaction) -> Outcome {
    let mut changes: BTreeMap<Hash, Change> = BTreeMap::new();
    for input in tx.inputs_of(obligation_name()) {
        let state = read(&input.state.data)?;
        let change = changes.entry(state.id).or_default();
        if change.before.replace(state).is_some() {
            return Err(ObligationError::Repeated);
        }
    }
    for output in tx.outputs_of(obligation_name()) {
        let state = read(&output.data)?;
        if state.obligee == state.obligor.key {
            return Err(ObligationError::OwnDebt);
        }
        let change = changes.entry(state.id).or_default();
        if change.after.replace(state).is_some() {
            return Err(ObligationError::Repeated);
        }
    }
    let mut settled = Vec::new();
    for command in tx.commands_of(obligation_name()) {
        let value =
            ObligationCommand::from_bytes(&command.value).map_err(ObligationError::Command)?;
        Order {
            tx,
            signers: &command.signers,
            changes: &mut changes,
        }
        .check(value, &mut settled)?;
    }
    if !changes.is_empty() {
        let text = "an obligation is consumed or made, and no command names it";
        return Err(ObligationError::Change(text));
    }
    check_payment(tx, settled)
}

/// A command under check, with the changes that no command has been applied to yet.
struct Order<'a> {
    tx: &'a LedgerTransaction,
    signers: &'a [PublicKey],
    changes: &'a mut BTreeMap<Hash, Change>,
}

/// An amount due to an obligee, in a token.
type Due = (PublicKey, TokenId, u64);

impl Order<'_> {
    fn check(mut self, command: ObligationCommand, settled: &mut Vec<Due>) -> Outcome {
        match command {
            ObligationCommand::Issue(ids) => self.each(&ids, |order, change| {
                let made = only_made(change)?;
                if made.defaulted {
                    return Err(ObligationError::InDefault);
                }
                order.signed_by_obligor(&made)
            }),
            ObligationCommand::Move(ids) => self.each(&ids, |order, change| {
                let (mut before, after) = kept(change)?;
                if before.defaulted {
                    return Err(ObligationError::InDefault);
                }
                order.signed_by_obligee(&before)?;
                before.obligee = after.obligee.clone();
                same(&before, &after, "a move changes more than the obligee")
            }),
            ObligationCommand::Default(ids) => self.each(&ids, |order, change| {
                let start = order.tx.time_window.and_then(|window| window.start());
                let (before, _) = order.lifecycle(change, true)?;
                if start.is_none_or(|start| start < before.due) {
                    return Err(ObligationError::NotDue);
                }
                Ok(())
            }),
            ObligationCommand::Restore(ids) => self.each(&ids, |order, change| {
                order.lifecycle(change, false).map(|_| ())
            }),
            ObligationCommand::Exit(ids) => self.each(&ids, |order, change| match change {
                Change {
                    before: Some(before),
                    after: None,
                } => order.signed_by_obligee(&before),
                _ => Err(ObligationError::Change("an exit makes obligations")),
            }),
            ObligationCommand::Net(ids) => self.net(&ids),
            ObligationCommand::Settle(payments) => self.settle(&payments, settled),
        }
    }

    fn take(&mut self, id: &Hash) -> Result<Change, ObligationError> {
        let missing = ObligationError::CommandWithoutObligation;
        self.changes.remove(id).ok_or(missing)
    }

    /// Applies a rule to each obligation named; at least one must be named.
    fn each(&mut self, ids: &[Hash], rule: impl Fn(&Self, Change) -> Outcome) -> Outcome {
        if ids.is_empty() {
            return Err(ObligationError::CommandWithoutObligation);
        }
        for id in ids {
            let change = self.take(id)?;
            rule(self, change)?;
        }
        Ok(())
    }

    fn signed_by_obligor(&self, state: &ObligationState) -> Outcome {
        if self.signers.contains(&state.obligor.key) {
            Ok(())
        } else {
            Err(ObligationError::ObligorMustSign)
        }
    }

    fn signed_by_obligee(&self, state: &ObligationState) -> Outcome {
        if self.signers.contains(&state.obligee) {
            Ok(())
        } else {
            Err(ObligationError::ObligeeMustSign)
        }
    }

    fn lifecycle(
        &self,
        change: Change,
        to: bool,
    ) -> Result<(ObligationState, ObligationState), ObligationError> {
        let (mut before, after) = kept(change)?;
        self.signed_by_obligee(&before)?;
        if before.defaulted == to {
            let text = "an obligation in default is declared so, or one that is not is restored";
            return Err(ObligationError::Change(text));
        }
        before.defaulted = to;
        same(&before, &after, "a default changes more than that")?;
        Ok((before, after))
    }

    /// Returns an obligation and the quantity that it shrinks by. At zero it ends.
    fn shrinks(change: Change) -> Result<(ObligationState, u64), ObligationError> {
        let Change {
            before: Some(before),
            after,
        } = change
        else {
            let text = "a settlement or a netting makes an obligation";
            return Err(ObligationError::Change(text));
        };
        let left = after.as_ref().map_or(0, |after| after.quantity);
        let less = before.quantity.checked_sub(left).filter(|less| *less > 0);
        let text = "a settlement or a netting does not make an obligation smaller";
        let less = less.ok_or(ObligationError::Change(text))?;
        if let Some(after) = after {
            let mut expected = before.clone();
            expected.quantity = left;
            let text = "a settlement or a netting changes more than the quantity";
            same(&expected, &after, text)?;
        }
        Ok((before, less))
    }

    fn net(&mut self, ids: &[Hash]) -> Outcome {
        // For each key, the reduction of its debts and of its claims.
        let mut balance: BTreeMap<PublicKey, (u64, u64)> = BTreeMap::new();
        let add = |sum: &mut u64, more: u64| {
            *sum = sum.checked_add(more).ok_or(ObligationError::Overflow)?;
            Ok(())
        };
        let mut terms: Option<ObligationState> = None;
        if ids.is_empty() {
            return Err(ObligationError::CommandWithoutObligation);
        }
        for id in ids {
            let change = self.take(id)?;
            let (before, less) = Self::shrinks(change)?;
            if before.defaulted {
                return Err(ObligationError::InDefault);
            }
            self.signed_by_obligor(&before)?;
            self.signed_by_obligee(&before)?;
            let debtor = balance.entry(before.obligor.key.clone()).or_default();
            add(&mut debtor.0, less)?;
            let creditor = balance.entry(before.obligee.clone()).or_default();
            add(&mut creditor.1, less)?;
            match &terms {
                Some(terms) if !terms.is_of_the_terms_of(&before) => {
                    return Err(ObligationError::TermsDiffer);
                }
                Some(_) => {}
                None => terms = Some(before),
            }
        }
        if balance.values().any(|(debts, claims)| debts != claims) {
            return Err(ObligationError::NetChanged);
        }
        Ok(())
    }

    fn settle(&mut self, payments: &[SettlementPayment], settled: &mut Vec<Due>) -> Outcome {
        let mut by_id: BTreeMap<Hash, Vec<&SettlementPayment>> = BTreeMap::new();
        for payment in payments {
            by_id.entry(payment.obligation).or_default().push(payment);
        }
        if by_id.is_empty() {
            return Err(ObligationError::CommandWithoutObligation);
        }
        for (id, payments) in by_id {
            let change = self.take(&id)?;
            let (before, less) = Self::shrinks(change)?;
            self.signed_by_obligor(&before)?;
            let mut sum = 0u64;
            for payment in payments {
                if !before.accepts(&payment.token) {
                    return Err(ObligationError::TokenNotAccepted);
                }
                let more = sum.checked_add(payment.quantity);
                sum = more.ok_or(ObligationError::Overflow)?;
                settled.push((before.obligee.clone(), payment.token, payment.quantity));
            }
            if sum != less {
                let text = "a settlement's payments differ from the reduction of its obligation";
                return Err(ObligationError::Change(text));
            }
        }
        Ok(())
    }
}

fn only_made(change: Change) -> Result<ObligationState, ObligationError> {
    match change {
        Change {
            before: None,
            after: Some(made),
        } => Ok(made),
        _ => Err(ObligationError::Change("an issue consumes obligations")),
    }
}

fn kept(change: Change) -> Result<(ObligationState, ObligationState), ObligationError> {
    let (Some(before), Some(after)) = (change.before, change.after) else {
        let text = "a command that keeps obligations makes one or lets one go";
        return Err(ObligationError::Change(text));
    };
    Ok((before, after))
}

fn same(expected: &ObligationState, found: &ObligationState, text: &'static str) -> Outcome {
    if expected == found {
        Ok(())
    } else {
        Err(ObligationError::Change(text))
    }
}

/// Checks that each obligee gains the settled quantities, in a transaction where no other contract may count the same cash.
fn check_payment(tx: &LedgerTransaction, settled: Vec<Due>) -> Outcome {
    if settled.is_empty() {
        return Ok(());
    }
    let ours = |name: &&ContractName| *name == obligation_name() || *name == cash_name();
    if let Some(other) = tx.contracts().find(|name| !ours(name)) {
        return Err(ObligationError::NotAlone(other.to_string()));
    }
    let add = |sum: &mut u64, more: u64| {
        *sum = sum.checked_add(more).ok_or(ObligationError::Overflow)?;
        Ok(())
    };
    // By obligee and token: the quantity due, then the cash that the obligee gets and gives.
    let mut dues: BTreeMap<(PublicKey, TokenId), (u64, u64, u64)> = BTreeMap::new();
    for (obligee, token, quantity) in settled {
        add(&mut dues.entry((obligee, token)).or_default().0, quantity)?;
    }
    let cash = |data: &[u8]| {
        let cash = CashState::from_bytes(data).map_err(ObligationError::State)?;
        Ok(((cash.owner, cash.token.id()), cash.quantity))
    };
    // Cash that another state encumbers cannot be spent freely, so it does not count as payment.
    let free = tx.outputs_of(cash_name());
    for output in free.filter(|output| output.encumbrance.is_none()) {
        let (key, quantity) = cash(&output.data)?;
        if let Some((_, gets, _)) = dues.get_mut(&key) {
            add(gets, quantity)?;
        }
    }
    for input in tx.inputs_of(cash_name()) {
        let (key, quantity) = cash(&input.state.data)?;
        if let Some((_, _, gives)) = dues.get_mut(&key) {
            add(gives, quantity)?;
        }
    }
    for (due, gets, gives) in dues.into_values() {
        // A payee who gives more cash than it gets was paid nothing.
        let paid = gets.saturating_sub(gives);
        if paid < due {
            return Err(ObligationError::NotPaid { due, paid });
        }
    }
    Ok(())
}
