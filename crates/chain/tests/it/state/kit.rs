//! A small network for tests, with accounts of passphrases and blocks forged one after the other.

use std::sync::Arc;

use chain::block::{CarriedBlock, CarriedEntry, CheckedBlock, root_of};
use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides};
use chain::state::{
    AppliedBlock, BlockFault, MemoryStore, Overlay, apply_block, next_header, turn,
};
use chain::{
    AccountId, Anchor, BlockTimestamp, Body, Carried, ChainId, Genesis, Height, MinorUnits,
    Minutes, Seconds, Transaction, TxId, WholeTokens, key_of_passphrase,
};
use primitives::{KeyPair, PublicKey};

pub const ACCOUNTS: usize = 10;
pub const EACH: u64 = 1_000_000_000;
pub const CHILDREN: u8 = 3;

pub fn key(n: usize) -> KeyPair {
    key_of_passphrase(&n.to_string())
}

pub fn public(n: usize) -> [u8; 32] {
    match key(n).public() {
        PublicKey::Ed25519(key) => *key,
        _ => unreachable!("passphrases make Ed25519 keys"),
    }
}

pub fn account(n: usize) -> AccountId {
    AccountId::of_key(&public(n))
}

/// Returns limits small enough to see leases, ages and pruning within some dozen blocks.
pub fn small() -> ParamsOverrides {
    ParamsOverrides {
        parent_fee_min: Some(MinorUnits::new(100)),
        child_block_fee_per_transaction: Some(MinorUnits::new(10)),
        deadline_minutes_max: Some(Minutes::new(1_440)),
        anchor_depth_min: Some(5),
        effective_age_blocks: Some(20),
        effective_tokens_min: Some(WholeTokens::new(10)),
        lease_delay_blocks: Some(12),
        lease_blocks_min: Some(3),
        lease_blocks_max: Some(100),
        rollback_blocks_max: Some(12),
        ..ParamsOverrides::default()
    }
}

pub fn spec(params: ParamsOverrides) -> GenesisSpec {
    let symbols = ["TALLY", "ONE", "TWO", "THREE"];
    GenesisSpec {
        network: "test".into(),
        time_ms: 1_750_000_000_000,
        profile: "loadtest".into(),
        params,
        chains: (0..=usize::from(CHILDREN))
            .map(|n| ChainSpec {
                id: ChainId(n as u8 + 1),
                name: format!("chain {n}"),
                symbol: symbols[n].into(),
                decimals: [4, 8, 4, 0][n],
            })
            .collect(),
        balances: (0..ACCOUNTS)
            .map(|n| BalanceSpec {
                passphrase: Some(n.to_string().into()),
                amounts: symbols
                    .iter()
                    .map(|s| (s.to_string(), MinorUnits::new(EACH)))
                    .collect(),
                ..BalanceSpec::default()
            })
            .collect(),
    }
}

pub struct Net {
    pub genesis: Genesis,
    pub store: MemoryStore,
    pub overlay: Overlay<MemoryStore>,
    /// Time at which transactions are made. The tip's time is used if that is later.
    pub clock: BlockTimestamp,
}

impl Net {
    pub fn new() -> Self {
        Self::with(small())
    }

    pub fn with(params: ParamsOverrides) -> Self {
        let genesis = spec(params).build().unwrap();
        let store = MemoryStore::new();
        let overlay = Overlay::open(store.clone(), &genesis).unwrap();
        let mut net = Self {
            genesis,
            store,
            overlay,
            clock: BlockTimestamp::GENESIS,
        };
        net.commit();
        net
    }

    pub fn commit(&mut self) {
        self.store.commit(self.overlay.take_batch());
        self.overlay.committed();
    }

    pub fn height(&self) -> u32 {
        self.overlay.tip().height.get()
    }

    /// Returns the next forger and its time.
    pub fn next(&self) -> (usize, BlockTimestamp) {
        (0..ACCOUNTS)
            .filter_map(|n| Some((n, turn(&self.overlay, &self.genesis, &public(n)).unwrap()?)))
            .min_by_key(|(_, time)| *time)
            .unwrap()
    }

