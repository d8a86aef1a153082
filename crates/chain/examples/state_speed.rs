//! Measures the cost of applying and undoing blocks without a disk: `cargo run --release -p chain --example state_speed
//! [accounts]`.
//!
//! Each block has 5,000 payments on the parent chain and four child chains, among ten accounts (or the given number), on a store
//! in memory.

use std::sync::Arc;
use std::time::Instant;

use chain::block::{CarriedBlock, CarriedEntry, CheckedBlock, root_of};
use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides};
use chain::state::{MemoryStore, Overlay, apply_block, next_header, prune, turn, undo_block};
use chain::{
    AccountId, Anchor, Body, Carried, ChainId, Genesis, Height, MinorUnits, Minutes, Transaction,
    TxId, WholeTokens, key_of_passphrase,
};
use primitives::PublicKey;

const BLOCKS: usize = 40;
const PAYMENTS: usize = 5_000;
const CHAINS: u8 = 5;

fn public(n: usize) -> [u8; 32] {
    match key_of_passphrase(&n.to_string()).public() {
        PublicKey::Ed25519(key) => *key,
        _ => [0; 32],
    }
}

fn genesis(accounts: usize) -> Genesis {
    let symbol = |n: u8| format!("T{n}");
    GenesisSpec {
        network: "speed".into(),
        time_ms: 0,
        profile: "loadtest".into(),
        params: ParamsOverrides {
            effective_tokens_min: Some(WholeTokens::new(1)),
            ..ParamsOverrides::default()
        },
        chains: (1..=CHAINS)
            .map(|id| ChainSpec {
                id: ChainId(id),
                name: format!("chain {id}"),
                symbol: symbol(id),
                decimals: 8,
            })
            .collect(),
        balances: (0..accounts)
            .map(|n| BalanceSpec {
                passphrase: Some(n.to_string().into()),
                amounts: (1..=CHAINS)
                    .map(|id| {
                        let amount = 100_000_000_000_000_000 / accounts as u64;
                        (symbol(id), MinorUnits::new(amount))
                    })
                    .collect(),
                ..BalanceSpec::default()
            })
            .collect(),
    }
    .build()
    .expect("the genesis keeps its rules")
}

fn block(
    overlay: &Overlay<MemoryStore>,
    genesis: &Genesis,
    keys: &[[u8; 32]],
    ids: &[AccountId],
    round: usize,
) -> CarriedBlock {
    let (time, forger) = keys[..10]
        .iter()
        .filter_map(|key| Some((turn(overlay, genesis, key).ok()??, *key)))
        .min()
        .expect("ten accounts have stakes");
    let carry = |n: usize, chain: u8, fee: u64, body: Body| {
        let transaction = Transaction {
            chain: ChainId(chain),
            time,
            deadline_minutes: Minutes::new(60),
            sender: keys[n % keys.len()],
            fee: MinorUnits::new(fee),
            anchor: Anchor::at(Height::GENESIS, &genesis.hash),
            body,
            signature: [1; 64],
        };
        Arc::new(Carried::new(&genesis.hash, transaction))
    };
    let mut entries = Vec::new();
    for chain in 1..=CHAINS {
        let mut payments: Vec<_> = (0..PAYMENTS / usize::from(CHAINS))
            .map(|n| {
                let to = ids[(n * 7 + round) % ids.len()];
                let body = Body::Payment {
                    to,
                    amount: MinorUnits::new((round * PAYMENTS + n) as u64 + 1),
                    message: Vec::new(),
                };
                carry(n, chain, 100_000_000, body)
            })
            .collect();
        payments.sort_by_key(|carried| carried.id);
        if chain == 1 {
            entries.extend(payments.into_iter().map(|transaction| CarriedEntry {
                transaction,
                children: Vec::new(),
            }));
            continue;
        }
        let leaves: Vec<TxId> = payments.iter().map(|carried| carried.id).collect();
        let body = Body::ChildBlock {
            child: ChainId(chain),
            count: leaves.len() as u32,
            root: root_of(&leaves),
        };
        entries.push(CarriedEntry {
            transaction: carry(0, 1, 1_000_000 * leaves.len() as u64, body),
            children: payments,
        });
    }
    entries.sort_by_key(|entry| entry.transaction.id);
    let mut header = next_header(overlay, genesis, &forger, time).expect("memory never fails");
    let leaves: Vec<TxId> = entries.iter().map(|entry| entry.transaction.id).collect();
    header.parent_count = entries.len() as u32;
    header.child_count = (PAYMENTS / usize::from(CHAINS) * usize::from(CHAINS - 1)) as u32;
    header.root = root_of(&leaves);
    let mut block = CarriedBlock::new(&genesis.hash, header, entries);
    block.header.body_bytes = block.transactions().map(|carried| carried.bytes).sum();
    CarriedBlock::new(&genesis.hash, block.header, block.body)
}

fn main() {
    let accounts: usize = std::env::args()
        .nth(1)
        .map_or(10, |text| text.parse().expect("a number of accounts"));
    let genesis = genesis(accounts.max(10));
    let keys: Vec<[u8; 32]> = (0..accounts.max(10)).map(public).collect();
    let ids: Vec<AccountId> = keys.iter().map(AccountId::of_key).collect();
    let store = MemoryStore::new();
    let mut overlay = Overlay::open(store.clone(), &genesis).expect("memory never fails");
    let (mut make, mut apply, mut batch, mut bytes) = (0.0, 0.0, 0.0, 0);
    for round in 0..BLOCKS {
        let started = Instant::now();
        let block = block(&overlay, &genesis, &keys, &ids, round);
        make += started.elapsed().as_secs_f64();
        let block = CheckedBlock::from_store(block);
        let started = Instant::now();
        apply_block(&mut overlay, &genesis, &block).expect("the block is valid");
        apply += started.elapsed().as_secs_f64();
        let started = Instant::now();
        prune(&mut overlay, &genesis, None, 512).expect("memory never fails");
        let rows = overlay.take_batch();
        bytes += rows.size_bytes();
        batch += started.elapsed().as_secs_f64();
        store.commit(rows);
        overlay.committed();
    }
    let started = Instant::now();
    for _ in 0..BLOCKS / 2 {
        undo_block(&mut overlay, &genesis).expect("the blocks are there");
    }
    let undo = started.elapsed().as_secs_f64();
    let each = |seconds: f64, blocks: usize| seconds * 1e6 / (blocks * PAYMENTS) as f64;
    println!(
        "{BLOCKS} blocks of {PAYMENTS} payments among {accounts} accounts, microseconds a payment:"
    );
    println!("  made       {:.2}", each(make, BLOCKS));
    println!("  applied    {:.2}", each(apply, BLOCKS));
    println!("  as a batch {:.2}", each(batch, BLOCKS));
    println!("  undone     {:.2}", each(undo, BLOCKS / 2));
    println!("rows: {} bytes a payment", bytes / (BLOCKS * PAYMENTS));
}
