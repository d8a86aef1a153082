//! The cash contract.
//!
//! Cash is grouped by its token (issuer, reference, currency). In each group, consumed plus issued equals made plus
//! exited, in checked arithmetic. A transaction may hold any number of groups, cash of several currencies and states of
//! other contracts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ledger::{
    CommandFacts, Contract, ContractName, ContractRejection, Fungible, LedgerTransaction,
    StateFacts, TokenId,
};
use primitives::{Decode, DecodeError, PublicKey};

use crate::cash_state::{CASH_NAME, CashParts, token_id};
use crate::{CashCommand, CashError, IssuedToken};

/// Returns the cash contract's checked name.
pub fn cash_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new(CASH_NAME).expect("a constant that is a valid name"))
}

/// The cash contract, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct CashContract;

impl Contract for CashContract {
    fn name(&self) -> &str {
        CASH_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        let mut books = Books::default();
        for input in tx.inputs_of(cash_name()) {
            books.add_input(&input.state.data)?;
        }
        for output in tx.outputs_of(cash_name()) {
            books.add_output(&output.data)?;
        }
        let orders = Orders::read(tx)?;
        books.check(orders)
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let parts = CashParts::read(data)?;
        let token = IssuedToken::from_bytes(parts.token)?;
        Ok(StateFacts {
            participants: vec![parts.owner.clone()],
            owner: Some(parts.owner),
            fungible: Some(Fungible {
                token: token_id(parts.token),
                symbol: token.currency.to_string(),
                issuer: token.issuer,
                quantity: parts.quantity,
            }),
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        Ok(Some(match CashCommand::from_bytes(value)? {
            CashCommand::Issue { token, quantity } => CommandFacts::new("issue")
                .field("token", token)
                .field("quantity", quantity),
            CashCommand::Move => CommandFacts::new("move"),
            CashCommand::Exit { token, quantity } => CommandFacts::new("exit")
                .field("token", token)
                .field("quantity", quantity),
        }))
    }
}

fn reject(error: CashError) -> ContractRejection {
    error.into()
}

/// The consumed and made totals of each token, by its encoding.
#[derive(Default)]
struct Books<'a> {
    groups: BTreeMap<&'a [u8], Totals>,
}

/// The consumed and made totals of one token.
#[derive(Default)]
struct Totals {
    consumed: u64,
    made: u64,
    owners: BTreeSet<PublicKey>,
}

impl<'a> Books<'a> {
    fn add_input(&mut self, data: &'a [u8]) -> Result<(), ContractRejection> {
        let parts = CashParts::read(data).map_err(|error| reject(CashError::State(error)))?;
        let totals = self.groups.entry(parts.token).or_default();
        totals.consumed = add(totals.consumed, parts.quantity)?;
        totals.owners.insert(parts.owner);
        Ok(())
    }

    fn add_output(&mut self, data: &'a [u8]) -> Result<(), ContractRejection> {
        let parts = CashParts::read(data).map_err(|error| reject(CashError::State(error)))?;
        let totals = self.groups.entry(parts.token).or_default();
        totals.made = add(totals.made, parts.quantity)?;
        Ok(())
    }

    fn check(self, mut orders: Orders<'_>) -> Result<(), ContractRejection> {
        if orders.movers.is_some() && self.groups.values().all(|totals| totals.consumed == 0) {
            return Err(reject(CashError::CommandWithoutCash));
        }
        for (encoded, totals) in self.groups {
            let token = IssuedToken::from_bytes(encoded)
                .map_err(|error| reject(CashError::State(error)))?;
            // If no token is issued or exited, no group needs its id.
            let order = if orders.by_token.is_empty() {
                None
            } else {
                orders.by_token.remove(&token_id(encoded))
            };
            check_group(&token, &totals, order.as_ref(), orders.movers)?;
        }
        if orders.by_token.is_empty() {
            Ok(())
        } else {
            Err(reject(CashError::CommandWithoutCash))
        }
    }
}

fn add(a: u64, b: u64) -> Result<u64, ContractRejection> {
    a.checked_add(b).ok_or_else(|| reject(CashError::Overflow))
}

/// An issue or exit of a token: the quantity and the signers.
enum Order<'a> {
    Issue(u64, &'a [PublicKey]),
    Exit(u64, &'a [PublicKey]),
}

/// The commands to the contract.
#[derive(Default)]
struct Orders<'a> {
    movers: Option<&'a [PublicKey]>,
    by_token: BTreeMap<TokenId, Order<'a>>,
}

impl<'a> Orders<'a> {
    fn read(tx: &'a LedgerTransaction) -> Result<Self, ContractRejection> {
        let mut orders = Self::default();
        for command in tx.commands_of(cash_name()) {
            let signers = command.signers.as_slice();
            let value = CashCommand::from_bytes(&command.value)
                .map_err(|error| reject(CashError::Command(error)))?;
            let repeated = match value {
                CashCommand::Move => orders.movers.replace(signers).is_some(),
                CashCommand::Issue { token, quantity } => {
                    orders.add(token, quantity, Order::Issue(quantity, signers))?
                }
                CashCommand::Exit { token, quantity } => {
                    orders.add(token, quantity, Order::Exit(quantity, signers))?
                }
            };
            if repeated {
                return Err(reject(CashError::CommandRepeated));
            }
        }
        Ok(orders)
    }

    fn add(
        &mut self,
        token: TokenId,
        quantity: u64,
        order: Order<'a>,
    ) -> Result<bool, ContractRejection> {
        if quantity == 0 {
            return Err(reject(CashError::ZeroAmount));
        }
        Ok(self.by_token.insert(token, order).is_some())
    }
}

fn check_group(
    token: &IssuedToken,
    totals: &Totals,
    order: Option<&Order<'_>>,
    movers: Option<&[PublicKey]>,
) -> Result<(), ContractRejection> {
    let issuer = &token.issuer.key;
    let (issued, exited) = match order {
        Some(Order::Issue(quantity, signers)) => {
            if !signers.contains(issuer) {
                return Err(reject(CashError::IssuerMustSign));
            }
            (*quantity, 0)
        }
        Some(Order::Exit(quantity, signers)) => {
            if !signers.contains(issuer) {
                return Err(reject(CashError::IssuerMustSign));
            }
            (0, *quantity)
        }
        None => (0, 0),
    };
    if add(totals.consumed, issued)? != add(totals.made, exited)? {
        return Err(reject(CashError::NotConserved {
            currency: token.currency,
            consumed: totals.consumed,
            issued,
            made: totals.made,
            exited,
        }));
    }
    let signers = match order {
        Some(Order::Exit(_, signers)) => signers,
        // Without a move, no owner has signed.
        _ => movers.unwrap_or_default(),
    };
    if totals.owners.iter().any(|owner| !signers.contains(owner)) {
        return Err(reject(CashError::OwnerMustSign));
    }
    Ok(())
}
