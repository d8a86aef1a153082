//! The audit's verdict over [`Books`]. It is pure, so that its own tests can plant every kind of fault.

use std::collections::{BTreeMap, HashMap, HashSet};

use primitives::Hash;

use super::books::{Books, NodeBooks, StateId};
use super::verdict::Verdict;

#[cfg(test)]
mod tests;

/// Judges the books of a network that has come to rest.
pub fn judge(books: &Books) -> Verdict {
    let mut verdict = Verdict {
        one_in: books.sample.one_in(),
        ..Verdict::default()
    };
    let ledgers: Vec<HashSet<Hash>> = books
        .nodes
        .iter()
        .map(|node| ledger_of(node, &mut verdict))
        .collect();
    acknowledged_is_recorded(books, &ledgers, &mut verdict);
    vaults_agree(books, &ledgers, &mut verdict);
    if let Some(consumed) = &books.consumed {
        notary_agrees_with_ledgers(books, consumed, &ledgers, &mut verdict);
    }
    spends_agree_with_notary(books, &mut verdict);
    value_is_conserved(books, &mut verdict);
    verdict
}

fn ledger_of(node: &NodeBooks, verdict: &mut Verdict) -> HashSet<Hash> {
    let mut ids = HashSet::with_capacity(node.ledger.len());
    for id in &node.ledger {
        if !ids.insert(*id) {
            verdict.wrong(|| format!("{} recorded {id} twice", node.name));
        }
    }
    ids
}

fn acknowledged_is_recorded(books: &Books, ledgers: &[HashSet<Hash>], verdict: &mut Verdict) {
    let mut told: HashSet<Hash> = HashSet::new();
    for flow in &books.acknowledged {
        for id in &flow.transactions {
            verdict.transactions += 1;
            if !told.insert(*id) {
                verdict.wrong(|| format!("two flows were told that they made {id}"));
            }
            for participant in &flow.participants {
                if !ledgers
                    .get(*participant)
                    .is_some_and(|ledger| ledger.contains(id))
                {
                    verdict.wrong(|| {
                        let name = books.nodes.get(*participant).map_or("?", |node| &node.name);
                        format!(
                            "{id} was acknowledged as delivered, but {name} has not recorded it"
                        )
                    });
                }
            }
        }
    }
    if books.nothing_else_ran {
        for (node, ledger) in books.nodes.iter().zip(ledgers) {
            for id in ledger.iter().filter(|id| !told.contains(*id)) {
                verdict.wrong(|| {
                    format!(
                        "{} recorded {id}, which belongs to no accepted flow",
                        node.name
                    )
                });
            }
        }
    }
}

fn vaults_agree(books: &Books, ledgers: &[HashSet<Hash>], verdict: &mut Verdict) {
    let mut holders: HashMap<StateId, &str> = HashMap::new();
    for (node, ledger) in books.nodes.iter().zip(ledgers) {
        for state in &node.coins {
            verdict.states += 1;
            if books.whole && !ledger.contains(&state.transaction) {
                verdict.wrong(|| format!("{} holds {state}, but lacks its transaction", node.name));
            }
            let consumed = books.consumed.as_ref();
            if let Some(consumer) = consumed.and_then(|consumed| consumed.get(state)) {
                verdict.wrong(|| {
                    format!(
                        "{} holds {state}, which the notary saw consumed by {consumer}",
                        node.name
                    )
                });
            }
            if let Some(other) = holders.insert(*state, &node.name) {
                verdict.wrong(|| format!("{state} is held by {} and by {other}", node.name));
            }
        }
        let (told, sums) = (without_zeros(&node.balances), without_zeros(&node.sums));
        if told != sums {
            verdict.wrong(|| {
                format!(
                    "{} says its balances are {told:?}, its states sum to {sums:?}",
                    node.name
                )
            });
        }
    }
}

fn without_zeros(sums: &BTreeMap<String, u128>) -> BTreeMap<&str, u128> {
    let sums = sums.iter().filter(|(_, sum)| **sum > 0);
    sums.map(|(token, sum)| (token.as_str(), *sum)).collect()
}

fn notary_agrees_with_ledgers(
    books: &Books,
    consumed: &HashMap<StateId, Hash>,
    ledgers: &[HashSet<Hash>],
    verdict: &mut Verdict,
) {
    if books.consumed_count < books.direct_states {
        verdict.wrong(|| {
            format!(
                "the notary signed transactions that consume {} states, but lists only {} as consumed",
                books.direct_states, books.consumed_count
            )
        });
    }
    for (state, consumer) in consumed {
        if !books.sample.has(consumer) {
            continue;
        }
        verdict.consumed += 1;
        // On a shared network, a node that is not audited may have recorded it.
        if books.whole
            && books.direct_states == 0
            && !ledgers.iter().any(|ledger| ledger.contains(consumer))
        {
            verdict.wrong(|| {
                format!("the notary let {consumer} consume {state}, but no node recorded it")
            });
        }
    }
}

fn spends_agree_with_notary(books: &Books, verdict: &mut Verdict) {
    let mut consumers: HashMap<StateId, Hash> = HashMap::new();
    for spend in &books.spends {
        for input in &spend.inputs {
            if let Some(other) = consumers.insert(*input, spend.id)
                && other != spend.id
            {
                verdict.wrong(|| format!("{input} is consumed by {other} and by {}", spend.id));
            }
            let Some(consumed) = &books.consumed else {
                continue;
            };
            match consumed.get(input) {
                Some(consumer) if *consumer == spend.id => {}
                Some(consumer) => verdict.wrong(|| {
                    format!(
                        "{} consumes {input}; the notary gave it to {consumer}",
                        spend.id
                    )
                }),
                None => verdict.wrong(|| {
                    format!(
                        "{} consumes {input}, but the notary knows nothing of it",
                        spend.id
                    )
                }),
            }
        }
    }
}

fn value_is_conserved(books: &Books, verdict: &mut Verdict) {
    let mut sums: BTreeMap<&str, u128> = BTreeMap::new();
    for (token, sum) in books.nodes.iter().flat_map(|node| &node.sums) {
        *sums.entry(token).or_default() += *sum;
    }
    let issued = books.in_circulation.keys().map(String::as_str);
    let mut tokens: Vec<&str> = if books.whole {
        issued.chain(sums.keys().copied()).collect()
    } else {
        issued.collect()
    };
    tokens.sort_unstable();
    tokens.dedup();
    // A token without a sum has none in circulation.
    let of = |sums: &BTreeMap<String, u128>, token: &str| sums.get(token).copied().unwrap_or(0);
    for token in tokens {
        let least = of(&books.in_circulation, token);
        let most = least + of(&books.in_doubt, token);
        let held = sums.get(token).copied().unwrap_or(0);
        if !(least..=most).contains(&held) {
            verdict.wrong(|| {
                let doubt = if most > least {
                    format!(", {} more in doubt", most - least)
                } else {
                    String::new()
                };
                format!("{token}: {least} was issued{doubt}, {held} is held")
            });
        }
    }
}
