//! Golden vectors of the chain (`testdata/chain.json`): transactions, a header, a genesis, proof of stake and rows.
//!
//! `UPDATE_GOLDEN=1 cargo test --profile checked -p chain --test it vectors::` updates them after a deliberate change.

use std::fs;
use std::path::Path;

use chain::block::{Header, read_header, root_of};
use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec};
use chain::pos::BaseTarget;
use chain::state::rows::{
    HeaderRow, Lease, LeaseRow, Place, account_txs_value, held_key, read_account_txs, read_undo,
    undo_value,
};
use chain::transaction::{PAYMENT_BYTES, read_exact};
use chain::{
    AccountId, Anchor, BlockTimestamp, Body, Carried, ChainId, Genesis, Height, MinorUnits,
    Minutes, Params, Seconds, Transaction, TxId, WholeTokens, key_of_passphrase, pos,
};
use primitives::{Hash, KeyPair, PublicKey, hex};
use serde_json::{Value, json};

fn key(passphrase: &str) -> (KeyPair, [u8; 32]) {
    let pair = key_of_passphrase(passphrase);
    let PublicKey::Ed25519(key) = *pair.public() else {
        panic!("passphrases make Ed25519 keys");
    };
    (pair, key)
}

fn account(passphrase: &str) -> AccountId {
    AccountId::of_key(&key(passphrase).1)
}

fn genesis_spec() -> GenesisSpec {
    let chain = |id: u8, symbol: &str, decimals: u8| ChainSpec {
        id: ChainId(id),
        name: format!("chain {id}"),
        symbol: symbol.into(),
        decimals,
    };
    let balance = |passphrase: &str| BalanceSpec {
        passphrase: Some(passphrase.into()),
        amounts: [("T", 1_000_000_000_000), ("C", 50)]
            .map(|(symbol, amount)| (symbol.to_string(), MinorUnits::new(amount)))
            .into(),
        ..BalanceSpec::default()
    };
    GenesisSpec {
        network: "vectors".into(),
        time_ms: 1_767_225_600_000,
        profile: "loadtest".into(),
        params: Default::default(),
        chains: vec![chain(1, "T", 8), chain(2, "C", 4)],
        balances: vec![balance("0"), balance("1")],
    }
}

fn genesis() -> Genesis {
    genesis_spec().build().unwrap()
}

fn transactions(genesis: &Hash) -> Vec<(&'static str, Transaction)> {
    let (pair, sender) = key("0");
    let make = |chain: u8, fee: u64, body: Body| {
        let mut transaction = Transaction {
            chain: ChainId(chain),
            time: BlockTimestamp::new(1_000),
            deadline_minutes: Minutes::new(60),
            sender,
            fee: MinorUnits::new(fee),
            anchor: Anchor::at(Height::GENESIS, genesis),
            body,
            signature: [0; 64],
        };
        transaction.sign(genesis, &pair);
        transaction
    };
    let payment = |amount: u64, message: &[u8]| Body::Payment {
        to: account("1"),
        amount: MinorUnits::new(amount),
        message: message.to_vec(),
    };
    let child = make(2, 3, payment(70, b""));
    let root = root_of(&[child.id(genesis)]);
    let child_block = Body::ChildBlock {
        child: ChainId(2),
        count: 1,
        root,
    };
    let lease = Body::Lease {
        to: account("1"),
        blocks: 1_440,
    };
    vec![
        ("payment", make(1, 100_000_000, payment(500, b""))),
        (
            "payment with a message",
            make(1, 100_000_000, payment(0, "hé".as_bytes())),
        ),
        ("child payment", child),
        ("lease", make(1, 100_000_000, lease)),
        ("child block", make(1, 1_000_000, child_block)),
    ]
}

fn header(genesis: &Genesis, ids: &[TxId]) -> Header {
    let (pair, forger) = key("1");
    let mut header = Header {
        height: Height::new(1),
        time: BlockTimestamp::new(1_030),
        previous: genesis.hash,
        forger,
        generation: pos::generation(&genesis.hash, &forger),
        base_target: genesis.base_target,
        difficulty: pos::work(&genesis.params, genesis.base_target, Seconds::new(1_030)),
        parent_count: ids.len() as u32,
        child_count: 0,
        body_bytes: ids.len() as u32 * PAYMENT_BYTES as u32,
        root: root_of(ids),
        signature: [0; 64],
    };
    header.sign(&genesis.hash, &pair);
    header
}

fn transaction_vectors(genesis: &Hash) -> Vec<Value> {
    let vector = |(name, transaction): (&str, Transaction)| {
        let bytes = transaction.to_bytes();
        assert_eq!(read_exact(&bytes).unwrap(), transaction);
        let carried = Carried::new(genesis, transaction);
        json!({
            "name": name,
            "bytes": hex::encode(&bytes),
            "hash": carried.hash.to_string(),
            "id": carried.id.to_string(),
            "sender": carried.sender.to_string(),
        })
    };
    transactions(genesis).into_iter().map(vector).collect()
}

