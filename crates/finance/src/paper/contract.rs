//! The commercial paper contract.
//!
//! Papers are grouped by their terms, which are all fields except the owner. A group is issued (only made), moved (as many made
//! as consumed) or redeemed (only consumed). A redemption must pay each owner the face values in the cash that the papers name.
//! The payment is the owner's net gain of cash over the whole transaction. An issuer redeems its own paper without cash.
//!
//! # Correctness
//! The same cash must not pay twice. The payments counted by other contracts are unknown here, so papers are redeemed for cash
//! only in transactions that hold nothing but papers and cash.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ledger::{
    ColumnKind, ColumnSpec, ColumnValue, CommandFacts, Contract, ContractName, ContractRejection,
    LedgerTransaction, StateFacts,
};
use primitives::{Decode, DecodeError, Encode, PublicKey};

use super::{PaperCommand, PaperError, PaperState};
use crate::{CashState, cash_name};

/// The name of the commercial paper contract.
pub const PAPER_NAME: &str = "tally.paper";

/// Returns the contract's checked name.
pub fn paper_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new(PAPER_NAME).expect("a constant that is a valid name"))
}

/// The commercial paper contract, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct PaperContract;

impl Contract for PaperContract {
    fn name(&self) -> &str {
        PAPER_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        let mut groups: BTreeMap<Vec<u8>, Group> = BTreeMap::new();
        for input in tx.inputs_of(paper_name()) {
            let paper = read(&input.state.data)?;
            groups
                .entry(paper.terms())
                .or_default()
                .consumed
                .push(paper);
        }
        for output in tx.outputs_of(paper_name()) {
            let paper = read(&output.data)?;
            groups.entry(paper.terms()).or_default().made.push(paper);
        }
        Ok(check(tx, &Orders::read(tx)?, groups.values())?)
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let paper = PaperState::from_bytes(data)?;
        let mut participants = vec![paper.owner.clone()];
        if paper.issuer.key != paper.owner {
            participants.push(paper.issuer.key);
        }
        Ok(StateFacts {
            participants,
            owner: Some(paper.owner),
            columns: vec![
                ("face", ColumnValue::Number(paper.face)),
                ("issuer", ColumnValue::Text(paper.issuer.name.to_string())),
                ("maturity", ColumnValue::Number(paper.maturity.as_ms())),
            ],
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        let name = match PaperCommand::from_bytes(value)? {
            PaperCommand::Issue => "issue",
            PaperCommand::Move => "move",
            PaperCommand::Redeem => "redeem",
        };
        Ok(Some(CommandFacts::new(name)))
    }

    fn columns(&self) -> &[ColumnSpec] {
        &[
            ColumnSpec {
                name: "face",
                kind: ColumnKind::Number,
            },
            ColumnSpec {
                name: "issuer",
                kind: ColumnKind::Text,
            },
            ColumnSpec {
                name: "maturity",
                kind: ColumnKind::Number,
            },
        ]
    }
}

fn read(data: &[u8]) -> Result<PaperState, PaperError> {
    PaperState::from_bytes(data).map_err(PaperError::State)
}

/// The papers of the same terms.
#[derive(Default)]
struct Group {
    consumed: Vec<PaperState>,
    made: Vec<PaperState>,
}

/// The signers of each command.
#[derive(Default)]
struct Orders<'a> {
    issue: Option<&'a [PublicKey]>,
    moved: Option<&'a [PublicKey]>,
    redeem: Option<&'a [PublicKey]>,
}

impl<'a> Orders<'a> {
    fn read(tx: &'a LedgerTransaction) -> Result<Self, PaperError> {
        let mut orders = Self::default();
        for command in tx.commands_of(paper_name()) {
            let value = PaperCommand::from_bytes(&command.value).map_err(PaperError::Command)?;
            let order = match value {
                PaperCommand::Issue => &mut orders.issue,
                PaperCommand::Move => &mut orders.moved,
                PaperCommand::Redeem => &mut orders.redeem,
            };
            if order.replace(&command.signers).is_some() {
                return Err(PaperError::CommandRepeated);
            }
        }
        Ok(orders)
    }
}

fn check<'a>(
    tx: &LedgerTransaction,
    orders: &Orders<'_>,
    groups: impl Iterator<Item = &'a Group>,
) -> Result<(), PaperError> {
    let (mut issued, mut moved) = (false, false);
    let mut redeemed: Vec<&PaperState> = Vec::new();
    for Group { consumed, made } in groups {
        let unexplained = PaperError::NotConserved {
            consumed: consumed.len() as u64,
            made: made.len() as u64,
        };
        let owners_sign = |signers: &[PublicKey]| {
            if consumed.iter().all(|paper| signers.contains(&paper.owner)) {
                Ok(())
            } else {
                Err(PaperError::OwnerMustSign)
            }
        };
        match (consumed.first(), made.first()) {
            (None, Some(paper)) => {
                issued = true;
                check_issue(tx, paper, orders.issue.ok_or(unexplained)?)?;
            }
            (Some(paper), None) => {
                owners_sign(orders.redeem.ok_or(unexplained)?)?;
                let start = tx.time_window.and_then(|window| window.start());
                if start.is_none_or(|start| start < paper.maturity) {
                    return Err(PaperError::NotMature);
                }
                redeemed.extend(consumed);
            }
            _ if consumed.len() == made.len() => {
                moved = true;
                // Without a move, no owner has signed.
                owners_sign(orders.moved.unwrap_or_default())?;
            }
            _ => return Err(unexplained),
        }
    }
    let idle = (orders.issue.is_some() && !issued)
        || (orders.moved.is_some() && !moved)
        || (orders.redeem.is_some() && redeemed.is_empty());
    if idle {
        return Err(PaperError::CommandWithoutPaper);
    }
    check_payment(tx, &redeemed)
}

