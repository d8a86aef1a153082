//! Queries of the view against a plain filter over a list.

use proptest::prelude::*;
use vaultview::{
    ColumnKind, ConsumedState, Criterion, Datum, Field, Places, ProducedState, QuarantinedState,
    Sort, StateFilter, StateQuery, TokenFacts, VaultReader, VaultView, ViewChange, ViewColumn,
    ViewOptions,
};

/// The columns that two of the contracts declare.
fn options() -> ViewOptions {
    let column = |contract: &str, name: &str, kind| ViewColumn {
        contract: contract.into(),
        name: name.into(),
        kind,
    };
    ViewOptions {
        columns: vec![
            column("contract.0", "due", ColumnKind::Number),
            column("contract.1", "name", ColumnKind::Text),
            column("contract.1", "mark", ColumnKind::Bytes),
        ],
        ..ViewOptions::default()
    }
}

/// The columns of a state: some of its contract's.
fn columns(contract: u8, n: u64) -> Vec<(u32, Datum)> {
    let text = ["", "ab", "abc", "b", "\u{10ffff}x", "a\u{e000}"][(n % 6) as usize];
    match (contract, n) {
        (0, 5) => Vec::new(),
        (0, 4) => vec![(0, Datum::Number(HUGE))],
        (0, n) => vec![(0, Datum::Number(n))],
        (1, 5) => vec![(2, Datum::Bytes(vec![0, 0, 0, 0, 0, 0, 0, 1]))],
        (1, n) => vec![
            (1, Datum::Text(text.into())),
            (2, Datum::Bytes(vec![n as u8; 3])),
        ],
        _ => Vec::new(),
    }
}

const HUGE: u64 = u64::MAX - 7;

#[derive(Clone, Debug)]
struct Made {
    id: i64,
    state: ProducedState,
    consumed: Option<u64>,
    /// Put into quarantine before it is consumed, after, or not at all.
    quarantine: Option<bool>,
}

impl Made {
    fn is_quarantined(&self) -> bool {
        self.quarantine.is_some() && self.consumed.is_none()
    }
}

fn key(n: u8) -> Vec<u8> {
    vec![n; 34]
}

/// Returns the party of a key: two of the keys belong to one party, and one belongs to no known party.
fn party_of(key: &[u8]) -> Option<[u8; 32]> {
    (key[0] < 3).then_some([key[0] % 2; 32])
}

fn made() -> impl Strategy<Value = Made> {
    (
        0..3u8,
        proptest::option::of((
            0..3u8,
            prop_oneof![0..5u64, Just(i64::MAX as u64), Just(HUGE)],
        )),
        proptest::option::of(0..3u8),
        proptest::collection::vec(0..4u8, 0..3),
        0..2u8,
        0..6u64,
        proptest::option::of(0..2u8),
        proptest::option::of(0..6u64),
        0..6u64,
        proptest::option::weighted(0.3, any::<bool>()),
    )
        .prop_map(
            |(contract, token, owner, others, notary, at, linear, consumed, column, quarantine)| {
                let only_owner = owner.is_some() && others.is_empty();
                let state = ProducedState {
                    tx: [0; 32],
                    output: 0,
                    seq: 0,
                    contract: format!("contract.{contract}"),
                    token: token.map(|(n, _)| TokenFacts {
                        id: [n; 32],
                        symbol: ["GBP", "GBP", "EUR"][usize::from(n)].into(),
                        issuer: format!("bank {n}"),
                    }),
                    quantity: token.map_or(0, |(_, quantity)| quantity),
                    owner: owner.map(key),
                    owner_party: owner.and_then(|owner| party_of(&key(owner))),
                    participants: (!only_owner).then(Vec::new),
                    participant_keys: others
                        .into_iter()
                        .map(|other| (key(other), party_of(&key(other))))
                        .collect(),
                    linear_id: linear.map(|n| [n; 32]),
                    notary: [notary; 32],
                    recorded_at: at,
                    state: vec![1],
                    columns: columns(contract, column),
                };
                Made {
                    id: 0,
                    state,
                    consumed,
                    quarantine,
                }
            },
        )
}