/// Returns the first blocks after genesis with their forgers, times and consensus values.
fn forging(genesis: &Genesis) -> Vec<Value> {
    let forgers = [key("0").1, key("1").1];
    let (mut generation, mut target, mut difficulty) = (genesis.hash, genesis.base_target, 0u128);
    let mut times = vec![BlockTimestamp::GENESIS];
    let mut blocks = Vec::new();
    let params = &genesis.params;
    for height in 1..=12u32 {
        let before = times[times.len() - 1];
        let candidates = forgers.map(|forger| (forger, WholeTokens::new(10_000)));
        let turn = pos::next_forgers(before, &generation, target, &candidates)[0];
        generation = pos::generation(&generation, &turn.forger);
        let elapsed = turn.time.since(before).unwrap();
        difficulty += pos::work(params, target, elapsed);
        times.push(turn.time);
        if pos::adjusts(params, Height::new(height)) {
            let start = times[(height - params.base_target_span) as usize];
            let elapsed = turn.time.since(start).unwrap();
            target = pos::next_base_target(params, genesis.base_target, target, elapsed);
        }
        blocks.push(json!({
            "height": height,
            "forger": turn.account.to_string(),
            "generation": generation.to_string(),
            "hit": pos::Hit::of(&generation).to_string(),
            "time": turn.time.get(),
            "base_target": target.to_string(),
            "difficulty": difficulty.to_string(),
        }));
    }
    blocks
}

fn base_targets() -> Vec<Value> {
    let mut vectors = Vec::new();
    for (name, params) in [
        ("production", Params::production()),
        ("loadtest", Params::loadtest()),
    ] {
        let initial = pos::initial_base_target(&params, WholeTokens::new(1_000_000_000))
            .unwrap()
            .get();
        let aim = params.block_seconds.get() * params.base_target_span;
        for current in [initial, initial * 10, initial * 50, initial / 10 * 9] {
            for elapsed in [0, 1, aim / 2, aim - 1, aim, aim + 1, aim * 2, u32::MAX] {
                let [initial, current] = [initial, current].map(BaseTarget::new);
                let span = Seconds::new(elapsed);
                let next = pos::next_base_target(&params, initial, current, span);
                vectors.push(json!({
                    "profile": name,
                    "initial": initial.to_string(),
                    "current": current.to_string(),
                    "elapsed": elapsed,
                    "next": next.to_string(),
                }));
            }
        }
    }
    vectors
}

fn row_vectors(genesis: &Genesis) -> Value {
    let ids: Vec<TxId> = vec![transactions(&genesis.hash)[0].1.id(&genesis.hash)];
    let header = header(genesis, &ids);
    let hash = header.hash(&genesis.hash);
    assert_eq!(read_header(&header.to_bytes()).unwrap(), header);
    let row = HeaderRow {
        header: header.clone(),
        hash,
        fees: MinorUnits::new(100_000_000),
        leases: 0,
        children: vec![(ChainId(2), 7)],
    };
    assert_eq!(HeaderRow::read(&row.to_bytes()).unwrap(), row);
    let lease = LeaseRow {
        now: Lease {
            to: account("1"),
            from: Height::new(13),
            until: Height::new(18),
        },
        next: Some(Lease {
            to: account("0"),
            from: Height::new(20),
            until: Height::new(30),
        }),
    };
    assert_eq!(LeaseRow::read(&lease.to_bytes()).unwrap(), lease);
    let mut places = vec![(ChainId(2), 149), (ChainId(1), 0), (ChainId(2), 100_000)];
    let account_txs = account_txs_value(&mut places);
    assert_eq!(read_account_txs(&account_txs).unwrap(), places);
    let former = vec![
        (chain::port::Table::Balances, vec![1; 17], Some(vec![2; 8])),
        (chain::port::Table::Lessors, vec![3; 32], None),
        (chain::port::Table::Lessors, vec![4; 32], Some(Vec::new())),
    ];
    let undo = undo_value(&former);
    assert_eq!(read_undo(&undo).unwrap(), former);
    let place = Place {
        height: Height::new(5),
        offset: 149,
    };
    assert_eq!(Place::read(&place.to_bytes()).unwrap(), place);
    json!({
        "header": hex::encode(&header.to_bytes()),
        "header_hash": hash.to_string(),
        "headers": hex::encode(&row.to_bytes()),
        "held_key": hex::encode(&held_key(&account("0"), Height::new(5))),
        "leases": hex::encode(&lease.to_bytes()),
        "account_txs": hex::encode(&account_txs),
        "undo": hex::encode(&undo),
        "tx_index": hex::encode(&place.to_bytes()),
    })
}

