//! A generated history is an ordinary chain.

use std::sync::Arc;

use chain::block::{CarriedBlock, CarriedEntry, CheckedBlock};
use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec};
use chain::history::{History, SignedPayments};
use chain::state::{MemoryStore, Overlay, apply_block, verify_store};
use chain::{BlockTimestamp, ChainId, Genesis, MinorUnits, key_of_passphrase};
use primitives::{KeyPair, SignatureChecker};

const ACCOUNTS: usize = 4;

fn genesis(profile: &str, children: u8, named: usize) -> Arc<Genesis> {
    let symbol = |id: u8| format!("T{id}");
    let spec = GenesisSpec {
        network: "history".into(),
        time_ms: 0,
        profile: profile.into(),
        params: Default::default(),
        chains: (1..=children + 1)
            .map(|id| ChainSpec {
                id: ChainId(id),
                name: format!("chain {id}"),
                symbol: symbol(id),
                decimals: 4,
            })
            .collect(),
        balances: (0..named)
            .map(|n| BalanceSpec {
                passphrase: Some(n.to_string().into()),
                amounts: (1..=children + 1)
                    .map(|id| (symbol(id), MinorUnits::new(1_000_000_000_000_000)))
                    .collect(),
                ..BalanceSpec::default()
            })
            .collect(),
    };
    Arc::new(spec.build().unwrap())
}

fn keys(count: usize) -> Vec<KeyPair> {
    (0..count)
        .map(|n| key_of_passphrase(&n.to_string()))
        .collect()
}

#[test]
fn blocks_of_a_history_keep_every_rule_and_every_signature_holds() {
    for (profile, children, per_block, blocks, most) in [
        // The requested number, the number that the production profile's ten parent transactions allow, and a network without
        // child chains.
        ("loadtest", 4, 103, 5, 103),
        ("production", 4, usize::MAX, 5, 6 + 4 * 100),
        ("loadtest", 0, 20, 3, 20),
    ] {
        let genesis = genesis(profile, children, ACCOUNTS);
        let history = History::new(genesis.clone(), keys(ACCOUNTS), per_block).unwrap();
        assert_eq!(history.per_block(), most, "{profile}");
        let store = MemoryStore::new();
        let mut overlay = Overlay::open(store.clone(), &genesis).unwrap();
        let mut checker = SignatureChecker::new();
        let mut made = 0;
        let wanted = (most * blocks - 1) as u64;
        while made < wanted {
            let batch = history.batch(made, wanted - made, overlay.tip().time);
            made += batch.len() as u64;
            // In two slices, as threads do it.
            let mut payments = history.payments(&batch, 0..batch.len() / 2);
            payments.append(history.payments(&batch, batch.len() / 2..batch.len()));
            let block = history.block(&overlay, payments, BlockTimestamp::LAST, false);
            let block = block.unwrap().unwrap().unwrap();
            let block = CheckedBlock::check(block.into_inner(), &mut checker).unwrap();
            apply_block(&mut overlay, &genesis, &block).unwrap();
            store.commit(overlay.take_batch());
            overlay.committed();
        }
        let verified = verify_store(&store, &genesis, u32::MAX).unwrap();
        let carriers = u64::from(children) * u64::from(verified.blocks);
        assert_eq!(u64::from(verified.blocks), blocks as u64, "{profile}");
        assert_eq!(verified.transactions, wanted + carriers, "{profile}");
    }
}

#[test]
fn a_block_with_a_wrong_signature_is_never_checked() {
    let genesis = genesis("loadtest", 1, ACCOUNTS);
    let history = History::new(genesis.clone(), keys(ACCOUNTS), 20).unwrap();
    let overlay = Overlay::open(MemoryStore::new(), &genesis).unwrap();
    let batch = history.batch(0, 20, overlay.tip().time);
    let payments = history.payments(&batch, 0..batch.len());
    let block = history.block(&overlay, payments, BlockTimestamp::LAST, false);
    let block = block.unwrap().unwrap().unwrap().into_inner();
    let code = |block: &CarriedBlock| {
        let checked = CheckedBlock::check(block.clone(), &mut SignatureChecker::new());
        checked.map_err(|rejection| rejection.code).err()
    };
    assert_eq!(code(&block), None);

    let mut forged = block.clone();
    forged.header.signature[0] ^= 1;
    assert_eq!(code(&forged), Some("chain_block.signature"));

    // A parent transaction and a carried transaction.
    let carrier = |entry: &CarriedEntry| !entry.children.is_empty();
    let at = block.body.iter().position(carrier).unwrap();
    let mut forged = block.clone();
    Arc::make_mut(&mut forged.body[at].transaction)
        .transaction
        .signature[0] ^= 1;
    assert_eq!(code(&forged), Some("chain_tx.signature"));
    let mut forged = block;
    Arc::make_mut(&mut forged.body[at].children[0])
        .transaction
        .signature[0] ^= 1;
    assert_eq!(code(&forged), Some("chain_tx.signature"));
}

#[test]
fn all_chains_share_a_block_as_evenly_as_their_limits_allow() {
    let genesis = genesis("production", 2, ACCOUNTS);
    let history = History::new(genesis, keys(ACCOUNTS), usize::MAX).unwrap();
    for (count, shares) in [
        (1, vec![1, 0, 0]),
        (7, vec![3, 2, 2]),
        (30, vec![8, 11, 11]),
        (10_000, vec![8, 100, 100]),
    ] {
        let batch = history.batch(0, count, BlockTimestamp::GENESIS);
        let payments = history.payments(&batch, 0..batch.len());
        let on = |chain| {
            payments
                .iter()
                .filter(|one| one.transaction.chain == ChainId(chain))
                .count()
        };
        assert_eq!(vec![on(1), on(2), on(3)], shares, "{count}");
    }
}

#[test]
fn a_history_needs_accounts_and_time() {
    let genesis = genesis("loadtest", 1, ACCOUNTS);
    let refused = History::new(genesis.clone(), keys(1), 10).unwrap_err();
    assert_eq!(refused.code, "chain_history.accounts");
    // Keys of accounts without balances are ignored.
    let strangers = vec![key_of_passphrase("x"), key_of_passphrase("0")];
    let refused = History::new(genesis.clone(), strangers, 10).unwrap_err();
    assert_eq!(refused.code, "chain_history.accounts");
    let history = History::new(genesis.clone(), keys(ACCOUNTS), 10).unwrap();
    let overlay = Overlay::open(MemoryStore::new(), &genesis).unwrap();
    let block = |latest, jump| {
        history
            .block(&overlay, SignedPayments::default(), latest, jump)
            .unwrap()
            .unwrap()
    };
    assert_eq!(block(BlockTimestamp::GENESIS, false), None);
    let stood = BlockTimestamp::new(genesis.params.standstill_seconds.get() + 1_000);
    let times: Vec<BlockTimestamp> = [false, true]
        .iter()
        .filter_map(|jump| Some(block(stood, *jump)?.header.time))
        .collect();
    assert!(
        times[0] < BlockTimestamp::new(1_000) && times[1] == stood,
        "{times:?}"
    );
}
