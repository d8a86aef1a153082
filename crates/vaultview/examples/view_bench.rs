//! Measures the cost of the vault's view: microseconds per bulk operation, bytes per state, time
//! per query.
//!
//! `cargo run --release -p vaultview --example view_bench -- [STATES]`

use std::time::Instant;

use vaultview::{
    ConsumedState, ProducedState, StateFilter, TokenFacts, VaultView, ViewChange, ViewOptions,
};

fn id(n: u64) -> [u8; 32] {
    let mut id = [0; 32];
    for (i, part) in id.chunks_mut(8).enumerate() {
        let mixed = (n + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15 + 2 * i as u64)
            .rotate_left(29);
        part.copy_from_slice(&mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9).to_le_bytes());
    }
    id
}

fn produced(seq: u64, output: u32) -> ViewChange {
    ViewChange::Produced(ProducedState {
        tx: id(seq),
        output,
        seq,
        contract: "tally.cash".into(),
        token: Some(TokenFacts {
            id: [3; 32],
            symbol: "GBP".into(),
            issuer: "O=Bank A, L=London, C=GB".into(),
        }),
        quantity: 1 + seq % 1000,
        owner: Some(vec![5; 34]),
        owner_party: None,
        participants: None,
        participant_keys: Vec::new(),
        linear_id: None,
        notary: [9; 32],
        recorded_at: 1_700_000_000_000 + seq,
        state: vec![0x5a; 130],
        columns: Vec::new(),
    })
}

fn consumed(of: u64, seq: u64) -> ViewChange {
    ViewChange::Consumed(ConsumedState {
        of_seq: of,
        output: 0,
        seq,
        at: 1_700_000_000_000 + seq,
    })
}

fn main() {
    let states: u64 = std::env::args()
        .nth(1)
        .map_or(1_000_000, |text| text.parse().expect("STATES is a number"));
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let path = folder.path().join("vault.sqlite");
    let mut view = VaultView::open(&path, &ViewOptions::default(), u64::MAX).expect("opens");
    let mut seq = 0;
    let bytes = || std::fs::metadata(&path).map_or(0, |meta| meta.len());

    let started = Instant::now();
    for _ in 0..states / 1000 {
        let changes: Vec<ViewChange> = (1..=1000).map(|i| produced(seq + i, 0)).collect();
        seq += 1000;
        view.apply(seq, &changes).expect("applied");
    }
    report("produce, one a transaction", states, started, bytes());

    let started = Instant::now();
    let wide = states / 4;
    for _ in 0..wide / 1600 {
        let changes: Vec<ViewChange> = (1..=10)
            .flat_map(|i| (0..160).map(move |o| (i, o)))
            .map(|(i, o)| produced(seq + i, o))
            .collect();
        seq += 10;
        view.apply(seq, &changes).expect("applied");
    }
    report("produce, 160 a transaction", wide, started, bytes());

    let started = Instant::now();
    let pays = states / 4;
    for group in 0..pays / 500 {
        let changes: Vec<ViewChange> = (1..=500)
            .flat_map(|i| [consumed(group * 500 + i, seq + i), produced(seq + i, 0)])
            .collect();
        seq += 500;
        view.apply(seq, &changes).expect("applied");
    }
    report(
        "consume and produce, oldest first",
        2 * pays,
        started,
        bytes(),
    );

    let started = Instant::now();
    let last = seq;
    for group in 0..pays / 500 {
        let changes: Vec<ViewChange> = (1..=500)
            .flat_map(|i| {
                [
                    consumed(last - group * 500 - i, seq + i),
                    produced(seq + i, 0),
                ]
            })
            .collect();
        seq += 500;
        view.apply(seq, &changes).expect("applied");
    }
    report(
        "consume and produce, newest first",
        2 * pays,
        started,
        bytes(),
    );

    let reader = view.reader().expect("a reader");
    let timed = |what: &str, query: &dyn Fn() -> usize| {
        let started = Instant::now();
        let rows = query();
        println!(
            "{what:>36} {rows:>8} rows {:>10.1} us",
            started.elapsed().as_secs_f64() * 1e6
        );
    };
    for _ in 0..2 {
        timed("balances", &|| reader.balances().expect("rows").len());
        timed("256 coins", &|| {
            reader
                .coins(&[3; 32], None, 256, |_, _| false)
                .expect("rows")
                .len()
        });
        timed("100 unconsumed from the middle", &|| {
            reader
                .unconsumed(&StateFilter::default(), (seq as i64 / 2) << 16, 100)
                .expect("rows")
                .len()
        });
    }
}

fn report(what: &str, operations: u64, started: Instant, bytes: u64) {
    println!(
        "{what:>36} {:>8.2} us each, file {:.1} MB",
        started.elapsed().as_secs_f64() * 1e6 / operations as f64,
        bytes as f64 / 1e6
    );
}