#[test]
fn the_formats_are_those_of_the_golden_vectors() {
    let genesis = genesis();
    let read = Genesis::from_bytes(&genesis.to_bytes()).unwrap();
    let is_test_network = genesis.is_test_network;
    assert_eq!(
        Genesis {
            is_test_network,
            ..read
        },
        genesis
    );
    let found = json!({
        "account": { "passphrase": "0", "key": hex::encode(&key("0").1), "account": account("0").to_string() },
        "genesis": {
            "file": serde_json::to_value(genesis_spec()).unwrap(),
            "bytes": hex::encode(&genesis.to_bytes()),
            "hash": genesis.hash.to_string(),
            "base_target": genesis.base_target.to_string(),
        },
        "transactions": transaction_vectors(&genesis.hash),
        "forging": forging(&genesis),
        "base_targets": base_targets(),
        "rows": row_vectors(&genesis),
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/chain.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
        fs::write(&path, text).expect("testdata can be written");
    }
    let text = fs::read_to_string(&path).expect("the vectors are there");
    let golden: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    for part in [
        "account",
        "genesis",
        "transactions",
        "forging",
        "base_targets",
        "rows",
    ] {
        assert_eq!(found[part], golden[part], "{part}");
    }
}

#[test]
fn stakes_times_and_targets_keep_to_their_limits() {
    let params = Params::production();
    let first = |tokens| {
        let target = pos::initial_base_target(&params, WholeTokens::new(tokens));
        target.map(BaseTarget::get)
    };
    let initial = first(1_000_000_000).unwrap();
    assert_eq!(initial, 153_722_867, "the published one");
    assert_eq!(first(0), None);
    assert_eq!(first(u64::MAX), None);
    // 120 seconds for two blocks of 60 leave the target unchanged. It rises by at most 12 per cent, and falls by at most 64 per
    // cent of 12 per cent.
    let next = |current: u64, elapsed: u32| {
        let [initial, current] = [initial, current].map(BaseTarget::new);
        pos::next_base_target(&params, initial, current, Seconds::new(elapsed)).get()
    };
    assert_eq!(next(initial, 120), initial);
    assert_eq!(next(initial * 2, 10_000), initial * 2 * 112 / 100);
    let ten = initial * 10;
    assert_eq!(next(ten, 0), ten - ten * 12 * 64 / 10_000);
    assert_eq!(next(initial, 0), initial - initial * 12 * 64 / 10_000);
    assert_eq!(next(initial * 9 / 10, 0), initial * 90 / 100);
    assert_eq!(next(initial * 50, 10_000), initial * 50);
    assert_eq!(next(u64::MAX, u32::MAX), initial * 50);
    for (previous_time, hit, target, tokens, time) in [
        (10, 100, 10, 2, Some(15)),
        (10, 100, 10, 0, None),
        (10, 100, 0, 2, None),
        (u32::MAX, 100, 10, 2, None),
        (0, u64::MAX, 1, 1, None),
    ] {
        let (hit, target) = (pos::Hit::new(hit), BaseTarget::new(target));
        let previous_time = BlockTimestamp::new(previous_time);
        let found = pos::hit_time(previous_time, hit, target, WholeTokens::new(tokens));
        assert_eq!(
            found,
            time.map(BlockTimestamp::new),
            "{hit} / ({target} x {tokens})"
        );
    }
    let fits = |hit_time, time| {
        pos::time_fits(
            &params,
            BlockTimestamp::new(hit_time),
            BlockTimestamp::new(time),
        )
    };
    assert!(fits(15, 16) && fits(15, 3_616));
    assert!(!fits(15, 15) && !fits(15, 17));
    assert!(!fits(15, 3_615) && !fits(u32::MAX, 1));
    let work_of =
        |params, target, elapsed| pos::work(params, BaseTarget::new(target), Seconds::new(elapsed));
    assert_eq!(work_of(&params, u64::MAX, u32::MAX), 1);
    // 17 per cent of 60 seconds are 10 seconds; 2^64 x 60 / 2^60 is 960.
    for (elapsed, work) in [(0, 96), (1, 96), (9, 96), (10, 96), (12, 80), (60, 16)] {
        assert_eq!(work_of(&params, 1 << 60, elapsed), work, "{elapsed} s");
    }
    let fast = Params::loadtest();
    for (elapsed, work) in [(0, 80), (1, 80), (2, 40), (5, 16)] {
        assert_eq!(work_of(&fast, 1 << 60, elapsed), work, "{elapsed} s");
    }
    assert!(work_of(&params, 0, 0) > work_of(&params, 2, 1));
}
