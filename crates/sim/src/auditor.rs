//! Predicts what must come of a simulation, and checks what does: as it leaves a node, and at the end.
//!
//! - Whatever is acknowledged is durable where it was acknowledged, at that moment.
//! - Every flow ends once, as predicted; its transactions are all there are.
//! - No state is consumed twice, and the notary knows each consumption.
//! - Every vault holds what the flows' arguments say, state by state; so value is conserved.
//! - When all is over nothing is left undone: no journal, no message, no delivery.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use finance::IssuedToken;
use finance::flows::{CashResult, IssueAndPayResult};
use kernel::message::PeerMessage;
use kernel::port::Table;
use kernel::rows::{Outcome, state_ref_key};
use kernel::{Reply, Wait};
use ledger::{SignedTransaction, StateRef, TokenId, TxId};
use primitives::Decode;

use crate::clients::{Client, Clients};
use crate::disk::Tables;
use crate::node::Node;
use crate::plan::{Effect, token_id};
use crate::town::{NODES, NOTARY, SHORT, Town};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Violations listed; after the first few the rest says nothing new.
const VIOLATIONS_MAX: usize = 20;

/// See the module.
#[derive(Default)]
pub struct Auditor {
    pub violations: Vec<Violation>,
}

fn has(tables: &Tables, id: &TxId) -> bool {
    tables
        .rows(Table::TxIndex)
        .contains_key(id.as_bytes().as_slice())
}

fn transaction(tables: &Tables, id: &TxId) -> Option<SignedTransaction> {
    let seq = tables.rows(Table::TxIndex).get(id.as_bytes().as_slice())?;
    let row = tables.rows(Table::Ledger).get(seq)?;
    kernel::decode_row(row)
        .ok()
        .map(|(_, transaction)| transaction)
}

