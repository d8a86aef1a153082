//! How long queries take among many states, typical ones and awkward ones: the middle and the best of some runs.
//!
//! `cargo run --release -p vaultview --example query_bench -- [STATES [FILE]]`; an existing file is asked, not filled.

use std::path::{Path, PathBuf};
use std::time::Instant;

use vaultview::{
    ColumnKind, ConsumedState, Criterion, Datum, Field, ProducedState, Sort, StateQuery,
    TokenFacts, VaultReader, VaultView, ViewChange, ViewColumn, ViewOptions,
};

const TRANSACTION: u64 = 10_000;
const RUNS: usize = 11;
const START: u64 = 1_700_000_000_000;
/// Bytes of a random number each, so that they scatter in an index.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

fn mixed(n: u64, salt: u64) -> u64 {
    let x = (n + 1).wrapping_mul(MIX ^ salt.wrapping_mul(0x1000_0001));
    (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
}

fn key(n: u64) -> Vec<u8> {
    let mut key = vec![1; 34];
    key[2..10].copy_from_slice(&mixed(n, 3).to_be_bytes());
    key
}

fn id(n: u64) -> [u8; 32] {
    let mut id = [7; 32];
    id[..8].copy_from_slice(&mixed(n, 5).to_be_bytes());
    id
}

fn options() -> ViewOptions {
    let column = |contract: &str, name: &str, kind| ViewColumn {
        contract: contract.into(),
        name: name.into(),
        kind,
    };
    ViewOptions {
        columns: vec![
            column("tally.obligation", "due_at_ms", ColumnKind::Number),
            column("tally.obligation", "debtor", ColumnKind::Text),
        ],
        ..ViewOptions::default()
    }
}

/// Returns one state: cash in 4 currencies of 3 issuers, where one currency of one issuer is 40 % of all states. A
/// twelfth are obligations among 200 parties, where the last few parties are rare. Another twelfth are versions of
/// linear states. One cash state in 50 belongs to a fresh key.
fn produced(seq: u64) -> ViewChange {
    let kind = mixed(seq, 1) % 12;
    let (obligation, linear) = (kind == 0, kind == 1);
    let cash = !obligation && !linear;
    let issuer = if mixed(seq, 2) % 10 < 6 {
        0
    } else {
        mixed(seq, 4) % 3
    };
    let currency = if mixed(seq, 6) % 10 < 6 {
        0
    } else {
        mixed(seq, 7) % 4
    };
    // Squared, so that the high numbers are rare.
    let party = {
        let r = mixed(seq, 8) % 10_000;
        10 + r * r / 500_000
    };
    let party = if mixed(seq, 14).is_multiple_of(20_000) {
        500
    } else {
        party
    };
    let fresh = cash && mixed(seq, 9).is_multiple_of(50);
    let owner = if fresh { 1_000_000 + seq } else { 0 };
    ViewChange::Produced(ProducedState {
        tx: id(seq),
        output: 0,
        seq,
        contract: ["tally.obligation", "example.iou", "tally.cash"][(kind as usize).min(2)].into(),
        token: cash.then(|| TokenFacts {
            id: id(100 + issuer * 4 + currency),
            symbol: ["GBP", "EUR", "USD", "CHF"][currency as usize].into(),
            issuer: format!("O=Bank {issuer}, L=London, C=GB"),
        }),
        quantity: if cash {
            1 + mixed(seq, 10) % 1_000_000
        } else {
            0
        },
        owner: cash.then(|| key(owner)),
        owner_party: None,
        participants: (!cash).then(|| vec![1; 70]),
        participant_keys: if cash {
            Vec::new()
        } else {
            vec![(key(0), None), (key(party), None)]
        },
        linear_id: (!cash).then(|| id(5_000_000 + seq / 48)),
        notary: [9; 32],
        recorded_at: START + seq,
        state: vec![0x5a; 130],
        columns: if obligation {
            vec![
                (0, Datum::Number(START + mixed(seq, 11) % 1_000_000_000)),
                (1, Datum::Text(format!("O=Party {party}, L=London, C=GB"))),
            ]
        } else {
            Vec::new()
        },
    })
}

fn timed(mut ask: impl FnMut() -> usize) -> (usize, f64, f64) {
    let mut times = Vec::new();
    let mut rows = 0;
    let began = Instant::now();
    while times.len() < RUNS && (times.len() < 3 || began.elapsed().as_secs() < 3) {
        let started = Instant::now();
        rows = ask();
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    (rows, times[times.len() / 2], times[0])
}

fn report(name: &str, (rows, middle, best): (usize, f64, f64)) {
    println!("{name:<46} {rows:>6} rows {middle:>9.3} ms, best {best:>9.3}");
}

fn page(
    reader: &VaultReader,
    name: &str,
    criteria: &[Criterion],
    sort: &[(Field, bool)],
    deep: usize,
) {
    let sort = sort.iter().map(|(by, descending)| Sort {
        by: *by,
        descending: *descending,
    });
    let mut query = StateQuery {
        criterion: Criterion::All(criteria.to_vec()),
        sort: sort.collect(),
        after: None,
        limit: 1_000,
    };
    let mut passed = 0;
    while passed < deep {
        let page = reader.query(&query).expect("an answer");
        passed += page.rows.len();
        let Some(next) = page.next else { break };
        query.after = Some(next);
    }
    query.limit = 100;
    report(
        name,
        timed(|| reader.query(&query).expect("an answer").rows.len()),
    );
}

fn fill(path: &Path, states: u64) {
    let mut view = VaultView::open(path, &options(), u64::MAX).expect("opens");
    let started = Instant::now();
    let mut changes = Vec::new();
    for seq in 1..=states {
        changes.push(produced(seq));
        if seq > TRANSACTION && mixed(seq, 12) % 10 < 3 {
            changes.push(ViewChange::Consumed(ConsumedState {
                of_seq: seq - TRANSACTION + 1,
                output: 0,
                seq,
                at: START + seq,
            }));
        }
        if seq.is_multiple_of(TRANSACTION) || seq == states {
            view.apply(seq, &changes).expect("applied");
            changes.clear();
        }
    }
    let took = started.elapsed().as_secs_f64();
    println!(
        "fill: {:.0} states/s, {:.2} us each",
        states as f64 / took,
        took * 1e6 / states as f64
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let states: u64 = arguments
        .next()
        .map_or(1_000_000, |text| text.parse().expect("STATES is a number"));
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let path = arguments
        .next()
        .map_or_else(|| folder.path().join("vault.sqlite"), PathBuf::from);
    if !path.exists() {
        fill(&path, states);
    }
    let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
    println!("{:.0} bytes a state", bytes as f64 / states as f64);
    let reader =
        VaultReader::open(&path, ViewOptions::default().reader_cache_bytes).expect("a reader");
    ask(&reader, states);
}

fn ask(reader: &VaultReader, states: u64) {
    let text = |field, text: &str| Criterion::In(field, vec![Datum::Text(text.into())]);
    let bytes = |field, bytes: &[u8]| Criterion::In(field, vec![Datum::Bytes(bytes.to_vec())]);
    let symbol = |name: &str| text(Field::Symbol, name);
    let issuer = |n: u32| text(Field::Issuer, &format!("O=Bank {n}, L=London, C=GB"));
    let contract = |name: &str| text(Field::Contract, name);
    let party = |n: u64| bytes(Field::Participant, &key(n));
    let not = |part: Criterion| Criterion::Not(Box::new(part));
    let since = |field, share: u64| {
        Criterion::Between(
            field,
            Some(Datum::Number(START + states - states / share)),
            None,
        )
    };
    let open = Criterion::Consumed(false);
    let due = Field::Column(0);
    let debtor = |n: u64| text(Field::Column(1), &format!("O=Party {n}, L=London, C=GB"));
    let by_quantity = [(Field::Quantity, true)];
    let newest = [(Field::Number, true)];
    let late = [(Field::RecordedAt, true)];
    let due_within = |days: u64| {
        Criterion::Between(
            due,
            Some(Datum::Number(START)),
            Some(Datum::Number(START + days * 86_400_000)),
        )
    };
    type Case<'a> = (&'a str, Vec<Criterion>, Vec<(Field, bool)>, usize);
    let cases: Vec<Case<'_>> = vec![
        (
            "coins of a token, by quantity",
            vec![open.clone(), symbol("GBP"), issuer(0)],
            by_quantity.to_vec(),
            0,
        ),
        (
            "  the same, 200,000 deep",
            vec![open.clone(), symbol("GBP"), issuer(0)],
            by_quantity.to_vec(),
            200_000,
        ),
        (
            "coins of a symbol (3 tokens), by quantity",
            vec![open.clone(), symbol("GBP")],
            by_quantity.to_vec(),
            0,
        ),
        (
            "  the same, 200,000 deep",
            vec![open.clone(), symbol("GBP")],
            by_quantity.to_vec(),
            200_000,
        ),
        (
            "  with the token first",
            vec![open.clone(), symbol("GBP")],
            vec![(Field::Token, false), (Field::Quantity, true)],
            0,
        ),
        (
            "of an issuer, by quantity",
            vec![open.clone(), issuer(1)],
            by_quantity.to_vec(),
            0,
        ),
        (
            "  at least",
            vec![
                open.clone(),
                symbol("GBP"),
                Criterion::Greater(Field::Quantity, Datum::Number(999_000)),
            ],
            by_quantity.to_vec(),
            0,
        ),
        (
            "all, by quantity",
            vec![open.clone()],
            by_quantity.to_vec(),
            0,
        ),
        (
            "all, by quantity ascending",
            vec![open.clone()],
            vec![(Field::Quantity, false)],
            0,
        ),
        (
            "all and consumed, by quantity",
            vec![],
            by_quantity.to_vec(),
            0,
        ),
        (
            "by linear id",
            vec![bytes(Field::LinearId, &id(5_000_000 + states / 100))],
            vec![],
            0,
        ),
        (
            "frequent participant",
            vec![open.clone(), party(0)],
            newest.to_vec(),
            0,
        ),
        (
            "frequent other participant",
            vec![open.clone(), party(10)],
            newest.to_vec(),
            0,
        ),
        (
            "rare participant",
            vec![open.clone(), party(500)],
            newest.to_vec(),
            0,
        ),
        (
            "rare participant, by recorded",
            vec![open.clone(), party(500)],
            late.to_vec(),
            0,
        ),
        (
            "rare participant, time range",
            vec![open.clone(), party(500), since(Field::RecordedAt, 10)],
            late.to_vec(),
            0,
        ),
        (
            "frequent participant, time range",
            vec![open.clone(), party(10), since(Field::RecordedAt, 10)],
            late.to_vec(),
            0,
        ),
        (
            "most frequent participant, time range",
            vec![open.clone(), party(0), since(Field::RecordedAt, 10)],
            late.to_vec(),
            0,
        ),
        (
            "nobody's",
            vec![open.clone(), party(77_777)],
            newest.to_vec(),
            0,
        ),
        (
            "fresh owner",
            vec![
                open.clone(),
                bytes(Field::Owner, &key(1_000_000 + states / 2)),
            ],
            newest.to_vec(),
            0,
        ),
        (
            "frequent owner, by quantity",
            vec![open.clone(), bytes(Field::Owner, &key(0))],
            by_quantity.to_vec(),
            0,
        ),
        ("column is", vec![open.clone(), debtor(10)], vec![], 0),
        ("column is rare", vec![open.clone(), debtor(500)], vec![], 0),
        (
            "column range, by column",
            vec![open.clone(), contract("tally.obligation"), due_within(2)],
            vec![(due, false)],
            0,
        ),
        (
            "column range, by recorded",
            vec![open.clone(), due_within(5)],
            late.to_vec(),
            0,
        ),
        (
            "column and participant, by column",
            vec![open.clone(), party(10), due_within(5)],
            vec![(due, false)],
            0,
        ),
        (
            "rare debtor, by due",
            vec![open.clone(), debtor(500)],
            vec![(due, false)],
            0,
        ),
        (
            "of a contract, newest",
            vec![open.clone(), contract("tally.obligation")],
            newest.to_vec(),
            0,
        ),
        (
            "of a contract, by recorded",
            vec![open.clone(), contract("example.iou")],
            late.to_vec(),
            0,
        ),
        (
            "not cash",
            vec![open.clone(), not(contract("tally.cash"))],
            newest.to_vec(),
            0,
        ),
        (
            "not a frequent participant",
            vec![open.clone(), not(party(0))],
            newest.to_vec(),
            0,
        ),
        (
            "combined, by recorded",
            vec![
                open.clone(),
                Criterion::Any(vec![symbol("USD"), contract("tally.obligation")]),
                not(issuer(0)),
                since(Field::RecordedAt, 2),
            ],
            late.to_vec(),
            0,
        ),
        (
            "combined, by quantity",
            vec![
                open.clone(),
                Criterion::Any(vec![symbol("USD"), symbol("CHF")]),
                not(issuer(0)),
                since(Field::RecordedAt, 2),
            ],
            by_quantity.to_vec(),
            0,
        ),
        (
            "(coins over or rare party), newest",
            vec![
                open.clone(),
                Criterion::Any(vec![
                    Criterion::Greater(Field::Quantity, Datum::Number(999_990)),
                    party(500),
                ]),
            ],
            newest.to_vec(),
            0,
        ),
        ("everything, 500,000 deep", vec![], vec![], 500_000),
        (
            "unconsumed, newest, 300,000 deep",
            vec![open.clone()],
            late.to_vec(),
            300_000,
        ),
        (
            "consumed lately",
            vec![Criterion::Consumed(true), since(Field::ConsumedAt, 10)],
            vec![(Field::ConsumedAt, true)],
            0,
        ),
        (
            "consumed of a rare token, lately",
            vec![Criterion::Consumed(true), symbol("CHF"), issuer(2)],
            vec![(Field::ConsumedAt, true)],
            0,
        ),
        (
            "all of a token, by recorded",
            vec![symbol("CHF"), issuer(2)],
            late.to_vec(),
            0,
        ),
        (
            "by symbol",
            vec![open.clone()],
            vec![(Field::Symbol, false)],
            0,
        ),
        (
            "by contract",
            vec![open.clone()],
            vec![(Field::Contract, false)],
            0,
        ),
        (
            "by owner",
            vec![open.clone()],
            vec![(Field::Owner, false)],
            0,
        ),
        (
            "by linear id order",
            vec![open.clone()],
            vec![(Field::LinearId, false)],
            0,
        ),
        (
            "nothing: two that exclude each other",
            vec![open.clone(), symbol("GBP"), contract("example.iou")],
            late.to_vec(),
            0,
        ),
    ];
    for (name, criteria, sort, deep) in &cases {
        page(reader, name, criteria, sort, *deep);
    }
    let groups = |name: &str, criteria: &[Criterion], by: &[Field]| {
        let criterion = Criterion::All(criteria.to_vec());
        report(
            name,
            timed(|| reader.groups(&criterion, by).expect("groups").len()),
        );
    };
    groups(
        "sums by token",
        std::slice::from_ref(&open),
        &[Field::Token],
    );
    groups(
        "sums by symbol and issuer",
        std::slice::from_ref(&open),
        &[Field::Symbol, Field::Issuer],
    );
    groups("sums by contract, all", &[], &[Field::Contract]);
    groups(
        "sums of a frequent owner by token",
        &[open.clone(), bytes(Field::Owner, &key(0))],
        &[Field::Token],
    );
    groups(
        "sums of not cash",
        &[open.clone(), not(contract("tally.cash"))],
        &[Field::Contract],
    );
    groups(
        "sums of large coins by token",
        &[
            open.clone(),
            Criterion::Greater(Field::Quantity, Datum::Number(900_000)),
        ],
        &[Field::Token],
    );
    groups(
        "sums of the last tenth by token",
        &[open.clone(), since(Field::RecordedAt, 10)],
        &[Field::Token],
    );
    groups(
        "sums of a rare participant",
        &[open.clone(), party(500)],
        &[Field::Contract],
    );
    groups(
        "sums of a participant",
        &[open.clone(), party(10)],
        &[Field::Contract],
    );
    let count = |name: &str, criteria: &[Criterion]| {
        let criterion = Criterion::All(criteria.to_vec());
        report(
            name,
            timed(|| reader.count(&criterion).expect("a count").states as usize),
        );
    };
    count("count of a token", &[open.clone(), symbol("GBP")]);
    count(
        "count of large coins",
        &[
            open.clone(),
            Criterion::Greater(Field::Quantity, Datum::Number(900_000)),
        ],
    );
    count("count of a participant", &[open.clone(), party(10)]);
}