fn datum(field: Field) -> BoxedStrategy<Datum> {
    let bytes = |width: usize| {
        (0..4u8)
            .prop_map(move |n| Datum::Bytes(vec![n; width]))
            .boxed()
    };
    match field {
        Field::Contract => (0..4u8)
            .prop_map(|n| Datum::Text(format!("contract.{n}")))
            .boxed(),
        Field::Symbol => prop_oneof![Just("GBP"), Just("EUR"), Just("' OR 1=1 --")]
            .prop_map(|text| Datum::Text(text.into()))
            .boxed(),
        Field::Issuer => (0..4u8)
            .prop_map(|n| Datum::Text(format!("bank {n}")))
            .boxed(),
        Field::Owner | Field::Participant => bytes(34),
        Field::Notary
        | Field::Token
        | Field::LinearId
        | Field::OwnerParty
        | Field::ParticipantParty => bytes(32),
        Field::Column(1) => proptest::sample::select(&["", "a", "ab", "b", "\u{10ffff}x"][..])
            .prop_map(|text| Datum::Text(text.into()))
            .boxed(),
        Field::Column(2) => bytes(3),
        _ => prop_oneof![0..6u64, Just(i64::MAX as u64), Just(HUGE), Just(u64::MAX)]
            .prop_map(Datum::Number)
            .boxed(),
    }
}

const SORTABLE: [Field; 14] = [
    Field::Column(0),
    Field::Column(1),
    Field::Column(2),
    Field::Contract,
    Field::Owner,
    Field::Notary,
    Field::Token,
    Field::Symbol,
    Field::Issuer,
    Field::Quantity,
    Field::RecordedAt,
    Field::ConsumedAt,
    Field::Number,
    Field::LinearId,
];
/// Fields that have no order.
const TESTED: [Field; 3] = [
    Field::Participant,
    Field::OwnerParty,
    Field::ParticipantParty,
];
const ORDERED: [Field; 6] = [
    Field::Quantity,
    Field::RecordedAt,
    Field::ConsumedAt,
    Field::Column(0),
    Field::Column(1),
    Field::Column(2),
];
const TEXTS: [Field; 4] = [
    Field::Contract,
    Field::Symbol,
    Field::Issuer,
    Field::Column(1),
];

fn criterion() -> impl Strategy<Value = Criterion> {
    let fields = [&SORTABLE[..], &TESTED[..]].concat();
    let leaf = prop_oneof![
        any::<bool>().prop_map(Criterion::Consumed),
        any::<bool>().prop_map(Criterion::Quarantined),
        proptest::sample::select(fields).prop_flat_map(|field| {
            proptest::collection::vec(datum(field), 0..3)
                .prop_map(move |values| Criterion::In(field, values))
        }),
        proptest::sample::select(&ORDERED[..]).prop_flat_map(|field| {
            let bound = || proptest::option::of(datum(field));
            (bound(), bound()).prop_map(move |(from, to)| Criterion::Between(field, from, to))
        }),
        (proptest::sample::select(&ORDERED[..]), any::<bool>()).prop_flat_map(|(field, less)| {
            datum(field).prop_map(move |value| {
                if less {
                    Criterion::Less(field, value)
                } else {
                    Criterion::Greater(field, value)
                }
            })
        }),
        (
            proptest::sample::select(&TEXTS[..]),
            proptest::sample::select(
                &["", "a", "ab", "contract.1", "G", "bank ", "\u{10ffff}"][..]
            )
        )
            .prop_map(|(field, prefix)| Criterion::Prefix(field, prefix.into())),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Criterion::All),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Criterion::Any),
            inner.prop_map(|part| Criterion::Not(Box::new(part))),
        ]
    })
}