impl Auditor {
    pub fn found(&mut self, what: String) {
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation(what));
        }
    }

    fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.found(otherwise());
        }
    }

    /// A client is answered: what the answer promises has to be durable now.
    pub fn on_reply(
        &mut self,
        town: &Town,
        nodes: &[Node],
        client: &Client,
        wait: Wait,
        reply: &Reply,
    ) {
        let node = client.plan.node;
        let durable = nodes[node].disk.durable();
        match reply {
            Reply::Accepted { flow } => {
                let first = [flow.as_bytes().as_slice(), &[0; 4]].concat();
                let mut rows = durable.rows(Table::Journal).range(first..);
                let journaled = rows
                    .next()
                    .is_some_and(|(key, _)| key.starts_with(flow.as_bytes()));
                let ended = durable.rows(Table::ClientIds).values().any(|row| {
                    kernel::rows::ClientRow::from_bytes(row)
                        .is_ok_and(|row| row.outcome.flow == *flow)
                });
                self.expect(journaled || ended, || {
                    format!("{}: accepted before it was durable", client.client_id)
                });
            }
            Reply::Ended { outcome, .. } => {
                for id in &outcome.transactions {
                    self.expect(has(durable, id), || {
                        format!(
                            "{}: ended before transaction {id} was durable",
                            client.client_id
                        )
                    });
                    if wait == Wait::Delivered {
                        self.check_delivered(town, nodes, client, id);
                    }
                }
            }
            _ => {}
        }
    }

    fn check_delivered(&mut self, town: &Town, nodes: &[Node], client: &Client, id: &TxId) {
        let here = nodes[client.plan.node].disk.durable();
        let Some(signed) = transaction(here, id) else {
            return;
        };
        for owner in owners(town, &signed) {
            self.expect(has(nodes[owner].disk.durable(), id), || {
                format!(
                    "{}: told delivered, but {} lacks {id}",
                    client.client_id, SHORT[owner]
                )
            });
        }
    }

    /// A message leaves a node.
    pub fn on_send(&mut self, nodes: &[Node], from: usize, bytes: &[u8]) {
        match PeerMessage::from_bytes(bytes) {
            Ok(PeerMessage::Delivered { ids }) => {
                for id in &ids {
                    self.expect(has(nodes[from].disk.durable(), id), || {
                        format!(
                            "{} says it has {id}, which is not durable there",
                            SHORT[from]
                        )
                    });
                }
            }
            Ok(PeerMessage::Refused { id, rejection }) => {
                self.found(format!("{} refuses {id}: {rejection}", SHORT[from]));
            }
            Ok(_) => {}
            Err(error) => self.found(format!("{} sends nonsense: {error}", SHORT[from])),
        }
    }

    /// A view is told of a transaction: it is durable, and what it consumes is known to the notary for good.
    pub fn on_view(&mut self, nodes: &[Node], node: usize, id: &TxId) {
        let durable = nodes[node].disk.durable();
        let Some(signed) = transaction(durable, id) else {
            return self.found(format!(
                "{} shows {id}, which is not durable there",
                SHORT[node]
            ));
        };
        if signed.wire().needs_notary() {
            self.check_notarised(nodes, &signed);
        }
    }

    fn check_notarised(&mut self, nodes: &[Node], signed: &SignedTransaction) {
        let id = signed.id();
        let notary = nodes[NOTARY].disk.durable();
        let known = notary
            .rows(Table::NotaryTxs)
            .contains_key(id.as_bytes().as_slice());
        self.expect(known, || {
            format!("{id} is recorded, but the notary does not know it")
        });
        for input in signed.wire().inputs() {
            let consumer = notary.rows(Table::NotaryStates).get(&state_ref_key(input));
            self.expect(consumer.is_some_and(|by| by == id.as_bytes()), || {
                format!("{id} consumed {input}, but the notary has {consumer:?}")
            });
        }
    }

    /// What the flows that have ended say a node must hold, by token.
    pub fn predicted(clients: &Clients, tokens: usize) -> Vec<[i64; NODES]> {
        let mut held = vec![[0; NODES]; tokens];
        for client in &clients.all {
            let ended_well = client.outcome.as_ref().is_some_and(|o| o.result.is_ok());
            if let (true, Effect::Cash { moves, .. }) = (ended_well, &client.plan.effect) {
                for change in moves {
                    held[change.token][change.node] += change.by;
                }
            }
        }
        held
    }

    /// Everything is over.
    pub fn at_the_end(
        &mut self,
        town: &Town,
        nodes: &[Node],
        clients: &Clients,
        tokens: &[IssuedToken],
    ) {
        let recorded = self.check_outcomes(clients);
        let all = self.check_ledgers(town, nodes, &recorded);
        self.check_consumption(nodes, &all);
        self.check_vaults(town, nodes, clients, tokens, &all);
        self.check_nothing_left(nodes);
    }

    /// Every flow ended as predicted; returns all their transactions with where they began.
    fn check_outcomes(&mut self, clients: &Clients) -> BTreeMap<TxId, usize> {
        let mut recorded = BTreeMap::new();
        for client in &clients.all {
            let Some(outcome) = &client.outcome else {
                self.found(format!("{} never ended", client.client_id));
                continue;
            };
            if let Err(wrong) = fits(&client.plan.effect, client.plan.name, outcome) {
                self.found(format!(
                    "{} ({}): {wrong}",
                    client.client_id, client.plan.name
                ));
            }
            for id in &outcome.transactions {
                let before = recorded.insert(*id, client.plan.node);
                self.expect(before.is_none(), || format!("{id} is of two flows"));
            }
        }
        recorded
    }

    /// Every ledger holds what concerns its node and nothing that no flow made.
    fn check_ledgers(
        &mut self,
        town: &Town,
        nodes: &[Node],
        recorded: &BTreeMap<TxId, usize>,
    ) -> BTreeMap<TxId, SignedTransaction> {
        let mut all = BTreeMap::new();
        for (node, short) in SHORT.iter().enumerate() {
            let durable = nodes[node].disk.durable();
            let rows = durable.rows(Table::Ledger).len();
            self.expect(rows == durable.rows(Table::TxIndex).len(), || {
                format!("{short}: ledger and index differ")
            });
            for row in durable.rows(Table::Ledger).values() {
                match kernel::decode_row(row) {
                    Ok((_, signed)) => {
                        let id = signed.id();
                        self.expect(recorded.contains_key(&id), || {
                            format!("{short} recorded {id}, which no flow told of: done twice?")
                        });
                        all.insert(id, signed);
                    }
                    Err(error) => self.found(format!("{short}: a ledger row: {error}")),
                }
            }
        }
        for (id, began_at) in recorded {
            let Some(signed) = all.get(id) else {
                self.found(format!("{id} was acknowledged and is lost"));
                continue;
            };
            for node in owners(town, signed).into_iter().chain([*began_at]) {
                self.expect(has(nodes[node].disk.durable(), id), || {
                    format!("{} lacks {id}, which concerns it", SHORT[node])
                });
            }
        }
        all
    }

    /// Every state is consumed at most once, and the notary knows exactly what is consumed.
    fn check_consumption(&mut self, nodes: &[Node], all: &BTreeMap<TxId, SignedTransaction>) {
        let mut consumer: BTreeMap<StateRef, TxId> = BTreeMap::new();
        let mut notarised = 0;
        for (id, signed) in all {
            for input in signed.wire().inputs() {
                let before = consumer.insert(*input, *id);
                self.expect(before.is_none(), || format!("{input} is consumed twice"));
            }
            if signed.wire().needs_notary() {
                notarised += 1;
                self.check_notarised(nodes, signed);
            }
        }
        let notary = nodes[NOTARY].disk.durable();
        let (states, transactions) = (
            notary.rows(Table::NotaryStates).len(),
            notary.rows(Table::NotaryTxs).len(),
        );
        self.expect((states, transactions) == (consumer.len(), notarised), || {
            format!(
                "the notary knows {states} states and {transactions} transactions; {} and {notarised} there are",
                consumer.len()
            )
        });
    }

    /// Every vault holds what was predicted, and exactly the states that are left.
    fn check_vaults(
        &mut self,
        town: &Town,
        nodes: &[Node],
        clients: &Clients,
        tokens: &[IssuedToken],
        all: &BTreeMap<TxId, SignedTransaction>,
    ) {
        let mut left = unconsumed(town, all);
        let predicted = Self::predicted(clients, tokens.len());
        for (node, short) in SHORT.iter().enumerate() {
            let held: BTreeMap<StateRef, (TokenId, u64)> = nodes[node]
                .view
                .coins()
                .map(|(token, reference, quantity)| (reference, (token, quantity)))
                .collect();
            let expected = std::mem::take(&mut left[node]);
            self.expect(held == expected, || {
                let more = held
                    .keys()
                    .filter(|state| !expected.contains_key(state))
                    .count();
                let less = expected
                    .keys()
                    .filter(|state| !held.contains_key(state))
                    .count();
                format!("{short}: the view has {more} states too many and {less} too few")
            });
            for (token, predicted) in tokens.iter().zip(&predicted) {
                let id = token_id(token);
                let of_token = expected.values().filter(|(token, _)| *token == id);
                let sum: u64 = of_token.map(|(_, quantity)| quantity).sum();
                let predicted = predicted[node];
                self.expect(i64::try_from(sum) == Ok(predicted), || {
                    format!(
                        "{short} holds {sum} {} where {predicted} was predicted",
                        token.currency
                    )
                });
            }
        }
    }

    fn check_nothing_left(&mut self, nodes: &[Node]) {
        for (node, short) in SHORT.iter().enumerate() {
            let left = nodes[node].left();
            self.expect(left.is_empty(), || format!("{short} has left {left:?}"));
        }
    }
}

