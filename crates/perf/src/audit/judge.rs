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
    /// Of so many transactions one was checked, with its states; 1 is all of them.
    pub one_in: u64,
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
            write!(
                out,
                "{} transactions, {} unconsumed and {} consumed states agree",
                self.transactions, self.states, self.consumed
            )?;
            if self.one_in > 1 {
                write!(out, " (one in {}, by id; sums are over all)", self.one_in)?;
            }
            return Ok(());
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
    for (state, consumer) in consumed {
        if !books.sample.has(consumer) {
            continue;
        }
        verdict.consumed += 1;
        // Among others, some who are not asked may have it.
        if books.whole && !ledgers.iter().any(|ledger| ledger.contains(consumer)) {
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
    let of = |sums: &BTreeMap<String, u128>, token: &str| sums.get(token).copied().unwrap_or(0);
    for token in tokens {
        let least = of(&books.in_circulation, token);
        let most = least.saturating_add(of(&books.in_doubt, token));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Sample;
    use crate::audit::books::{Acknowledged, Spend};

    fn hash(number: u8) -> Hash {
        Hash::from_bytes([number; 32])
    }

    fn state(transaction: u8, index: u32) -> StateId {
        StateId {
            transaction: hash(transaction),
            index,
        }
    }

    fn node(name: &str, ledger: &[u8], coins: &[StateId], sum: u128) -> NodeBooks {
        NodeBooks {
            name: name.into(),
            ledger: ledger.iter().map(|number| hash(*number)).collect(),
            coins: coins.to_vec(),
            states: coins.len() as u64,
            sums: [("gbp".to_owned(), sum)].into(),
            balances: [("gbp".to_owned(), sum)].into(),
        }
    }

    /// A issued 100 to itself (1), then paid 30 to B (2).
    fn good() -> Books {
        Books {
            nodes: vec![
                node("A", &[1, 2], &[state(2, 1)], 70),
                node("B", &[1, 2], &[state(2, 0)], 30),
            ],
            consumed: Some([(state(1, 0), hash(2))].into()),
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
            in_doubt: BTreeMap::new(),
            whole: true,
            nothing_else_ran: true,
            sample: Sample::ALL,
        }
    }

    fn consumed(books: &mut Books) -> &mut HashMap<StateId, Hash> {
        books.consumed.as_mut().expect("read")
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
            consumed(b).insert(state(2, 1), hash(2));
        });
        check("is held by B and by A", |b| {
            b.nodes[1].coins.push(state(2, 1))
        });
        check("lacks its transaction", |b| {
            b.nodes[1].coins.push(state(7, 0))
        });
        check("says its balances", |b| {
            b.nodes[0].balances.insert("gbp".into(), 71);
        });
        check("101 was issued, 100 is held", |b| {
            b.in_circulation.insert("gbp".into(), 101);
        });
        check("98 was issued, 1 more in doubt, 100 is held", |b| {
            b.in_circulation.insert("gbp".into(), 98);
            b.in_doubt.insert("gbp".into(), 1);
        });
        check("eur: 0 was issued, 5 is held", |b| {
            b.nodes[0].sums.insert("eur".into(), 5);
        });
        check("nobody recorded it", |b| {
            consumed(b).insert(state(2, 1), hash(9));
        });
        check("knows nothing", |b| consumed(b).clear());
        check("gave it to", |b| {
            consumed(b).insert(state(1, 0), hash(1));
        });
        check("is consumed by", |b| {
            b.spends.push(Spend {
                id: hash(1),
                inputs: vec![state(1, 0)],
            });
        });
    }

    /// What others do on the same network is no finding; what concerns one's own work still is.
    #[test]
    fn among_others_only_ones_own_is_judged() {
        let among_others = |plant: fn(&mut Books)| {
            let mut books = good();
            books.whole = false;
            books.nothing_else_ran = false;
            plant(&mut books);
            judge(&books).wrong
        };
        let harmless: [fn(&mut Books); 5] = [
            |_| {},
            |b| b.nodes[0].ledger.push(hash(9)),
            |b| b.nodes[0].coins.push(state(9, 0)),
            |b| {
                consumed(b).insert(state(8, 1), hash(9));
            },
            |b| {
                b.nodes[0].sums.insert("eur".into(), 5);
                b.nodes[0].balances.insert("eur".into(), 5);
            },
        ];
        assert_eq!(harmless.map(among_others), [0; 5]);
        let wrong: [fn(&mut Books); 4] = [
            |b| {
                b.nodes[1].ledger.pop();
            },
            |b| b.nodes[1].coins.push(state(2, 1)),
            |b| {
                consumed(b).insert(state(2, 1), hash(2));
            },
            |b| {
                b.in_circulation.insert("gbp".into(), 99);
            },
        ];
        assert_eq!(wrong.map(among_others), [1; 4]);
    }

    #[test]
    fn without_a_notary_the_rest_is_judged() {
        let mut books = good();
        books.consumed = None;
        assert!(judge(&books).is_clean());
        books.nodes[1].ledger.pop();
        assert_eq!(judge(&books).wrong, 2);
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
