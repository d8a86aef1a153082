//! The vault's view against a model: its answers, its restarts and its cost.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use primitives::Coded;
use proptest::prelude::*;
use vaultview::{
    Balance, CoinCursor, ConsumedState, Criterion, Field, ProducedState, QueryError, Sort,
    StateFilter, StateQuery, TokenFacts, VaultView, ViewChange, ViewOptions,
};

fn tx(n: u64) -> [u8; 32] {
    let mut id = [0xaa; 32];
    id[24..].copy_from_slice(&n.to_be_bytes());
    id
}

fn token(n: u8) -> TokenFacts {
    TokenFacts {
        id: [n; 32],
        symbol: format!("T{n}"),
        issuer: "O=Bank, L=London, C=GB".into(),
    }
}

fn produced(seq: u64, output: u32, token_number: Option<u8>, quantity: u64) -> ViewChange {
    ViewChange::Produced(ProducedState {
        tx: tx(seq),
        output,
        seq,
        contract: "tally.cash".into(),
        token: token_number.map(token),
        quantity,
        owner: Some(vec![1; 34]),
        owner_party: None,
        participants: None,
        participant_keys: Vec::new(),
        linear_id: None,
        notary: [9; 32],
        recorded_at: 1_700_000_000_000 + seq,
        state: vec![0x5a; 120],
        columns: Vec::new(),
    })
}

fn consumed(of: u64, output: u32, seq: u64) -> ViewChange {
    ViewChange::Consumed(ConsumedState {
        of_seq: of,
        output,
        seq,
        at: 1_700_000_000_000 + seq,
    })
}

fn open(directory: &Path, ledger_end: u64) -> VaultView {
    VaultView::open(
        &directory.join("vault.sqlite"),
        &ViewOptions::default(),
        ledger_end,
    )
    .expect("the view opens")
}

fn held(view: &VaultView) -> Vec<(String, u128, u64)> {
    let balances = view
        .reader()
        .and_then(|reader| reader.balances())
        .expect("balances");
    balances
        .into_iter()
        .map(
            |Balance {
                 token,
                 quantity,
                 states,
                 ..
             }| (token.symbol, quantity, states),
        )
        .collect()
}

#[test]
fn balances_lists_and_coins() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut view = open(folder.path(), 10);
    view.apply(
        1,
        &[
            produced(1, 0, Some(1), 50),
            produced(1, 1, Some(1), 70),
            produced(1, 2, None, 0),
        ],
    )
    .expect("applied");
    view.apply(
        2,
        &[
            produced(2, 0, Some(2), u64::MAX),
            produced(2, 1, Some(2), u64::MAX),
        ],
    )
    .expect("applied");
    view.apply(
        3,
        &[
            consumed(1, 1, 3),
            consumed(1, 9, 3),
            produced(3, 0, Some(1), 60),
        ],
    )
    .expect("applied");
    assert_eq!(
        held(&view),
        [
            ("T1".into(), 110, 2),
            ("T2".into(), u128::from(u64::MAX) * 2, 2)
        ]
    );

    let reader = view.reader().expect("a reader");
    let list = |filter: StateFilter, after, limit| -> Vec<(u64, u32)> {
        let rows = reader.unconsumed(&filter, after, limit).expect("a list");
        rows.iter().map(|row| (row.seq, row.output)).collect()
    };
    assert_eq!(
        list(StateFilter::default(), 0, 9),
        [(1, 0), (1, 2), (2, 0), (2, 1), (3, 0)]
    );
    assert_eq!(list(StateFilter::default(), 0, 2), [(1, 0), (1, 2)]);
    assert_eq!(
        list(StateFilter::default(), 1 << 16 | 2, 2),
        [(2, 0), (2, 1)]
    );
    let of_token = StateFilter {
        token: Some([1; 32]),
        ..StateFilter::default()
    };
    assert_eq!(list(of_token, 0, 9), [(1, 0), (3, 0)]);
    let of_contract = StateFilter {
        contract: Some("none".into()),
        ..StateFilter::default()
    };
    assert_eq!(list(of_contract, 0, 9), []);

    let coins = |token: u8, after, limit, without: Option<u64>| -> Vec<(u64, u64)> {
        let rows = reader
            .coins(&[token; 32], after, limit, |id, _| {
                Some(*id) == without.map(tx)
            })
            .expect("coins");
        rows.iter().map(|row| (row.seq, row.quantity)).collect()
    };
    assert_eq!(coins(1, None, 9, None), [(3, 60), (1, 50)]);
    assert_eq!(coins(1, None, 1, Some(3)), [(1, 50)]);
    assert_eq!(
        coins(
            1,
            Some(CoinCursor {
                quantity: 60,
                cursor: 3 << 16
            }),
            9,
            None
        ),
        [(1, 50)]
    );
    assert_eq!(coins(2, None, 9, None), [(2, u64::MAX), (2, u64::MAX)]);
    assert_eq!(
        coins(
            2,
            Some(CoinCursor {
                quantity: u64::MAX,
                cursor: 2 << 16 | 1
            }),
            9,
            None
        ),
        [(2, u64::MAX)]
    );
    assert_eq!(coins(3, None, 9, None), []);

    let unconsumed = reader.state_at(1, 0).expect("a look-up").expect("there");
    assert_eq!(
        (unconsumed.tx, unconsumed.quantity, unconsumed.consumed_seq),
        (tx(1), 50, None)
    );
    let consumed = reader.state_at(1, 1).expect("a look-up").expect("there");
    assert_eq!((consumed.quantity, consumed.consumed_seq), (70, Some(3)));
    assert_eq!(reader.state_at(1 << 50, 0).expect("a look-up"), None);
}