fn value(made: &Made, field: Field) -> Option<Datum> {
    let state = &made.state;
    let token = state.token.as_ref();
    match field {
        Field::Contract => Some(Datum::Text(state.contract.clone())),
        Field::Owner => state.owner.clone().map(Datum::Bytes),
        Field::Notary => Some(Datum::Bytes(state.notary.to_vec())),
        Field::Token => token.map(|token| Datum::Bytes(token.id.to_vec())),
        Field::Symbol => token.map(|token| Datum::Text(token.symbol.clone())),
        Field::Issuer => token.map(|token| Datum::Text(token.issuer.clone())),
        Field::Quantity => token.map(|_| Datum::Number(state.quantity)),
        Field::RecordedAt => Some(Datum::Number(state.recorded_at)),
        Field::ConsumedAt => made.consumed.map(Datum::Number),
        Field::Number => Some(Datum::Number(made.id as u64)),
        Field::LinearId => state.linear_id.map(|id| Datum::Bytes(id.to_vec())),
        Field::OwnerParty => {
            let party = state.owner.as_deref().and_then(party_of);
            party.map(|party| Datum::Bytes(party.to_vec()))
        }
        Field::Participant | Field::ParticipantParty => None,
        Field::Column(id) => {
            let mut columns = state.columns.iter();
            columns
                .find(|(column, _)| *column == id)
                .map(|(_, value)| value.clone())
        }
    }
}

fn meets(made: &Made, criterion: &Criterion) -> bool {
    match criterion {
        Criterion::All(parts) => parts.iter().all(|part| meets(made, part)),
        Criterion::Any(parts) => parts.iter().any(|part| meets(made, part)),
        Criterion::Not(part) => !meets(made, part),
        Criterion::Consumed(consumed) => made.consumed.is_some() == *consumed,
        Criterion::Quarantined(quarantined) => made.is_quarantined() == *quarantined,
        Criterion::In(field @ (Field::Participant | Field::ParticipantParty), values) => {
            let keys = made.state.participant_keys.iter();
            let mut keys: Vec<Vec<u8>> = keys.map(|(key, _)| key.clone()).collect();
            if made.state.participants.is_none() {
                keys.extend(made.state.owner.clone());
            }
            let meant = |key: Vec<u8>| match field {
                Field::Participant => Some(Datum::Bytes(key)),
                _ => party_of(&key).map(|party| Datum::Bytes(party.to_vec())),
            };
            let mut meant = keys.into_iter().filter_map(meant);
            meant.any(|datum| values.contains(&datum))
        }
        Criterion::In(field, values) => {
            value(made, *field).is_some_and(|value| values.contains(&value))
        }
        Criterion::Less(field, than) => value(made, *field).is_some_and(|value| value < *than),
        Criterion::Greater(field, than) => value(made, *field).is_some_and(|value| value > *than),
        Criterion::Prefix(field, prefix) => value(made, *field)
            .is_some_and(|value| matches!(value, Datum::Text(text) if text.starts_with(prefix))),
        Criterion::Between(field, from, to) => value(made, *field).is_some_and(|value| {
            from.as_ref().is_none_or(|from| value >= *from)
                && to.as_ref().is_none_or(|to| value <= *to)
        }),
        Criterion::At(_) => unreachable!("tested by itself"),
    }
}

/// An order ends with the number: it is never the same twice.
fn until_number(sort: &[(Field, bool)]) -> &[(Field, bool)] {
    let end = sort.iter().position(|(field, _)| *field == Field::Number);
    &sort[..end.unwrap_or(sort.len())]
}

