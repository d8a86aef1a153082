//! The auditor's checks at the end of a run.

use std::collections::{BTreeMap, BTreeSet};

use finance::IssuedToken;
use finance::flows::{CashResult, IssueAndPayResult, Reissued, StateResult};
use finance::lock::lock_name;
use kernel::port::Table;
use kernel::rows::Outcome;
use ledger::{SignedTransaction, StateRef, TokenId, TxId};
use primitives::Decode;

use crate::adversary::is_caused;
use crate::auditor::{Auditor, has, holder, notary_of, owners};
use crate::clients::Clients;
use crate::membership::{Membership, NODES, SHORT};
use crate::node::Node;
use crate::planned_flow::Effect;
use crate::stories::Steps;

impl Auditor {
    /// Checks everything at the end of a run.
    pub fn at_the_end(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        clients: &Clients,
        tokens: &[IssuedToken],
        loose: &[(IssuedToken, u64)],
    ) {
        let recorded = self.check_outcomes(clients);
        let all = self.check_ledgers(membership, nodes, &recorded, (tokens, loose));
        self.check_loose(membership, nodes, loose, &all);
        self.check_consumption(membership, nodes, &all);
        self.check_vaults(membership, nodes, clients, tokens, &all);
        self.check_nothing_left(nodes);
    }

    /// Checks that every flow ended as predicted. Returns all transactions with the node that started them. Transactions that the
    /// parties of a swap prepare for themselves have no such node.
    fn check_outcomes(&mut self, clients: &Clients) -> BTreeMap<TxId, Option<usize>> {
        let mut recorded = BTreeMap::new();
        for client in &clients.all {
            let stayed = client.stayed.iter().flatten();
            recorded.extend(stayed.map(|id| (*id, Some(client.plan.node))));
            let Some(outcome) = &client.outcome else {
                self.found(format!("{} never ended", client.client_id));
                continue;
            };
            if client.is_killed() {
                let nothing = outcome.transactions.is_empty();
                self.expect(nothing, || {
                    format!("{} was killed too late", client.client_id)
                });
                continue;
            }
            if let Effect::Perhaps = client.plan.effect {
                if let Err(rejection) = &outcome.result {
                    let caused = is_caused(client.plan.node, &rejection.code);
                    self.expect(caused, || {
                        let name = client.plan.name;
                        format!("{} ({name}): failed: {rejection}", client.client_id)
                    });
                }
                let own = Some(client.plan.node);
                recorded.extend(outcome.transactions.iter().map(|id| (*id, own)));
                continue;
            }
            let named = match fits(&client.plan.effect, client.plan.name, outcome) {
                Ok(named) => named,
                Err(wrong) => {
                    self.found(format!(
                        "{} ({}): {wrong}",
                        client.client_id, client.plan.name
                    ));
                    outcome.transactions.iter().copied().collect()
                }
            };
            for id in &named {
                let own = client.plan.name != "sim.settle" || outcome.transactions.contains(id);
                let before = recorded.insert(*id, own.then_some(client.plan.node));
                self.expect(before.is_none(), || format!("{id} is of two flows"));
            }
        }
        recorded
    }