#[test]
fn it_goes_on_where_it_was_and_refuses_to_go_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut view = open(folder.path(), 10);
    view.apply(5, &[produced(5, 0, Some(1), 50)])
        .expect("applied");
    let refused = view.apply(4, &[]).expect_err("backwards");
    assert_eq!(refused.code(), "view.refused");
    let refused = view
        .apply(6, &[produced(6, 1 << 16, Some(1), 1)])
        .expect_err("too many outputs");
    assert_eq!(refused.code(), "view.refused");
    let damaged = view
        .apply(6, &[produced(5, 0, Some(1), 50)])
        .expect_err("twice");
    assert_eq!(damaged.code(), "view.damaged");
    assert_eq!(
        (view.upto(), held(&view)),
        (5, vec![("T1".into(), 50, 1)]),
        "all or nothing"
    );
    drop(view);
    let view = open(folder.path(), 10);
    assert_eq!((view.upto(), view.rebuilt()), (5, None));
    assert_eq!(held(&view), [("T1".into(), 50, 1)]);
}

#[test]
fn a_view_that_cannot_be_right_is_started_afresh() {
    type Spoil = fn(&Path);
    let spoilers: [(&str, u64, Spoil); 4] = [
        ("ahead of the ledger", 4, |_| {}),
        ("another version", 10, |path| {
            let db = rusqlite::Connection::open(path).expect("opens");
            db.pragma_update(None, "user_version", 99).expect("written");
        }),
        ("not a database", 10, |path| {
            std::fs::write(path, [7; 8192]).expect("written")
        }),
        ("no cursor", 10, |path| {
            let db = rusqlite::Connection::open(path).expect("opens");
            db.execute("DELETE FROM cursor", []).expect("deleted");
        }),
    ];
    for (name, ledger_end, spoil) in spoilers {
        let folder = tempfile::tempdir().expect("a folder");
        let mut view = open(folder.path(), 10);
        view.apply(5, &[produced(5, 0, Some(1), 50)])
            .expect("applied");
        drop(view);
        spoil(&folder.path().join("vault.sqlite"));
        let mut view = open(folder.path(), ledger_end);
        assert_eq!(view.upto(), 0, "{name}");
        assert!(view.rebuilt().is_some(), "{name}");
        view.apply(5, &[produced(5, 0, Some(1), 50)])
            .expect("applied");
        let view = view.rebuild().expect("rebuilt");
        assert_eq!((view.upto(), held(&view)), (0, vec![]), "{name}");
    }
}

#[test]
fn waiting_for_the_view() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut view = open(folder.path(), 10);
    let progress = view.progress();
    assert!(!progress.wait_for(1, Duration::from_millis(1)));
    let waiter = std::thread::spawn({
        let progress = progress.clone();
        move || progress.wait_for(3, Duration::from_secs(60))
    });
    view.apply(2, &[]).expect("applied");
    view.apply(3, &[]).expect("applied");
    assert!(waiter.join().expect("no panic"));
    assert_eq!(progress.upto(), 3);
}

