//! How long five typical queries take among many states: JSON of p50 in milliseconds.
//!
//! `cargo run --release -p store --example query_bench -- [STATES]`

use std::time::Instant;

use store::{
    ConsumedState, Criterion, Datum, Field, ProducedState, Sort, StateQuery, TokenFacts,
    VaultReader, VaultView, ViewChange, ViewOptions,
};

const TRANSACTION: u64 = 10_000;
const RUNS: usize = 21;
const START: u64 = 1_700_000_000_000;

fn produced(seq: u64) -> ViewChange {
    let linear = seq.is_multiple_of(10);
    let symbol = ["GBP", "EUR", "USD", "CHF"][(seq % 4) as usize];
    let mut linear_id = [0; 32];
    linear_id[..8].copy_from_slice(&(seq / 20).to_be_bytes());
    ViewChange::Produced(ProducedState {
        tx: [(seq % 251) as u8; 32],
        output: 0,
        seq,
        contract: if linear { "tally.iou" } else { "tally.cash" }.into(),
        token: (!linear).then(|| TokenFacts {
            id: [(seq % 4) as u8; 32],
            symbol: symbol.into(),
            issuer: "O=Bank A, L=London, C=GB".into(),
        }),
        quantity: 1 + seq.wrapping_mul(0x9e37_79b9) % 1_000_000,
        owner: (!linear).then(|| vec![(seq % 16) as u8; 34]),
        owner_party: None,
        participants: linear.then(|| vec![1; 70]),
        participant_keys: if linear {
            vec![(vec![1; 34], None), (vec![(seq % 100) as u8; 34], None)]
        } else {
            Vec::new()
        },
        linear_id: linear.then_some(linear_id),
        notary: [9; 32],
        recorded_at: START + seq,
        state: vec![0x5a; 130],
        columns: Vec::new(),
    })
}

fn p50(mut ask: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            ask();
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn page(reader: &VaultReader, criteria: Vec<Criterion>, sort: &[(Field, bool)]) -> f64 {
    let sort = sort
        .iter()
        .map(|(by, descending)| Sort {
            by: *by,
            descending: *descending,
        })
        .collect();
    let query = StateQuery {
        criterion: Criterion::All(criteria),
        sort,
        after: None,
        limit: 100,
    };
    p50(|| {
        let page = reader.query(&query).expect("an answer");
        assert!(!page.rows.is_empty());
    })
}

fn main() {
    let states: u64 = std::env::args()
        .nth(1)
        .map_or(1_000_000, |text| text.parse().expect("STATES is a number"));
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let path = folder.path().join("vault.sqlite");
    let mut view = VaultView::open(&path, &ViewOptions::default(), u64::MAX).expect("opens");
    let started = Instant::now();
    let mut changes = Vec::new();
    for seq in 1..=states {
        changes.push(produced(seq));
        if seq > TRANSACTION && seq.is_multiple_of(5) {
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
    let fill = started.elapsed().as_secs_f64();
    let reader = view.reader().expect("a reader");
    let gbp = || Criterion::In(Field::Symbol, vec![Datum::Text("GBP".into())]);
    let last_tenth = Datum::Number(START + states - states / 10);
    let coins = page(
        &reader,
        vec![
            Criterion::Consumed(false),
            gbp(),
            Criterion::Between(Field::Quantity, Some(Datum::Number(500_000)), None),
        ],
        &[(Field::Quantity, true)],
    );
    let of_participant = page(
        &reader,
        vec![
            Criterion::Consumed(false),
            Criterion::In(Field::Participant, vec![Datum::Bytes(vec![50; 34])]),
        ],
        &[],
    );
    let mut linear_id = [0; 32];
    linear_id[..8].copy_from_slice(&(states / 40).to_be_bytes());
    let linear = page(
        &reader,
        vec![Criterion::In(
            Field::LinearId,
            vec![Datum::Bytes(linear_id.to_vec())],
        )],
        &[],
    );
    let recently_consumed = page(
        &reader,
        vec![
            Criterion::Consumed(true),
            Criterion::Between(Field::ConsumedAt, Some(last_tenth), None),
        ],
        &[(Field::ConsumedAt, true)],
    );
    let sums = p50(|| {
        let groups = reader
            .groups(&Criterion::Consumed(false), &[Field::Token])
            .expect("groups");
        assert!(!groups.is_empty());
    });
    println!(
        "{{\"states\":{states},\"fill_states_per_s\":{:.0},\"vault_query_ms\":{{\"coins_of_a_token_by_quantity\":{coins:.3},\"of_a_participant\":{of_participant:.3},\"by_linear_id\":{linear:.3},\"consumed_lately\":{recently_consumed:.3},\"sums_by_token\":{sums:.3}}}}}",
        states as f64 / fill
    );
}