/// Whether an outcome is the predicted one.
fn fits(effect: &Effect, name: &str, outcome: &Outcome) -> Result<(), String> {
    let bytes = outcome
        .result
        .as_ref()
        .map_err(|rejection| format!("failed: {rejection}"))?;
    let named: BTreeSet<TxId> = match effect {
        Effect::Answer(expected) => {
            let answer = u64::from_bytes(bytes).map_err(|error| error.to_string())?;
            if answer != *expected {
                return Err(format!("answered {answer}, not {expected}"));
            }
            BTreeSet::new()
        }
        Effect::Cash { .. } if name == "cash.issue_and_pay" => {
            let result = IssueAndPayResult::from_bytes(bytes).map_err(|e| e.to_string())?;
            [result.issue, result.payment].into()
        }
        Effect::Cash { .. } => {
            let result = CashResult::from_bytes(bytes).map_err(|e| e.to_string())?;
            [result.transaction].into()
        }
    };
    let recorded: BTreeSet<TxId> = outcome.transactions.iter().copied().collect();
    let expected = match effect {
        Effect::Answer(_) => 0,
        Effect::Cash { transactions, .. } => *transactions,
    };
    if recorded != named || outcome.transactions.len() != expected {
        return Err(format!("recorded {recorded:?}, its result names {named:?}"));
    }
    Ok(())
}

/// The nodes that own an output of a transaction.
fn owners(town: &Town, signed: &SignedTransaction) -> BTreeSet<usize> {
    let outputs = signed.wire().outputs().iter();
    let owners = outputs.filter_map(|state| town.contracts().describe(state).ok()?.owner);
    owners
        .filter_map(|key| town.parties.iter().position(|party| party.key == key))
        .collect()
}

/// What is left of all transactions, by owner.
fn unconsumed(
    town: &Town,
    all: &BTreeMap<TxId, SignedTransaction>,
) -> [BTreeMap<StateRef, (TokenId, u64)>; NODES] {
    let consumed: BTreeSet<&StateRef> = all
        .values()
        .flat_map(|signed| signed.wire().inputs())
        .collect();
    let mut left = [const { BTreeMap::new() }; NODES];
    for (id, signed) in all {
        for (index, state) in (0u32..).zip(signed.wire().outputs()) {
            let reference = StateRef::new(*id, index);
            let Ok(facts) = town.contracts().describe(state) else {
                continue;
            };
            let owner = town
                .parties
                .iter()
                .position(|party| Some(&party.key) == facts.owner.as_ref());
            if let (Some(owner), Some(fungible)) = (owner, facts.fungible)
                && !consumed.contains(&reference)
            {
                left[owner].insert(reference, (fungible.token, fungible.quantity));
            }
        }
    }
    left
}
