//! The driver's calls, answered by the recordings.

use std::time::Duration;

use perf::chain::nxt::{NxtTarget, Options, Signing};
use perf::chain::{Chain, ChainId, ChainTarget, ChildCount, Detail, Fate, Payment, TxKey};
use perf::load::Fault;

use super::recording;
use super::replay::Replay;

/// The recorded accounts: alpha, beta and gamma, and their ids at the node.
const ACCOUNTS: [(&str, &str); 3] = [
    ("alpha", "15119002515992141152"),
    ("beta", "6217705173184895950"),
    ("gamma", "10043771803249128205"),
];
/// Full hashes of the recorded payments: on the parent chain, and on the child chain of the recorded calls and of the
/// prepared one.
const PARENT: &str = "95c01b7ef95dea816b8b5a94f578c988d9d4b1fc86a8f1dff30267dd3de13a18";
const CHILD: &str = "34b58481ddcffd7a3aa5f85033b7a6df8a343004cd97587c06b5feb5f4a2b84a";
const PREPARED: &str = "d112e8610372dd87ba6439839ab6977b62c872ead150415b749fc60210f8707b";

/// Connects with the recorded accounts and these chains.
pub async fn target(replay: &Replay, chains: &[u8], signing: Signing) -> NxtTarget {
    let connected = connect(replay, chains, signing).await;
    connected.expect("recorded answers")
}

/// Connects likewise. Fails if the accounts' ids are not answered in order.
pub async fn connect(replay: &Replay, chains: &[u8], signing: Signing) -> Result<NxtTarget, Fault> {
    let chain = |id: &u8| Chain {
        id: ChainId(*id),
        name: format!("chain {id}"),
        decimals: if *id == 3 { 4 } else { 8 },
        fee: if *id == 1 { 100_000_000 } else { 200_000_000 },
    };
    let options = Options {
        url: replay.url.clone(),
        name: "node-1".to_owned(),
        chains: chains.iter().map(chain).collect(),
        passphrases: ACCOUNTS.map(|(name, _)| name.into()).to_vec(),
        forgers: vec![0],
        signing,
        deadline_minutes: 60,
        patience: Duration::from_secs(10),
    };
    NxtTarget::connect(options).await
}

/// A payment between recorded accounts, by number.
pub fn payment(chain: u8, from: usize, to: usize, amount: u64) -> Payment {
    Payment {
        chain: ChainId(chain),
        from,
        to,
        amount,
    }
}

fn key(text: &str) -> TxKey {
    TxKey::parse(text).expect("a full hash")
}

#[tokio::test]
async fn accounts_have_the_ids_of_the_node() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2], Signing::Passphrase).await;
    for (at, (_, id)) in ACCOUNTS.iter().enumerate() {
        assert_eq!(target.account_name(at), *id);
    }
    assert_eq!(replay.served(), [1, 2, 3]);
}

#[tokio::test]
async fn status_counts_payments_and_no_child_blocks() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2], Signing::Passphrase).await;
    let first = target.status().await.expect("a status");
    assert_eq!(
        (first.height, first.tip.as_str(), first.peers),
        (0, "8339402912207053843", 0)
    );
    let last = target.status().await.expect("a status");
    assert_eq!((last.height, last.tip.as_str()), (4, "4072928024403401760"));
    // A status reads no pool: a watch polls it for the blocks.
    assert_eq!(replay.served(), [1, 2, 3, 4, 35, 42]);
    // One on the parent chain, next to a child block with the two of the child chain.
    assert_eq!(target.waiting().await, Ok(3));
    assert_eq!(replay.served(), [1, 2, 3, 4, 21, 22, 35, 42]);
}

#[tokio::test]
async fn the_limit_of_lists_is_read_once_and_again_after_a_failure() {
    let replay = Replay::start(&[("getBlockchainStatus", 5)]).await;
    let target = target(&replay, &[1, 2], Signing::Passphrase).await;
    let codes = |waiting: [Result<u64, Fault>; 2]| waiting.map(|one| one.map_err(|it| it.code));
    let failed = Err("nxt.error_1".to_owned());
    let both: [_; 2] = tokio::join!(target.waiting(), target.waiting()).into();
    assert_eq!(codes(both), [failed.clone(), failed]);
    assert_eq!(replay.asked("getBlockchainStatus"), 2);
    replay.answer("getBlockchainStatus", recording::answer(42));
    let both: [_; 2] = tokio::join!(target.waiting(), target.waiting()).into();
    assert_eq!(codes(both), [Ok(3), Ok(3)]);
    assert_eq!(target.waiting().await, Ok(3));
    assert_eq!(replay.asked("getBlockchainStatus"), 3, "once more");
}