    /// Checks that every ledger holds the transactions that concern its node and none that no flow made.
    fn check_ledgers(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        recorded: &BTreeMap<TxId, Option<usize>>,
        (tokens, loose): (&[IssuedToken], &[(IssuedToken, u64)]),
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
                        all.insert(signed.id(), signed);
                    }
                    Err(error) => self.found(format!("{short}: a ledger row: {error}")),
                }
            }
        }
        // A silent counterparty may finish transactions that no client has a result of, but with loose tokens only.
        let mut told: BTreeSet<TxId> = recorded.keys().copied().collect();
        let unpredicted = all.iter().filter(|_| !loose.is_empty());
        let unpredicted = unpredicted.filter(|(_, signed)| !moves_any(membership, signed, tokens));
        told.extend(unpredicted.map(|(id, _)| *id));
        self.check_locks(&all, &told);
        for (id, began_at) in recorded {
            let Some(signed) = all.get(id) else {
                self.found(format!("{id} was acknowledged and is lost"));
                continue;
            };
            for node in owners(membership, nodes, signed)
                .into_iter()
                .chain(*began_at)
            {
                self.expect(has(nodes[node].disk.durable(), id), || {
                    format!("{} lacks {id}, which concerns it", SHORT[node])
                });
            }
        }
        all
    }

    /// Checks that every lock is opened by its own transaction, and that every other transaction was reported by a client's flow.
    fn check_locks(&mut self, all: &BTreeMap<TxId, SignedTransaction>, told: &BTreeSet<TxId>) {
        let mut locks = BTreeSet::new();
        for (id, signed) in all {
            let outputs = (0u32..).zip(signed.wire().outputs());
            let made = outputs.filter(|(_, state)| state.contract == *lock_name());
            locks.extend(made.map(|(index, _)| StateRef::new(*id, index)));
        }
        for (id, signed) in all {
            let inputs = signed.wire().inputs().iter();
            let opened = inputs.filter(|input| locks.remove(input)).count();
            self.expect(opened > 0 || told.contains(id), || {
                format!(
                    "{id} is recorded, but no flow reported it: an effect may have happened twice"
                )
            });
        }
        for lock in locks {
            self.found(format!("the lock {lock} was never released"));
        }
    }

    /// Checks that every state is consumed at most once, and that the notaries know exactly the consumed states. A validating
    /// notary must have recorded the transactions that it signed.
    fn check_consumption(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        all: &BTreeMap<TxId, SignedTransaction>,
    ) {
        let mut consumer: BTreeMap<StateRef, TxId> = BTreeMap::new();
        let mut notarised = [(0, 0); NODES];
        for (id, signed) in all {
            for input in signed.wire().inputs() {
                let before = consumer.insert(*input, *id);
                self.expect(before.is_none(), || format!("{input} is consumed twice"));
            }
            if signed.wire().needs_notary() {
                let notary = notary_of(membership, signed);
                notarised[notary].0 += signed.wire().inputs().len();
                notarised[notary].1 += 1;
                self.check_notarised(membership, nodes, signed);
                let recorded = has(nodes[notary].disk.durable(), id);
                self.expect(recorded || !membership.validating, || {
                    format!("the notary validates and has not recorded {id}, which it signed")
                });
            }
        }
        for ((node, short), expected) in nodes.iter().zip(SHORT).zip(notarised) {
            let tables = node.disk.durable();
            let known =
                [Table::NotaryStates, Table::NotaryTxs].map(|table| tables.rows(table).len());
            // Each invented transaction consumes one state.
            let accepted = tables.rows(Table::NotaryTxs);
            let invented = self.invented.iter();
            let invented = invented.filter(|id| accepted.contains_key(id.as_bytes().as_slice()));
            let invented = invented.count();
            let expected = [expected.0 + invented, expected.1 + invented];
            self.expect(known == expected, || {
                format!(
                    "{short} knows {} states and {} transactions; {} and {} there are",
                    known[0], known[1], expected[0], expected[1]
                )
            });
        }
    }

    /// Checks that every vault holds the predicted balance and exactly the unconsumed states.
    fn check_vaults(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        clients: &Clients,
        tokens: &[IssuedToken],
        all: &BTreeMap<TxId, SignedTransaction>,
    ) {
        let mut left = unconsumed(membership, nodes, all);
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
                let id = token.id();
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

    /// Checks that the loose tokens held add up to those issued, wherever they are.
    fn check_loose(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        loose: &[(IssuedToken, u64)],
        all: &BTreeMap<TxId, SignedTransaction>,
    ) {
        let left = unconsumed(membership, nodes, all);
        for (token, issued) in loose {
            let id = token.id();
            let held = left.iter().flat_map(BTreeMap::values);
            let held: u64 = held.filter(|(of, _)| *of == id).map(|(_, held)| held).sum();
            self.expect(held == *issued, || {
                format!("{held} {} are held, {issued} were issued", token.currency)
            });
        }
    }

    fn check_nothing_left(&mut self, nodes: &[Node]) {
        for (node, short) in SHORT.iter().enumerate() {
            let left = nodes[node].left();
            self.expect(left.is_empty(), || format!("{short} has left {left:?}"));
        }
    }
}

/// Checks an outcome against the prediction. Returns the transactions that the result names.
fn fits(effect: &Effect, name: &str, outcome: &Outcome) -> Result<BTreeSet<TxId>, String> {
    if let (Effect::Nothing, true) = (effect, outcome.transactions.is_empty()) {
        return Ok(BTreeSet::new());
    }
    let bytes = outcome
        .result
        .as_ref()
        .map_err(|rejection| format!("failed: {rejection}"))?;
    let named: BTreeSet<TxId> = match effect {
        Effect::Nothing | Effect::Perhaps => BTreeSet::new(),
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
        Effect::Cash { .. } if name == "cash.reissue" => {
            let result = Reissued::from_bytes(bytes).map_err(|e| e.to_string())?;
            [result.exit, result.issue].into()
        }
        Effect::Cash { .. } if name == "document.share" => {
            let result = StateResult::from_bytes(bytes).map_err(|e| e.to_string())?;
            [result.transaction].into()
        }
        Effect::Cash { .. } if name.starts_with("sim.") => {
            let Steps(steps) = Steps::from_bytes(bytes).map_err(|e| e.to_string())?;
            steps.into_iter().collect()
        }
        Effect::Cash { .. } => {
            let result = CashResult::from_bytes(bytes).map_err(|e| e.to_string())?;
            [result.transaction].into()
        }
    };
    let recorded: BTreeSet<TxId> = outcome.transactions.iter().copied().collect();
    let expected = match effect {
        Effect::Answer(_) | Effect::Nothing | Effect::Perhaps => 0,
        Effect::Cash { transactions, .. } => *transactions,
    };
    // The other side records some of the transactions of an exchange.
    let alone = name != "cash.reissue" && !name.starts_with("sim.");
    let fits = match alone {
        true => recorded == named && outcome.transactions.len() == expected,
        false => recorded.is_subset(&named),
    };
    if !fits || named.len() != expected {
        return Err(format!(
            "the flow recorded {recorded:?}, but its result names {named:?}; expected {expected} transactions"
        ));
    }
    Ok(named)
}

/// Returns whether a transaction creates cash of one of these tokens.
fn moves_any(membership: &Membership, signed: &SignedTransaction, tokens: &[IssuedToken]) -> bool {
    let outputs = signed.wire().outputs().iter();
    let made = outputs.filter_map(|state| membership.contracts().describe(state).ok()?.fungible);
    let made: BTreeSet<TokenId> = made.map(|fungible| fungible.token).collect();
    tokens.iter().any(|token| made.contains(&token.id()))
}

/// Returns the unconsumed outputs of all transactions, by owner.
fn unconsumed(
    membership: &Membership,
    nodes: &[Node],
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
            let Ok(facts) = membership.contracts().describe(state) else {
                continue;
            };
            let owner = facts.owner.and_then(|key| holder(membership, nodes, &key));
            if let (Some(owner), Some(fungible)) = (owner, facts.fungible)
                && !consumed.contains(&reference)
            {
                left[owner].insert(reference, (fungible.token, fungible.quantity));
            }
        }
    }
    left
}
