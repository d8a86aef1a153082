//! The audit's verdict over [`Books`]: pure, so that its own tests can plant every kind of wrong.

use std::collections::{BTreeMap, HashMap, HashSet};

use primitives::Hash;

use super::books::{Books, NodeBooks, StateId};

/// Most findings that are told one by one; the rest is counted.
const FINDINGS_MAX: usize = 20;

/// What the audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong, the first few in words.
    pub findings: Vec<String>,
    /// How much is wrong in all.
    pub wrong: usize,
    /// Acknowledged transactions checked.
    pub transactions: usize,
    /// Unconsumed states checked.
    pub states: usize,
    /// Consumed states checked.
    pub consumed: usize,
}

impl Verdict {
    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.wrong == 0
    }

    fn wrong(&mut self, finding: impl FnOnce() -> String) {
        self.wrong += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding());
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_clean() {
            return write!(
                out,
                "{} transactions, {} unconsumed and {} consumed states agree",
                self.transactions, self.states, self.consumed
            );
        }
        write!(out, "{} findings", self.wrong)?;
        for finding in &self.findings {
            write!(out, "\n  {finding}")?;
        }
        if self.wrong > self.findings.len() {
            write!(out, "\n  and {} more", self.wrong - self.findings.len())?;
        }
        Ok(())
    }
}