proptest! {
    #![proptest_config(properties::config!(48))]
    /// Any sequence of payments, in groups, with restarts: balances, lists and coins equal the model's.
    #[test]
    fn equals_its_model(steps in prop::collection::vec((0u8..3, 1u64..1000, any::<u16>(), prop::bool::weighted(0.1)), 1..120)) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut view = open(folder.path(), 1000);
        let mut model: BTreeMap<(u64, u32), (u8, u64)> = BTreeMap::new();
        for (at, (token, quantity, pick, restart)) in steps.into_iter().enumerate() {
            let seq = at as u64 + 1;
            let mut changes = Vec::new();
            if !model.is_empty() {
                let spent = *model.keys().nth(pick as usize % model.len()).expect("within");
                model.remove(&spent);
                changes.push(consumed(spent.0, spent.1, seq));
            }
            for output in 0..1 + u32::from(pick % 3) {
                changes.push(produced(seq, output, Some(token), quantity));
                model.insert((seq, output), (token, quantity));
            }
            view.apply(seq, &changes).expect("applied");
            if restart {
                drop(view);
                view = open(folder.path(), 1000);
            }
        }
        let reader = view.reader().expect("a reader");
        let listed: Vec<(u64, u32)> = reader
            .unconsumed(&StateFilter::default(), 0, usize::MAX).expect("a list")
            .iter().map(|row| (row.seq, row.output)).collect();
        prop_assert_eq!(listed, model.keys().copied().collect::<Vec<_>>());
        for number in 0..3 {
            let mut coins: Vec<(u64, (u64, u32))> = model.iter()
                .filter(|(_, (token, _))| *token == number)
                .map(|(key, (_, quantity))| (*quantity, *key)).collect();
            coins.sort();
            let total: u128 = coins.iter().map(|(quantity, _)| u128::from(*quantity)).sum();
            let balance = reader.balance(&[number; 32]).expect("a balance");
            prop_assert_eq!(balance.map_or((0, 0), |b| (b.quantity, b.states)), (total, coins.len() as u64));
            let mut paged = Vec::new();
            let mut after = None;
            loop {
                let page = reader.coins(&[number; 32], after, 7, |_, _| false).expect("coins");
                let Some(last) = page.last() else { break };
                after = Some(CoinCursor { quantity: last.quantity, cursor: last.cursor });
                paged.extend(page.iter().map(|row| (row.quantity, (row.seq, row.output))));
            }
            let descending = paged.windows(2).all(|pair| pair[1].0 <= pair[0].0 + pair[0].0 / 4);
            prop_assert!(descending, "{:?}", paged);
            paged.sort();
            prop_assert_eq!(paged, coins);
        }
    }
}

#[test]
fn a_condemned_view_is_started_afresh_and_the_mark_goes_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut view = open(folder.path(), 10);
    view.apply(1, &[produced(1, 0, Some(1), 50)])
        .expect("applied");
    drop(view);
    VaultView::condemn(&folder.path().join("vault.sqlite"));
    let view = open(folder.path(), 10);
    assert_eq!((view.upto(), held(&view)), (0, Vec::new()));
    assert!(view.rebuilt().is_some());
    drop(view);
    let view = open(folder.path(), 10);
    assert!(view.rebuilt().is_none(), "once");
}

#[test]
fn a_view_is_made_anew_over_whatever_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vault.sqlite");
    for (what, content) in [("garbage", &[0x5a; 9_000][..]), ("nothing", &[])] {
        std::fs::write(&path, content).expect("written");
        let mut view = VaultView::create(&path, &ViewOptions::default()).expect(what);
        assert_eq!(view.upto(), 0, "{what}");
        view.apply(1, &[produced(1, 0, Some(1), 50)]).expect(what);
        assert_eq!(held(&view), [("T1".into(), 50, 1)], "{what}");
    }
}

#[test]
fn damage_within_is_told_from_what_is_merely_unexpected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vault.sqlite");
    let mut view = open(folder.path(), 10_000);
    let states: Vec<ViewChange> = (1..=2_000).map(|n| produced(n, 0, Some(1), n)).collect();
    view.apply(2_000, &states).expect("applied");
    drop(view);
    let mut bytes = std::fs::read(&path).expect("readable");
    let from = bytes.len() / 2;
    bytes[from..].fill(0xff);
    std::fs::write(&path, bytes).expect("written");
    let view = open(folder.path(), 10_000);
    let reader = view.reader().expect("a reader");
    let refused = reader.unconsumed(&StateFilter::default(), 0, 2_000);
    let refused = refused.expect_err("damaged");
    assert_eq!(refused.code(), "view.damaged");
    assert!(refused.is_corruption() && refused.path() == path);
}