#[tokio::test]
async fn forging_and_bundling_start_and_stop_twice() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2, 3], Signing::Passphrase).await;
    for on in [true, true, false, false] {
        target.forge(on).await.expect("recorded");
    }
    target.bundle().await.expect("recorded");
    assert_eq!(replay.served(), [1, 2, 3, 6, 7, 8, 39, 40, 41]);
}

#[tokio::test]
async fn payments_are_sent_with_a_passphrase() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2], Signing::Passphrase).await;
    let payments = [payment(1, 0, 1, 12_345_678), payment(2, 1, 2, 1_000)];
    let keys = target.submit(&payments).await;
    assert_eq!(keys, [Ok(key(PARENT)), Ok(key(CHILD))]);
    assert_eq!(replay.served(), [1, 2, 3, 10, 11]);
}

#[tokio::test]
async fn payments_are_prepared_signed_and_broadcast_and_again() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2], Signing::Prepared).await;
    let payments = [payment(2, 2, 1, 7), payment(2, 2, 1, 7)];
    let keys = target.submit(&payments).await;
    assert_eq!(
        keys,
        [Ok(key(PREPARED)), Ok(key(PREPARED))],
        "a second broadcast succeeds"
    );
    assert_eq!(replay.served(), [1, 2, 3, 15, 16, 18, 19]);
}

#[tokio::test]
async fn payments_are_followed_into_their_block() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2], Signing::Passphrase).await;
    for (hash, fate) in [
        (key(PARENT), Fate::Waiting),
        (key(PARENT), Fate::InBlock(2)),
        (key(CHILD), Fate::InBlock(2)),
        (TxKey([0; 32]), Fate::Unknown),
    ] {
        assert_eq!(target.fate(hash).await, Ok(fate), "{hash}");
    }
    assert_eq!(replay.served(), [1, 2, 3, 23, 24, 25, 26]);
}

#[tokio::test]
async fn blocks_have_parent_payments_and_those_in_child_blocks() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2], Signing::Passphrase).await;
    let blocks = target.blocks(1, 50, Detail::Keys).await.expect("blocks");
    let rows: Vec<_> = blocks
        .iter()
        .map(|block| (block.height, block.id.as_str(), block.time_s))
        .collect();
    assert_eq!(
        rows,
        [
            (1, "8589489875157353767", 281_073_031),
            (2, "8377061870790155718", 281_073_070),
            (3, "10036757588297586190", 281_073_108),
            (4, "4072928024403401760", 281_073_114),
        ]
    );
    assert_eq!(blocks[0].previous, "8339402912207053843", "genesis");
    for two in blocks.windows(2) {
        assert_eq!(two[1].previous, two[0].id);
    }
    let full = &blocks[1];
    assert_eq!((full.parent_count, full.transactions()), (1, 3));
    let carried = ChildCount {
        chain: ChainId(2),
        count: 2,
    };
    assert_eq!(full.children, [carried], "one child block");
    assert_eq!(full.keys, [key(PARENT), key(PREPARED), key(CHILD)]);
    assert!(
        blocks.iter().all(|block| block.bytes.is_none()),
        "not named"
    );
    let empty = blocks.iter().filter(|block| block.transactions() == 0);
    assert_eq!(empty.count(), 3);
    // The height above the tip was answered with an error.
    assert_eq!(replay.served(), [1, 2, 3, 27, 28, 29, 30, 31]);
}

#[tokio::test]
async fn balances_come_in_one_answer_or_one_by_one() {
    let replay = Replay::start(&[]).await;
    let both = target(&replay, &[1, 2], Signing::Passphrase).await;
    assert_eq!(
        both.balances(1).await,
        Ok(vec![
            (ChainId(1), 30_000_000_012_345_678),
            (ChainId(2), 29_999_999_799_999_007)
        ])
    );
    assert_eq!(replay.served(), [1, 2, 3, 34]);
    for (number, wanted) in [(32, 29_999_999_800_000_993), (33, 0)] {
        let replay = Replay::start(&[("getBalances", 5), ("getBalance", number)]).await;
        let target = target(&replay, &[2], Signing::Passphrase).await;
        assert_eq!(target.balances(2).await, Ok(vec![(ChainId(2), wanted)]));
    }
    let replay = Replay::start(&[("getBalances", 5)]).await;
    let target = target(&replay, &[2], Signing::Passphrase).await;
    target.balances(2).await.expect("recorded for gamma");
    assert_eq!(replay.served(), [1, 2, 3, 5, 32]);
}