fn check_issue(
    tx: &LedgerTransaction,
    paper: &PaperState,
    signers: &[PublicKey],
) -> Result<(), PaperError> {
    if !signers.contains(&paper.issuer.key) {
        return Err(PaperError::IssuerMustSign);
    }
    let end = tx.time_window.and_then(|window| window.end());
    if end.is_none_or(|end| end > paper.maturity) {
        return Err(PaperError::IssuedAfterMaturity);
    }
    Ok(())
}

/// Checks that each owner gains the face values of the papers that it redeems.
fn check_payment(tx: &LedgerTransaction, redeemed: &[&PaperState]) -> Result<(), PaperError> {
    let add = |sum: u64, more: u64| sum.checked_add(more).ok_or(PaperError::Overflow);
    // By owner and encoded token: the face values, then the cash that the owner gets and gives.
    let mut dues: BTreeMap<(PublicKey, Vec<u8>), (u64, u64, u64)> = BTreeMap::new();
    for paper in redeemed {
        if paper.owner != paper.issuer.key {
            let entry = dues.entry((paper.owner.clone(), paper.token.to_bytes()));
            let (due, ..) = entry.or_default();
            *due = add(*due, paper.face)?;
        }
    }
    if dues.is_empty() {
        return Ok(());
    }
    let ours = |name: &&ContractName| *name == paper_name() || *name == cash_name();
    if let Some(other) = tx.contracts().find(|name| !ours(name)) {
        return Err(PaperError::NotAlone(other.to_string()));
    }
    let cash = |data: &[u8]| {
        let cash = CashState::from_bytes(data).map_err(PaperError::State)?;
        Ok(((cash.owner, cash.token.to_bytes()), cash.quantity))
    };
    // Cash that another state encumbers cannot be spent freely, so it does not count as payment.
    let free = tx.outputs_of(cash_name());
    for output in free.filter(|output| output.encumbrance.is_none()) {
        let (key, quantity) = cash(&output.data)?;
        if let Some((_, gets, _)) = dues.get_mut(&key) {
            *gets = add(*gets, quantity)?;
        }
    }
    for input in tx.inputs_of(cash_name()) {
        let (key, quantity) = cash(&input.state.data)?;
        if let Some((_, _, gives)) = dues.get_mut(&key) {
            *gives = add(*gives, quantity)?;
        }
    }
    for (due, gets, gives) in dues.into_values() {
        // A payee who gives more cash than it gets was paid nothing.
        let paid = gets.saturating_sub(gives);
        if paid < due {
            return Err(PaperError::NotPaid { due, paid });
        }
    }
    Ok(())
}
