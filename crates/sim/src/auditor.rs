//! Predicts the results of a simulation, and checks them: when something leaves a node, and at the end.
//!
//! - Everything acknowledged is already durable at the node that acknowledges it.
//! - Every flow ends once, as predicted, and no other flow's transactions exist.
//! - No state is consumed twice, and the notary knows each consumption.
//! - Every vault holds the states that the flows' arguments imply, so value is conserved.
//! - Each participant of a transaction has the files that it lists.
//! - At the end nothing is left to do: no journal, no message, no delivery.

use std::collections::BTreeSet;
use std::fmt;

use kernel::message::PeerMessage;
use kernel::port::Table;
use kernel::rows::state_ref_key;
use kernel::{Reply, Wait};
use ledger::{SignedTransaction, TxId};
use primitives::{Decode, PublicKey};

use crate::clients::{Client, Clients};
use crate::disk::Tables;
use crate::membership::{Membership, NODES, NOTARY, SHORT};
use crate::node::Node;
use crate::planned_flow::Effect;

/// A rule that a run broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Maximum number of violations listed. More than these add no information.
const VIOLATIONS_MAX: usize = 20;

/// Collects violations, and holds the facts that predictions need.
#[derive(Default)]
pub struct Auditor {
    pub violations: Vec<Violation>,
    /// Transactions that consume states which never existed.
    pub(crate) invented: BTreeSet<TxId>,
    /// Whether an adversary sends transactions that must be refused.
    pub(crate) refusals_expected: bool,
}

pub fn has(tables: &Tables, id: &TxId) -> bool {
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

    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.found(otherwise());
        }
    }

    /// Checks that everything an answer to a client promises is durable now.
    pub fn on_reply(
        &mut self,
        membership: &Membership,
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
                        self.check_delivered(membership, nodes, client, id);
                    }
                }
            }
            _ => {}
        }
    }

    fn check_delivered(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        client: &Client,
        id: &TxId,
    ) {
        let here = nodes[client.plan.node].disk.durable();
        let Some(signed) = transaction(here, id) else {
            return;
        };
        for owner in owners(membership, nodes, &signed) {
            self.expect(has(nodes[owner].disk.durable(), id), || {
                format!(
                    "{}: told delivered, but {} lacks {id}",
                    client.client_id, SHORT[owner]
                )
            });
        }
    }

    /// Checks a message when it leaves a node.
    pub fn on_send(&mut self, membership: &Membership, nodes: &[Node], from: usize, bytes: &[u8]) {
        match PeerMessage::from_bytes(bytes) {
            Ok(PeerMessage::Delivered { ids }) => {
                for id in &ids {
                    self.expect(has(nodes[from].disk.durable(), id), || {
                        format!(
                            "{} says it has {id}, which is not durable there",
                            SHORT[from]
                        )
                    });
                    if let Some(signed) = transaction(nodes[from].disk.durable(), id) {
                        self.check_files_of(membership, nodes, from, &signed);
                    }
                }
            }
            Ok(PeerMessage::Refused { .. }) if self.refusals_expected => {}
            Ok(PeerMessage::Refused { id, rejection }) => {
                self.found(format!("{} refuses {id}: {rejection}", SHORT[from]));
            }
            Ok(_) => {}
            Err(error) => self.found(format!("{} sends nonsense: {error}", SHORT[from])),
        }
    }

    /// Checks a transaction that is fed to a view: it is durable, and the notary has durably recorded each state that it
    /// consumes.
    pub fn on_view(&mut self, membership: &Membership, nodes: &[Node], node: usize, id: &TxId) {
        let durable = nodes[node].disk.durable();
        let Some(signed) = transaction(durable, id) else {
            return self.found(format!(
                "{} shows {id}, which is not durable there",
                SHORT[node]
            ));
        };
        if signed.wire().needs_notary() {
            self.check_notarised(membership, nodes, &signed);
        }
    }

    pub fn check_notarised(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        signed: &SignedTransaction,
    ) {
        let id = signed.id();
        let notary = nodes[notary_of(membership, signed)].disk.durable();
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

    /// Returns the balance of each node by token, predicted from the flows that have ended well, and from the first transactions of
    /// those that failed afterwards and were started again.
    pub fn predicted(clients: &Clients, tokens: usize) -> Vec<[i64; NODES]> {
        let mut held = vec![[0; NODES]; tokens];
        for client in &clients.all {
            let ended_well = client.outcome.as_ref().is_some_and(|o| o.result.is_ok());
            let stayed = client.stayed.iter().flat_map(|_| &client.plan.stays);
            let moved = match &client.plan.effect {
                Effect::Cash { moves, .. } if ended_well => moves.as_slice(),
                _ => &[],
            };
            for change in stayed.chain(moved) {
                held[change.token][change.node] += change.by;
            }
        }
        held
    }
}

/// Returns the nodes that own an output of a transaction.
pub fn owners(
    membership: &Membership,
    nodes: &[Node],
    signed: &SignedTransaction,
) -> BTreeSet<usize> {
    let outputs = signed.wire().outputs().iter();
    let owners = outputs.filter_map(|state| membership.contracts().describe(state).ok()?.owner);
    owners
        .filter_map(|key| holder(membership, nodes, &key))
        .collect()
}

/// Returns the node that must have notarised a transaction.
pub fn notary_of(membership: &Membership, signed: &SignedTransaction) -> usize {
    let notary = signed.wire().notary().map(ledger::Party::id);
    let notary = notary.and_then(|notary| membership.node_of(&notary));
    // Without a notary of the network, the main one is asked, which has not signed it.
    notary.unwrap_or(NOTARY)
}

/// Returns the node that owns a key, which is its identity key or one of its fresh keys.
pub fn holder(membership: &Membership, nodes: &[Node], key: &PublicKey) -> Option<usize> {
    let own = |node: usize| {
        let fresh = || kernel::is_own_key(key, nodes[node].disk.durable());
        membership.parties[node].key == *key || fresh().expect("tables in memory")
    };
    (0..NODES).find(|node| own(*node))
}