/// Judges the books of a network that has come to rest.
pub fn judge(books: &Books) -> Verdict {
    let mut verdict = Verdict::default();
    let ledgers: Vec<HashSet<Hash>> = books
        .nodes
        .iter()
        .map(|node| ledger_of(node, &mut verdict))
        .collect();
    acknowledged_is_recorded(books, &ledgers, &mut verdict);
    vaults_agree_with_notary(books, &ledgers, &mut verdict);
    notary_agrees_with_ledgers(books, &ledgers, &mut verdict);
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

fn vaults_agree_with_notary(books: &Books, ledgers: &[HashSet<Hash>], verdict: &mut Verdict) {
    let mut holders: HashMap<StateId, &str> = HashMap::new();
    for (node, ledger) in books.nodes.iter().zip(ledgers) {
        let mut sums: BTreeMap<&str, u128> = BTreeMap::new();
        for coin in &node.coins {
            verdict.states += 1;
            *sums.entry(&coin.token).or_default() += u128::from(coin.quantity);
            if !ledger.contains(&coin.state.transaction) {
                verdict.wrong(|| {
                    format!(
                        "{} holds {}, but lacks its transaction",
                        node.name, coin.state
                    )
                });
            }
            if let Some(consumer) = books.consumed.get(&coin.state) {
                verdict.wrong(|| {
                    format!(
                        "{} holds {}, which the notary saw consumed by {consumer}",
                        node.name, coin.state
                    )
                });
            }
            if let Some(other) = holders.insert(coin.state, &node.name) {
                verdict.wrong(|| format!("{} is held by {} and by {other}", coin.state, node.name));
            }
        }
        let told: BTreeMap<&str, u128> = node
            .balances
            .iter()
            .filter(|(_, sum)| **sum > 0)
            .map(|(token, sum)| (token.as_str(), *sum))
            .collect();
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

fn notary_agrees_with_ledgers(books: &Books, ledgers: &[HashSet<Hash>], verdict: &mut Verdict) {
    for (state, consumer) in &books.consumed {
        verdict.consumed += 1;
        if !ledgers.iter().any(|ledger| ledger.contains(consumer)) {
            verdict.wrong(|| {
                format!("the notary let {consumer} consume {state}, but nobody recorded it")
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
            match books.consumed.get(input) {
                Some(consumer) if *consumer == spend.id => {}
                Some(consumer) => verdict.wrong(|| {
                    format!(
                        "{} consumes {input}; the notary gave it to {consumer}",
                        spend.id
                    )
                }),
                None => verdict.wrong(|| {
                    format!(
                        "{} consumes {input}, of which the notary knows nothing",
                        spend.id
                    )
                }),
            }
        }
    }
}

fn value_is_conserved(books: &Books, verdict: &mut Verdict) {
    let mut sums: BTreeMap<&str, u128> = BTreeMap::new();
    for coin in books.nodes.iter().flat_map(|node| &node.coins) {
        *sums.entry(&coin.token).or_default() += u128::from(coin.quantity);
    }
    let mut expected: BTreeMap<&str, u128> = BTreeMap::new();
    for (token, sum) in books.in_circulation.iter().filter(|(_, sum)| **sum > 0) {
        expected.insert(token, *sum);
    }
    if sums != expected {
        verdict.wrong(|| format!("{expected:?} was issued, {sums:?} is held"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::books::{Acknowledged, Coin, Spend};

    fn hash(number: u8) -> Hash {
        Hash::from_bytes([number; 32])
    }

    fn state(transaction: u8, index: u32) -> StateId {
        StateId {
            transaction: hash(transaction),
            index,
        }
    }

    fn coin(transaction: u8, index: u32, quantity: u64) -> Coin {
        Coin {
            state: state(transaction, index),
            token: "gbp".into(),
            quantity,
        }
    }

    fn node(name: &str, ledger: &[u8], coins: &[Coin]) -> NodeBooks {
        let sum: u128 = coins.iter().map(|coin| u128::from(coin.quantity)).sum();
        NodeBooks {
            name: name.into(),
            ledger: ledger.iter().map(|number| hash(*number)).collect(),
            coins: coins.to_vec(),
            balances: [("gbp".to_owned(), sum)].into(),
        }
    }

    /// A issued 100 to itself (1), then paid 30 to B (2).
    fn good() -> Books {
        Books {
            nodes: vec![
                node("A", &[1, 2], &[coin(2, 1, 70)]),
                node("B", &[1, 2], &[coin(2, 0, 30)]),
            ],
            consumed: [(state(1, 0), hash(2))].into(),
            spends: vec![Spend {
                id: hash(2),
                inputs: vec![state(1, 0)],
            }],
            acknowledged: vec![
                Acknowledged {
                    transactions: vec![hash(1)],
                    participants: vec![0],
                },
                Acknowledged {
                    transactions: vec![hash(2)],
                    participants: vec![0, 1],
                },
            ],
            in_circulation: [("gbp".to_owned(), 100)].into(),
            nothing_else_ran: true,
        }
    }

    fn check(expected: &str, plant: impl FnOnce(&mut Books)) {
        let mut books = good();
        plant(&mut books);
        let verdict = judge(&books);
        assert!(
            verdict.findings.iter().any(|text| text.contains(expected)),
            "wanted {expected:?}, found {verdict}"
        );
    }

    #[test]
    fn good_books_are_clean() {
        let verdict = judge(&good());
        assert!(verdict.is_clean(), "{verdict}");
        assert_eq!(
            (verdict.transactions, verdict.states, verdict.consumed),
            (2, 2, 1)
        );
    }

    #[test]
    fn planted_wrongs_are_found() {
        check("B has not recorded it", |b| {
            b.nodes[1].ledger.pop();
        });
        check("recorded", |b| b.nodes[0].ledger.push(hash(1)));
        check("belongs to no accepted flow", |b| {
            b.nodes[0].ledger.push(hash(9))
        });
        check("two flows were told", |b| {
            let again = b.acknowledged[1].clone();
            b.acknowledged.push(again);
        });
        check("which the notary saw consumed", |b| {
            b.consumed.insert(state(2, 1), hash(2));
        });
        check("is held by B and by A", |b| {
            b.nodes[1].coins.push(coin(2, 1, 70))
        });
        check("lacks its transaction", |b| {
            b.nodes[1].coins.push(coin(7, 0, 1))
        });
        check("says its balances", |b| {
            b.nodes[0].balances.insert("gbp".into(), 71);
        });
        check("was issued", |b| {
            b.in_circulation.insert("gbp".into(), 101);
        });
        check("nobody recorded it", |b| {
            b.consumed.insert(state(2, 1), hash(9));
        });
        check("knows nothing", |b| b.consumed.clear());
        check("gave it to", |b| {
            b.consumed.insert(state(1, 0), hash(1));
        });
        check("is consumed by", |b| {
            b.spends.push(Spend {
                id: hash(1),
                inputs: vec![state(1, 0)],
            });
        });
    }

    #[test]
    fn many_findings_are_counted() {
        let mut books = good();
        books.nodes[0].ledger.extend((10..100).map(hash));
        let verdict = judge(&books);
        assert_eq!((verdict.wrong, verdict.findings.len()), (90, FINDINGS_MAX));
        assert!(verdict.to_string().ends_with("and 70 more"));
    }

    #[test]
    fn state_ids_are_text() {
        let id = state(7, 12);
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "07", "x(1)", "07(1"] {
            assert!(text.parse::<StateId>().is_err(), "{text}");
        }
    }
}