#[test]
fn a_negative_number_is_damage_and_never_shown() {
    for damage in [
        "UPDATE total SET states = -1",
        "UPDATE total SET low = -1",
        "UPDATE total SET high = -1",
        "UPDATE state SET quantity = -1",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vault.sqlite");
        let mut view = open(folder.path(), 10);
        view.apply(1, &[produced(1, 0, Some(1), 50)])
            .expect("applied");
        drop(view);
        let db = rusqlite::Connection::open(&path).expect("opens");
        assert_eq!(db.execute(damage, []).expect(damage), 1, "{damage}");
        drop(db);
        let reader = open(folder.path(), 10).reader().expect("a reader");
        let balance = reader.balance(&token(1).id).map(|_| ());
        let states = reader.unconsumed(&StateFilter::default(), 0, 10);
        let refused = balance.and(states.map(|_| ())).expect_err(damage);
        assert_eq!(refused.code(), "view.damaged", "{damage}");
        assert!(refused.is_corruption(), "{damage}");
    }
}

#[test]
fn a_value_too_long_for_a_page_mark_is_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut view = open(folder.path(), 10);
    let states = [
        produced(1, 0, Some(1), 50),
        produced(1, 1, Some(1), 50),
        produced(1, 2, Some(1), 50),
    ];
    view.apply(1, &states).expect("applied");
    drop(view);
    let db = rusqlite::Connection::open(folder.path().join("vault.sqlite")).expect("opens");
    let harm = "UPDATE token SET symbol = printf('%070000d', 1)";
    assert_eq!(db.execute(harm, []).expect(harm), 1);
    drop(db);
    let reader = open(folder.path(), 10).reader().expect("a reader");
    let query = StateQuery {
        criterion: Criterion::All(Vec::new()),
        sort: vec![Sort {
            by: Field::Symbol,
            descending: false,
        }],
        after: None,
        limit: 2,
    };
    match reader.query(&query) {
        Err(QueryError::View(refused)) => {
            assert_eq!(refused.code(), "view.damaged");
            assert!(refused.is_corruption());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_unconsumed_versions_of_a_linear_thing_come_newest_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut view = open(folder.path(), 100);
    let version = |seq: u64, contract: &str, id: u8| {
        let ViewChange::Produced(mut state) = produced(seq, 0, None, 0) else {
            unreachable!("it was made so");
        };
        state.contract = contract.into();
        state.linear_id = Some([id; 32]);
        ViewChange::Produced(state)
    };
    let changes = [
        version(1, "deed", 1),
        version(2, "deed", 1),
        consumed(1, 0, 2),
        version(3, "deed", 2),
        version(4, "claim", 1),
        version(5, "deed", 1),
        produced(6, 0, None, 0),
    ];
    view.apply(6, &changes).expect("applied");
    let reader = view.reader().expect("a reader");
    // Contract, id, versions looked at, the sequences found.
    for (contract, id, looked_at, found) in [
        ("deed", 1, 10, &[5, 2][..]),
        ("deed", 2, 10, &[3]),
        ("deed", 3, 10, &[]),
        ("claim", 1, 10, &[4]),
        ("none", 1, 10, &[]),
        ("deed", 1, 1, &[5]),
        // The states looked at are the last recorded ones with the id, for any contract.
        ("deed", 1, 2, &[5]),
        ("claim", 1, 1, &[]),
        ("deed", 1, 0, &[]),
    ] {
        let rows = reader
            .linear(contract, &[id; 32], looked_at)
            .expect("found");
        let seqs: Vec<u64> = rows.iter().map(|row| row.seq).collect();
        assert_eq!(seqs, found, "{contract} {id} {looked_at}");
        for row in rows {
            assert_eq!(row.linear_id, Some([id; 32]));
            assert_eq!((row.contract.as_str(), row.consumed_seq), (contract, None));
        }
    }
    view.apply(7, &[consumed(5, 0, 7)]).expect("applied");
    let rows = reader.linear("deed", &[1; 32], 10).expect("found");
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [2]);
}
