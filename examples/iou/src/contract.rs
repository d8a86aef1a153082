//! The contract: the permitted operations on an IOU.

use std::sync::{Arc, OnceLock};

use finance::{CashState, IssuedToken, cash_name};
use ledger::{
    ColumnKind, ColumnSpec, ColumnValue, CommandFacts, Constraint, Contract, ContractName,
    ContractRegistry, ContractRejection, LedgerTransaction, Scheduled, StateFacts,
    TransactionState,
};
use primitives::{Decode, DecodeError, Hash, PublicKey};

use crate::Iou;

/// The flow that settles an IOU on its due date.
pub const SETTLE_DUE: &str = "iou.settle_due";

/// The operation of a transaction on IOUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IouCommand {
    /// Makes an IOU; borrower and lender sign.
    Issue,
    /// Pays some or all of an IOU; the borrower signs.
    Settle,
}

primitives::variants!(IouCommand { 0 => Issue, 1 => Settle });

/// The contract's name.
pub fn iou_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new("example.iou").expect("a constant that is a valid name"))
}

/// Returns the identity of the contract's code in a transaction, and the constraint of new states.
pub fn iou_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(IouContract))
            .expect("the only contract of a new registry");
        registry.current(iou_name()).expect("just registered")
    })
}

/// The contract, version 1.
#[derive(Clone, Copy, Debug)]
pub struct IouContract;

impl Contract for IouContract {
    fn name(&self) -> &str {
        iou_name().as_str()
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        only_iou_and_cash(tx)?;
        let consumed = tx.inputs_of(iou_name()).map(|input| read(&input.state));
        let consumed = consumed.collect::<Result<Vec<Iou>, _>>()?;
        let made = tx.outputs_of(iou_name()).map(read);
        let made = made.collect::<Result<Vec<Iou>, _>>()?;
        let mut commands = tx.commands_of(iou_name());
        let (Some(command), None) = (commands.next(), commands.next()) else {
            return reject("iou.one_command", "there is not exactly one IOU command");
        };
        let value = IouCommand::from_bytes(&command.value)
            .map_err(|error| ContractRejection::new("iou.command_malformed", error.to_string()))?;
        match (value, consumed.as_slice(), made.as_slice()) {
            (IouCommand::Issue, [], [iou]) => issue(iou, &command.signers),
            (IouCommand::Settle, [old], rest @ ([] | [_])) => {
                settle(tx, old, rest.first(), &command.signers)
            }
            _ => reject("iou.one_at_a_time", "a transaction is about one IOU"),
        }
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let iou = Iou::from_bytes(data)?;
        Ok(StateFacts {
            participants: vec![iou.lender.key, iou.borrower.key],
            linear_id: Some(iou.id),
            scheduled: iou.due.map(|at| Scheduled {
                at,
                flow: SETTLE_DUE.to_owned(),
            }),
            columns: vec![
                ("borrower", ColumnValue::Text(iou.borrower.name.to_string())),
                ("owed", ColumnValue::Number(iou.quantity)),
            ],
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        let name = match IouCommand::from_bytes(value)? {
            IouCommand::Issue => "issue",
            IouCommand::Settle => "settle",
        };
        Ok(Some(CommandFacts::new(name)))
    }

    fn columns(&self) -> &[ColumnSpec] {
        &[
            ColumnSpec {
                name: "borrower",
                kind: ColumnKind::Text,
            },
            ColumnSpec {
                name: "owed",
                kind: ColumnKind::Number,
            },
        ]
    }
}

fn issue(iou: &Iou, signers: &[PublicKey]) -> Result<(), ContractRejection> {
    if iou.quantity == 0 {
        return reject("iou.amount_zero", "an IOU over nothing");
    }
    if iou.lender == iou.borrower {
        return reject("iou.owed_to_oneself", "lender and borrower are the same");
    }
    signed_by(signers, &iou.borrower.key)?;
    signed_by(signers, &iou.lender.key)
}

/// Checks a settlement. `rest` is the remaining debt, if any.
fn settle(
    tx: &LedgerTransaction,
    old: &Iou,
    rest: Option<&Iou>,
    signers: &[PublicKey],
) -> Result<(), ContractRejection> {
    let left = rest.map_or(0, |iou| iou.quantity);
    if rest.is_some_and(|new| {
        Iou {
            quantity: old.quantity,
            ..new.clone()
        } != *old
    }) {
        return reject("iou.terms_changed", "settling changes the amount alone");
    }
    if rest.is_some() && left == 0 {
        return reject("iou.amount_zero", "an IOU over nothing");
    }
    let settled = old.quantity.checked_sub(left).filter(|paid| *paid > 0);
    if settled.is_none() || settled != received(tx, &old.token, &old.lender.key)? {
        return reject("iou.not_paid", "the lender does not get what is settled");
    }
    signed_by(signers, &old.borrower.key)
}

/// Returns the increase of an owner's cash in a transaction, if it does not decrease.
fn received(
    tx: &LedgerTransaction,
    token: &IssuedToken,
    owner: &PublicKey,
) -> Result<Option<u64>, ContractRejection> {
    let inputs = tx.inputs_of(cash_name()).map(|input| &input.state);
    let before = cash_of(inputs, token, owner)?;
    // Encumbered cash is not free to be spent, so it settles nothing.
    let free = tx.outputs_of(cash_name());
    let free = free.filter(|output| output.encumbrance.is_none());
    let after = cash_of(free, token, owner)?;
    Ok(after.checked_sub(before))
}

fn cash_of<'a>(
    states: impl Iterator<Item = &'a TransactionState>,
    token: &IssuedToken,
    owner: &PublicKey,
) -> Result<u64, ContractRejection> {
    let mut sum = 0u64;
    for state in states {
        let cash = CashState::from_bytes(&state.data)
            .map_err(|error| ContractRejection::new("iou.cash_malformed", error.to_string()))?;
        if cash.token == *token && cash.owner == *owner {
            let Some(more) = sum.checked_add(cash.quantity) else {
                return reject("iou.overflow", "more cash than can be counted");
            };
            sum = more;
        }
    }
    Ok(sum)
}

/// Cash that settles an IOU must not settle something of another contract as well.
fn only_iou_and_cash(tx: &LedgerTransaction) -> Result<(), ContractRejection> {
    let inputs = tx.inputs.iter().map(|input| &input.state);
    let mut contracts = inputs.chain(&tx.outputs).map(|state| &state.contract);
    if contracts.all(|name| name == iou_name() || name == cash_name()) {
        Ok(())
    } else {
        reject("iou.mixed", "states of other contracts take part")
    }
}

fn read(state: &TransactionState) -> Result<Iou, ContractRejection> {
    Iou::from_bytes(&state.data)
        .map_err(|error| ContractRejection::new("iou.state_malformed", error.to_string()))
}

fn signed_by(signers: &[PublicKey], key: &PublicKey) -> Result<(), ContractRejection> {
    if signers.contains(key) {
        Ok(())
    } else {
        reject("iou.signer_missing", "borrower or lender does not sign")
    }
}

fn reject<T>(code: &str, message: &str) -> Result<T, ContractRejection> {
    Err(ContractRejection::new(code, message))
}
