//! Tests with good books, and with every kind of fault planted in them.

use super::*;
use crate::audit::Sample;
use crate::audit::books::{Acknowledged, Spend};
use crate::audit::verdict::FINDINGS_MAX;

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
        consumed_count: 1,
        direct_states: 0,
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
    check("no node recorded it", |b| {
        consumed(b).insert(state(2, 1), hash(9));
    });
    check("lists only 1 as consumed", |b| {
        (b.consumed_count, b.direct_states) = (1, 2);
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

/// No node records what the load had notarised directly.
#[test]
fn direct_requests_are_counted_at_the_notary_alone() {
    let mut books = good();
    consumed(&mut books).insert(state(8, 1), hash(9));
    (books.consumed_count, books.direct_states) = (2, 1);
    let verdict = judge(&books);
    assert!(verdict.is_clean(), "{verdict}");
}

/// Other parties' activity on the same network is no finding. Faults that concern one's own work still are.
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