/// Checks that balances, coins and pages leave the states in quarantine out of what can be spent.
fn agree(reader: &VaultReader, states: &[Made]) -> Result<(), TestCaseError> {
    let open = |made: &&Made| made.consumed.is_none();
    for token in 0..3u8 {
        let of = |quarantined: bool| {
            let of_token = |made: &&Made| {
                made.state
                    .token
                    .as_ref()
                    .is_some_and(|t| t.id == [token; 32])
                    && made.is_quarantined() == quarantined
            };
            let held: Vec<u64> = (states.iter().filter(open).filter(of_token))
                .map(|made| made.state.quantity)
                .collect();
            let sum: u128 = held.iter().map(|quantity| u128::from(*quantity)).sum();
            (held.len() as u64, sum)
        };
        let balance = reader.balance(&[token; 32]).expect("readable");
        let found = balance.as_ref().map_or(((0, 0), (0, 0)), |balance| {
            (
                (balance.states, balance.quantity),
                (balance.quarantined_states, balance.quarantined),
            )
        });
        prop_assert_eq!(found, (of(false), of(true)));
        let all = reader.balances().expect("readable");
        let listed = all.into_iter().find(|b| b.token.id == [token; 32]);
        let balance = balance.filter(|b| b.states + b.quarantined_states > 0);
        prop_assert_eq!(listed, balance);
        let coins = reader.coins(&[token; 32], None, 100, |_, _| false);
        let coins = coins.expect("readable");
        let sum = coins.iter().map(|coin| u128::from(coin.quantity)).sum();
        prop_assert_eq!((coins.len() as u64, sum), of(false));
    }
    for quarantined in [None, Some(false), Some(true)] {
        let filter = StateFilter {
            quarantined,
            ..StateFilter::default()
        };
        let page = reader.unconsumed(&filter, 0, 100).expect("readable");
        let found: Vec<_> = page
            .iter()
            .map(|row| (row.cursor, row.quarantined))
            .collect();
        let expected = states.iter().filter(open).filter(|made| {
            quarantined.is_none_or(|quarantined| made.is_quarantined() == quarantined)
        });
        let expected = expected.map(|made| (made.id, made.is_quarantined()));
        prop_assert_eq!(found, expected.collect::<Vec<_>>());
    }
    Ok(())
}

