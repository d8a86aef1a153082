//! The stock contract.
//!
//! Stock is grouped by its token (issuer and symbol). In each group, consumed plus issued equals made plus exited, in checked
//! arithmetic. A transaction may hold any number of stocks, and states of other contracts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ledger::{
    CommandFacts, Contract, ContractName, ContractRejection, Fungible, LedgerTransaction,
    StateFacts, TokenId,
};
use primitives::{Decode, DecodeError, PublicKey};

use super::state::{STOCK_NAME, StockParts, token_id};
use super::{StockCommand, StockError, StockToken};

/// Returns the stock contract's checked name.
pub fn stock_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new(STOCK_NAME).expect("a constant that is a valid name"))
}

/// The stock contract, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct StockContract;

impl Contract for StockContract {
    fn name(&self) -> &str {
        STOCK_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        let mut groups: BTreeMap<&[u8], Totals> = BTreeMap::new();
        for input in tx.inputs_of(stock_name()) {
            let parts = StockParts::read(&input.state.data).map_err(StockError::State)?;
            let totals = groups.entry(parts.token).or_default();
            totals.consumed = add(totals.consumed, parts.quantity)?;
            totals.owners.insert(parts.owner);
        }
        for output in tx.outputs_of(stock_name()) {
            let parts = StockParts::read(&output.data).map_err(StockError::State)?;
            let totals = groups.entry(parts.token).or_default();
            totals.made = add(totals.made, parts.quantity)?;
        }
        let mut orders = Orders::read(tx)?;
        if orders.movers.is_some() && groups.values().all(|totals| totals.consumed == 0) {
            return Err(StockError::CommandWithoutStock.into());
        }
        for (encoded, totals) in groups {
            let token = StockToken::from_bytes(encoded).map_err(StockError::State)?;
            let order = match orders.by_token.is_empty() {
                true => None,
                false => orders.by_token.remove(&token_id(encoded)),
            };
            totals.check(&token, order, orders.movers)?;
        }
        match orders.by_token.is_empty() {
            true => Ok(()),
            false => Err(StockError::CommandWithoutStock.into()),
        }
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let parts = StockParts::read(data)?;
        let token = StockToken::from_bytes(parts.token)?;
        Ok(StateFacts {
            participants: vec![parts.owner.clone()],
            owner: Some(parts.owner),
            fungible: Some(Fungible {
                token: token_id(parts.token),
                symbol: token.symbol.to_string(),
                issuer: token.issuer,
                quantity: parts.quantity,
            }),
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        Ok(Some(match StockCommand::from_bytes(value)? {
            StockCommand::Issue { token, quantity } => CommandFacts::new("issue")
                .field("token", token)
                .field("quantity", quantity),
            StockCommand::Move => CommandFacts::new("move"),
            StockCommand::Exit { token, quantity } => CommandFacts::new("exit")
                .field("token", token)
                .field("quantity", quantity),
        }))
    }
}

fn add(a: u64, b: u64) -> Result<u64, StockError> {
    a.checked_add(b).ok_or(StockError::Overflow)
}

/// An issue or exit of a token: the quantity and the signers.
#[derive(Clone, Copy)]
struct Order<'a> {
    issues: bool,
    quantity: u64,
    signers: &'a [PublicKey],
}

/// The commands to the contract.
#[derive(Default)]
struct Orders<'a> {
    movers: Option<&'a [PublicKey]>,
    by_token: BTreeMap<TokenId, Order<'a>>,
}

impl<'a> Orders<'a> {
    fn read(tx: &'a LedgerTransaction) -> Result<Self, StockError> {
        let mut orders = Self::default();
        for command in tx.commands_of(stock_name()) {
            let signers = command.signers.as_slice();
            let (token, quantity, issues) =
                match StockCommand::from_bytes(&command.value).map_err(StockError::Command)? {
                    StockCommand::Move => {
                        if orders.movers.replace(signers).is_some() {
                            return Err(StockError::CommandRepeated);
                        }
                        continue;
                    }
                    StockCommand::Issue { token, quantity } => (token, quantity, true),
                    StockCommand::Exit { token, quantity } => (token, quantity, false),
                };
            if quantity == 0 {
                return Err(StockError::ZeroQuantity);
            }
            let order = Order {
                issues,
                quantity,
                signers,
            };
            if orders.by_token.insert(token, order).is_some() {
                return Err(StockError::CommandRepeated);
            }
        }
        Ok(orders)
    }
}

/// The consumed and made totals of one token.
#[derive(Default)]
struct Totals {
    consumed: u64,
    made: u64,
    owners: BTreeSet<PublicKey>,
}

impl Totals {
    fn check(
        self,
        token: &StockToken,
        order: Option<Order<'_>>,
        movers: Option<&[PublicKey]>,
    ) -> Result<(), StockError> {
        let unsigned = |order: &Order<'_>| !order.signers.contains(&token.issuer.key);
        if order.as_ref().is_some_and(unsigned) {
            return Err(StockError::IssuerMustSign);
        }
        let (issued, exited) = match order {
            Some(order) if order.issues => (order.quantity, 0),
            Some(order) => (0, order.quantity),
            None => (0, 0),
        };
        if add(self.consumed, issued)? != add(self.made, exited)? {
            return Err(StockError::NotConserved {
                symbol: token.symbol.clone(),
                consumed: self.consumed,
                issued,
                made: self.made,
                exited,
            });
        }
        // A group with an exit needs the owners among the exit's signers; every other group needs them among the move's signers.
        let signers = match order {
            Some(order) if !order.issues => order.signers,
            // Without a move, no owner has signed.
            _ => movers.unwrap_or_default(),
        };
        match self.owners.iter().all(|owner| signers.contains(owner)) {
            true => Ok(()),
            false => Err(StockError::OwnerMustSign),
        }
    }
}