    /// Returns a transaction of an account, made now and anchored at genesis.
    pub fn transaction(&self, from: usize, chain: u8, fee: u64, body: Body) -> Transaction {
        Transaction {
            chain: ChainId(chain),
            time: self.overlay.tip().time.max(self.clock),
            deadline_minutes: self.genesis.params.deadline_minutes_max,
            sender: public(from),
            fee: MinorUnits::new(fee),
            anchor: Anchor::at(Height::GENESIS, &self.genesis.hash),
            body,
            signature: [7; 64],
        }
    }

    pub fn carry(&self, transaction: Transaction) -> Arc<Carried> {
        Arc::new(Carried::new(&self.genesis.hash, transaction))
    }

    pub fn payment(
        &self,
        from: usize,
        to: usize,
        chain: u8,
        amount: u64,
        fee: u64,
    ) -> Arc<Carried> {
        let body = Body::Payment {
            to: account(to),
            amount: MinorUnits::new(amount),
            message: Vec::new(),
        };
        self.carry(self.transaction(from, chain, fee, body))
    }

    pub fn lease(&self, from: usize, to: usize, blocks: u32) -> Arc<Carried> {
        let body = Body::Lease {
            to: account(to),
            blocks,
        };
        self.carry(self.transaction(from, 1, 100, body))
    }

    /// Returns a child block of an account over transactions of one chain.
    pub fn bundle(&self, from: usize, mut children: Vec<Arc<Carried>>) -> CarriedEntry {
        children.sort_by_key(|carried| carried.id);
        let ids: Vec<TxId> = children.iter().map(|carried| carried.id).collect();
        let body = Body::ChildBlock {
            child: children[0].transaction.chain,
            count: children.len() as u32,
            root: root_of(&ids),
        };
        let fee = 10 * children.len() as u64;
        CarriedEntry {
            transaction: self.carry(self.transaction(from, 1, fee, body)),
            children,
        }
    }

    /// Returns the time that many seconds after another one.
    pub fn later(time: BlockTimestamp, seconds: u32) -> BlockTimestamp {
        time.plus(Seconds::new(seconds)).unwrap()
    }

    pub fn entry(transaction: Arc<Carried>) -> CarriedEntry {
        CarriedEntry {
            transaction,
            children: Vec::new(),
        }
    }

    /// Returns the next block by a forger at a time, with correct counts and root. It is unsigned, because the state does not
    /// check signatures.
    pub fn block_by(
        &self,
        forger: usize,
        time: BlockTimestamp,
        mut body: Vec<CarriedEntry>,
    ) -> CarriedBlock {
        body.sort_by_key(|entry| entry.transaction.id);
        let mut header = next_header(&self.overlay, &self.genesis, &public(forger), time).unwrap();
        let children: usize = body.iter().map(|entry| entry.children.len()).sum();
        let ids: Vec<TxId> = body.iter().map(|entry| entry.transaction.id).collect();
        header.parent_count = body.len() as u32;
        header.child_count = children as u32;
        header.root = root_of(&ids);
        let mut block = CarriedBlock::new(&self.genesis.hash, header, body);
        block.header.body_bytes = block.transactions().map(|tx| tx.bytes).sum();
        CarriedBlock::new(&self.genesis.hash, block.header, block.body)
    }

    pub fn block(&self, body: Vec<CarriedEntry>) -> CarriedBlock {
        let (forger, time) = self.next();
        self.block_by(forger, time, body)
    }

    /// Applies an unsigned block, as if it were stored.
    pub fn apply(&mut self, block: &CarriedBlock) -> Result<AppliedBlock, BlockFault> {
        let block = CheckedBlock::from_store(block.clone());
        apply_block(&mut self.overlay, &self.genesis, &block)
    }

    /// Forges the next block.
    pub fn forge(&mut self, body: Vec<CarriedEntry>) -> AppliedBlock {
        let block = self.block(body);
        self.apply(&block).unwrap()
    }

    pub fn forge_empty(&mut self, blocks: usize) {
        for _ in 0..blocks {
            self.forge(Vec::new());
        }
    }
}
