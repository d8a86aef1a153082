//! Microseconds per selection with a million states in the view: `cargo run --release -p vault --example selection_speed`.
//!
//! The view is simulated by a sorted map. One step of a payer is: select, record, durable (`apply`: the coins gone,
//! the change there), ended (`release`).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ledger::{
    Constraint, ContractName, Fungible, LegalName, Party, SelectionRequest, StateAndRef,
    StateFacts, StateRef, TokenId, TransactionState, TxId,
};
use primitives::{Domain, Hash, Monotonic, PublicKey};
use vault::{
    CoinPosition, CoinRow, Consumed, Produced, RefillRequest, Selection, SelectionOptions,
    SelectionOutput, ViewChange,
};

struct View {
    notary: Party,
    coins: BTreeMap<CoinPosition, StateRef>,
    positions: HashMap<StateRef, CoinPosition>,
    total: u128,
    refills: u64,
    rows: u64,
}

fn now() -> Monotonic {
    Monotonic::from_ms(1)
}

fn token() -> TokenId {
    TokenId::from_hash(Hash::ZERO)
}

fn reference(seq: u64) -> StateRef {
    StateRef::new(
        TxId::from_hash(Hash::of(Domain::Derive, &[&seq.to_be_bytes()])),
        0,
    )
}

impl View {
    fn row(&self, position: CoinPosition, reference: StateRef) -> CoinRow {
        let state = TransactionState {
            data: vec![7; 120],
            contract: ContractName::new("tally.cash").expect("a name"),
            constraint: Constraint::Descriptor(Hash::ZERO),
            notary: self.notary.clone(),
            encumbrance: None,
        };
        let coin = StateAndRef { state, reference };
        CoinRow {
            coin,
            quantity: position.quantity,
            seq: position.seq,
        }
    }

    fn add(&mut self, quantity: u64, seq: u64) -> CoinRow {
        let position = CoinPosition {
            quantity,
            seq,
            index: 0,
        };
        self.coins.insert(position, reference(seq));
        self.positions.insert(reference(seq), position);
        self.total += u128::from(quantity);
        self.row(position, reference(seq))
    }

    /// Consumes the coin and returns its value.
    fn take(&mut self, reference: &StateRef) -> u64 {
        let position = self
            .positions
            .remove(reference)
            .expect("a coin of the view");
        self.coins.remove(&position);
        self.total -= u128::from(position.quantity);
        position.quantity
    }

    fn answer(
        &mut self,
        selection: &mut Selection,
        asked: RefillRequest,
        seq: u64,
    ) -> Vec<SelectionOutput> {
        let top = CoinPosition {
            quantity: u64::MAX,
            seq: u64::MAX,
            index: u32::MAX,
        };
        let below = self.coins.range(..=asked.from.unwrap_or(top)).rev();
        let rows: Vec<(CoinPosition, StateRef)> =
            below.take(asked.limit).map(|(p, r)| (*p, *r)).collect();
        let rows: Vec<CoinRow> = rows.into_iter().map(|(p, r)| self.row(p, r)).collect();
        let more = rows.len() == asked.limit;
        self.refills += 1;
        self.rows += rows.len() as u64;
        selection.refilled(token(), rows, seq, self.total, more, now())
    }
}

/// Pays `payments` times with `spenders` at once; returns the time spent in the selection.
fn run(coins: u64, first_quantity: u64, spenders: u64, payments: u64, quantity: u64) {
    let name = LegalName::new("Notary", "London", "GB").expect("a legal name");
    let mut view = View {
        notary: Party::new(name, PublicKey::Ed25519([1; 32])),
        coins: BTreeMap::new(),
        positions: HashMap::new(),
        total: 0,
        refills: 0,
        rows: 0,
    };
    for seq in 1..=coins {
        view.add(first_quantity + seq * 7919 % 1_000, seq);
    }
    let mut seq = coins;
    let mut selection = Selection::new(SelectionOptions::default(), seq);
    let mut spent_in = Duration::ZERO;
    let mut first = None;
    let (mut started, mut done, mut states_moved) = (0u64, 0u64, 0u64);
    let mut running: VecDeque<([u8; 16], Vec<StateAndRef>)> = VecDeque::new();
    let mut queue: VecDeque<SelectionOutput> = VecDeque::new();
    while done < payments {
        if started - done < spenders && started < payments {
            started += 1;
            let flow = u128::from(started).to_be_bytes();
            let wish = SelectionRequest {
                token: token(),
                quantity,
                notary: None,
                deadline_ms: 1_000_000,
            };
            let began = Instant::now();
            queue.extend(selection.request(flow, 1, wish, now()));
            spent_in += began.elapsed();
        } else if let Some((flow, states)) = running.pop_front() {
            let refs: Vec<StateRef> = states.iter().map(|s| s.reference).collect();
            seq += 1;
            let began = Instant::now();
            selection.record(seq, &refs);
            spent_in += began.elapsed();
            let change = refs.iter().map(|r| view.take(r)).sum::<u64>() - 1;
            let mut changes: Vec<ViewChange> = refs
                .iter()
                .map(|reference| {
                    ViewChange::Consumed(Consumed {
                        seq,
                        reference: *reference,
                    })
                })
                .collect();
            let row = view.add(change, seq);
            changes.push(ViewChange::Produced(Arc::new(Produced {
                seq,
                facts: StateFacts {
                    fungible: Some(Fungible {
                        token: token(),
                        symbol: "GBP".into(),
                        issuer: row.coin.state.notary.clone(),
                        quantity: change,
                    }),
                    ..StateFacts::default()
                },
                state: row.coin,
            })));
            let began = Instant::now();
            queue.extend(selection.apply(seq, changes, now()));
            queue.extend(selection.release(flow, now()));
            spent_in += began.elapsed();
            states_moved += refs.len() as u64;
            done += 1;
        }
        while let Some(output) = queue.pop_front() {
            match output {
                SelectionOutput::Selected { flow, states, .. } => running.push_back((flow, states)),
                SelectionOutput::Refill(asked) => {
                    let began = Instant::now();
                    let out = view.answer(&mut selection, asked, seq);
                    first.get_or_insert(began.elapsed());
                    queue.extend(out);
                }
                SelectionOutput::Failed { error, .. } => panic!("{error}"),
            }
        }
    }
    let us = |d: Duration| d.as_nanos() as f64 / 1_000.0;
    println!(
        "{coins:>9} coins, {spenders:>4} spenders, {quantity:>6} wanted: {:>6.2} us a payment, {:.1} states each, {} refills of {} rows in all, the first {:.0} us",
        us(spent_in) / payments as f64,
        states_moved as f64 / payments as f64,
        view.refills,
        view.rows,
        us(first.unwrap_or_default()),
    );
}

fn main() {
    for (coins, first_quantity, spenders, payments, quantity) in [
        (1_000_000, 10, 1, 100_000, 10),
        (1_000_000, 10, 400, 100_000, 10),
        (1_000_000, 10, 400, 20_000, 5_000),
        (1_000, 200, 400, 100_000, 10),
        (1, 200_000, 400, 100_000, 1),
    ] {
        run(coins, first_quantity, spenders, payments, quantity);
    }
}