proptest! {
    #![proptest_config(properties::config!(200))]
    #[test]
    fn answers_equal_those_of_a_plain_filter(
        mut states in proptest::collection::vec(made(), 0..30),
        criterion in criterion(),
        sort in proptest::collection::vec((proptest::sample::select(&SORTABLE[..]), any::<bool>()), 0..3),
        by in proptest::collection::vec(proptest::sample::select(&SORTABLE[..]), 0..3),
        limit in 1..9usize,
        common in proptest::sample::select(&[0, 3, 10_000][..]),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vault.sqlite");
        let mut view = VaultView::open(&path, &options(), u64::MAX).expect("opens");
        let mut changes = Vec::new();
        for (made, seq) in states.iter_mut().zip(1..) {
            made.state.seq = seq;
            made.id = (seq << 16) as i64;
            changes.push(ViewChange::Produced(made.state.clone()));
        }
        let quarantine = |made: &Made| {
            ViewChange::Quarantined(QuarantinedState { of_seq: made.state.seq, output: 0 })
        };
        let before = states.iter().filter(|made| made.quarantine == Some(true));
        changes.extend(before.map(quarantine));
        for made in &states {
            changes.extend(made.consumed.map(|at| {
                ViewChange::Consumed(ConsumedState { of_seq: made.state.seq, output: 0, seq: 99, at })
            }));
        }
        let after = states.iter().filter(|made| made.quarantine.is_some());
        changes.extend(after.map(quarantine));
        // No state of this view.
        changes.push(ViewChange::Quarantined(QuarantinedState { of_seq: 98, output: 7 }));
        view.apply(99, &changes).expect("applied");
        let reader = view.reader().expect("a reader").with_common(common);
        agree(&reader, &states)?;

        let counted = states.iter().filter(|made| meets(made, &criterion)).count();
        let count = reader.count(&criterion).expect("a count");
        prop_assert_eq!((count.states, count.more), (counted as u64, false));

        let listed = |made: &&Made| {
            let lacks = |(by, _): &(Field, bool)| matches!(by, Field::Column(_)) && value(made, *by).is_none();
            meets(made, &criterion) && !until_number(&sort).iter().any(lacks)
        };
        let mut expected: Vec<&Made> = states.iter().filter(listed).collect();
        let last_descends = sort.last().is_some_and(|(_, descending)| *descending);
        expected.sort_by(|a, b| {
            for (field, descending) in &sort {
                let order = value(a, *field).cmp(&value(b, *field));
                let order = if *descending { order.reverse() } else { order };
                if order.is_ne() {
                    return order;
                }
            }
            if last_descends { b.id.cmp(&a.id) } else { a.id.cmp(&b.id) }
        });
        let mut query = StateQuery {
            criterion: criterion.clone(),
            sort: sort.iter().map(|(by, descending)| Sort { by: *by, descending: *descending }).collect(),
            after: None,
            limit,
        };
        let mut found = Vec::new();
        loop {
            let page = reader.query(&query).expect("an answer");
            found.extend(page.rows.iter().map(|row| (row.cursor, row.quantity, row.consumed_at, row.quarantined, row.columns.clone())));
            let Some(next) = page.next else { break };
            query.after = Some(next);
        }
        let expected: Vec<_> = expected.iter().map(|made| (made.id, made.state.quantity, made.consumed, made.is_quarantined(), made.state.columns.clone())).collect();
        prop_assert_eq!(found, expected);

        let mut groups = std::collections::BTreeMap::new();
        for made in states.iter().filter(|made| meets(made, &criterion)) {
            let key: Vec<_> = by.iter().map(|field| value(made, *field)).collect();
            let group: &mut (u64, u128) = groups.entry(key).or_default();
            group.0 += 1;
            group.1 += u128::from(made.state.quantity);
        }
        if by.is_empty() && groups.is_empty() {
            groups.insert(Vec::new(), (0, 0));
        }
        let found = reader.groups(&criterion, &by).expect("groups");
        let found: Vec<_> = found.into_iter().map(|group| (group.key, (group.states, group.quantity))).collect();
        prop_assert_eq!(found, groups.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_partys_name_finds_the_states_of_all_its_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vault.sqlite");
    let mut view = VaultView::open(&path, &ViewOptions::default(), u64::MAX).expect("opens");
    // Every third key is of another party, and every tenth state is shared by two; each key is used once.
    let state = |seq: u64| {
        let key = |salt: u8| [&[salt; 26][..], &seq.to_be_bytes()].concat();
        let party = [u8::from(seq.is_multiple_of(3)); 32];
        let shared = seq.is_multiple_of(10);
        ViewChange::Produced(ProducedState {
            tx: [0; 32],
            output: 0,
            seq,
            contract: "some".into(),
            token: None,
            quantity: 0,
            owner: Some(key(0)),
            owner_party: Some(party),
            participants: shared.then(Vec::new),
            participant_keys: match shared {
                true => vec![(key(1), Some([7; 32]))],
                false => Vec::new(),
            },
            linear_id: None,
            notary: [9; 32],
            recorded_at: 1,
            state: vec![1],
            columns: Vec::new(),
        })
    };
    let changes: Vec<ViewChange> = (1..=6_000).map(state).collect();
    view.apply(6_000, &changes).expect("applied");
    let reader = view.reader().expect("a reader");
    let of = |field, party: u8| Criterion::In(field, vec![Datum::Bytes(vec![party; 32])]);
    for (field, party, expected) in [
        (Field::OwnerParty, 0, 4_000),
        (Field::OwnerParty, 1, 2_000),
        (Field::OwnerParty, 7, 0),
        (Field::OwnerParty, 9, 0),
        (Field::ParticipantParty, 7, 600),
        (Field::ParticipantParty, 0, 3_600),
    ] {
        let both = Criterion::All(vec![Criterion::Consumed(false), of(field, party)]);
        let count = reader.count(&both).expect("a count").states;
        assert_eq!(count, expected, "{field:?} {party}");
        let query = StateQuery {
            criterion: both,
            sort: Vec::new(),
            after: None,
            limit: 5,
        };
        let rows = reader.query(&query).expect("an answer").rows.len();
        assert_eq!(rows as u64, expected.min(5), "{field:?} {party}");
    }
}

#[test]
fn a_mark_of_another_query_is_refused_and_so_are_deep_criteria() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vault.sqlite");
    let view = VaultView::open(&path, &ViewOptions::default(), u64::MAX).expect("opens");
    let reader = view.reader().expect("a reader");
    let query = |criterion, after: Option<&str>| {
        let after = after.map(str::to_owned);
        let query = StateQuery {
            criterion,
            sort: Vec::new(),
            after,
            limit: 1,
        };
        reader
            .query(&query)
            .map(|page| page.rows.len())
            .map_err(|error| error.to_string())
    };
    let all = || Criterion::All(Vec::new());
    let deep = (0..10).fold(all(), |inner, _| Criterion::Not(Box::new(inner)));
    let many = Criterion::Any(vec![all(); 100]);
    let values = Criterion::In(Field::Number, vec![Datum::Number(1); 300]);
    assert_eq!(query(all(), None), Ok(0));
    for (criterion, after, part) in [
        (all(), Some("00"), "no mark"),
        (all(), Some("zz"), "no mark"),
        (all(), Some("000000000000000001000801"), "no mark"),
        (deep, None, "nested deeper"),
        (many, None, "criteria"),
        (values, None, "values"),
    ] {
        let text = query(criterion, after).expect_err(part);
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn states_are_picked_by_place_and_a_page_goes_on_with_other_places_of_the_same_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vault.sqlite");
    let mut view = VaultView::open(&path, &ViewOptions::default(), 100).expect("opens");
    let state = |seq: u64| ProducedState {
        tx: [1; 32],
        output: 0,
        seq,
        contract: "c".into(),
        token: None,
        quantity: 0,
        owner: None,
        owner_party: None,
        participants: None,
        participant_keys: Vec::new(),
        linear_id: None,
        notary: [9; 32],
        recorded_at: 100 - seq,
        state: vec![1],
        columns: Vec::new(),
    };
    let changes: Vec<ViewChange> = (1..=9)
        .map(|seq| ViewChange::Produced(state(seq)))
        .collect();
    view.apply(9, &changes).expect("applied");
    let reader = view.reader().expect("a reader");
    let at = |seqs: &[u64]| {
        let places = seqs.iter().map(|seq| seq << 16);
        Criterion::At(Places::new("some".into(), places))
    };
    let not = |part| Criterion::Not(Box::new(part));
    let by_time = vec![Sort {
        by: Field::RecordedAt,
        descending: false,
    }];
    let found = |criterion: &Criterion, sort: &[Sort], after: Option<String>, limit| {
        let query = StateQuery {
            criterion: criterion.clone(),
            sort: sort.to_vec(),
            after,
            limit,
        };
        let page = reader.query(&query).expect("a page");
        let seqs: Vec<u64> = page.rows.iter().map(|row| row.seq).collect();
        (seqs, page.next)
    };
    let many: Vec<u64> = (5..5_000).collect();
    for (criterion, seqs) in [
        (at(&[]), vec![]),
        (at(&[3, 7, 7, 90]), vec![3, 7]),
        (at(&many), vec![5, 6, 7, 8, 9]),
        (not(at(&many)), vec![1, 2, 3, 4]),
        (not(at(&[])), (1..=9).collect()),
        (Criterion::Any(vec![at(&[2]), at(&[4])]), vec![2, 4]),
        (Criterion::All(vec![at(&[2, 4]), not(at(&[4]))]), vec![2]),
    ] {
        assert_eq!(found(&criterion, &[], None, 100).0, seqs);
        let reversed: Vec<u64> = seqs.iter().rev().copied().collect();
        assert_eq!(found(&criterion, &by_time, None, 100).0, reversed);
        let count = reader.count(&criterion).expect("a count");
        assert_eq!(count.states, seqs.len() as u64);
        let groups = reader
            .groups(&criterion, &[Field::Contract])
            .expect("groups");
        assert_eq!(
            groups.first().map_or(0, |group| group.states),
            seqs.len() as u64
        );
    }
    let (first, next) = found(&at(&[1, 2, 5, 8]), &[], None, 2);
    assert_eq!(first, [1, 2]);
    assert_eq!(found(&at(&[5, 6, 9]), &[], next, 10).0, [5, 6, 9]);
}
