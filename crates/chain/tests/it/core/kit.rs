//! Several connected cores. Messages arrive at once, and time passes when no core has an action left.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chain::bundle::{Bundler, BundlerRate, BundlerRules};
use chain::core::{Action, Core, Event, Notice, OrderDone, PeerId, Settings, Ticket};
use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides};
use chain::state::MemoryStore;
use chain::{
    AccountId, Anchor, BlockTimestamp, Body, ChainId, ChainTime, Genesis, Height, MinorUnits,
    Minutes, Percent, Rejection, Seconds, Transaction, TxId, WholeTokens, key_of_passphrase,
};
use primitives::{KeyPair, PublicKey};

pub const ACCOUNTS: usize = 6;
pub const EACH: u64 = 10_000_000_000;

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

/// Returns a genesis with four seconds per block and limits small enough for forks of some dozen blocks.
pub fn genesis() -> Arc<Genesis> {
    genesis_of(ParamsOverrides::default())
}

/// Returns the same genesis with a maximum deadline of ten minutes, so that bodies may be pruned soon.
pub fn forgetful() -> Arc<Genesis> {
    genesis_of(ParamsOverrides {
        deadline_minutes_max: Some(Minutes::new(10)),
        ..ParamsOverrides::default()
    })
}

/// Returns the same genesis with forty seconds per block, so that blocks may be announced ten seconds before their time.
pub fn slow() -> Arc<Genesis> {
    genesis_of(ParamsOverrides {
        block_seconds: Some(Seconds::new(40)),
        ..ParamsOverrides::default()
    })
}

/// Returns the same genesis with a rollback limit of 700 blocks.
pub fn deep() -> Arc<Genesis> {
    genesis_of(ParamsOverrides {
        effective_age_blocks: Some(700),
        lease_delay_blocks: Some(700),
        rollback_blocks_max: Some(700),
        ..ParamsOverrides::default()
    })
}

fn genesis_of(others: ParamsOverrides) -> Arc<Genesis> {
    let symbols = ["TALLY", "ONE", "TWO"];
    let spec = GenesisSpec {
        network: "test".into(),
        time_ms: 1_750_000_000_000,
        profile: "loadtest".into(),
        params: ParamsOverrides {
            block_seconds: others.block_seconds.or(Some(Seconds::new(4))),
            parent_fee_min: Some(MinorUnits::new(100)),
            child_block_fee_per_transaction: Some(MinorUnits::new(10)),
            anchor_depth_min: Some(5),
            effective_age_blocks: others.effective_age_blocks.or(Some(20)),
            effective_tokens_min: Some(WholeTokens::new(10)),
            lease_delay_blocks: others.lease_delay_blocks.or(Some(20)),
            lease_blocks_min: Some(3),
            lease_blocks_max: Some(100),
            rollback_blocks_max: others.rollback_blocks_max.or(Some(12)),
            ..others
        },
        chains: (0..symbols.len())
            .map(|n| ChainSpec {
                id: ChainId(n as u8 + 1),
                name: format!("chain {n}"),
                symbol: symbols[n].into(),
                decimals: 4,
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
    };
    Arc::new(spec.build().unwrap())
}

pub fn bundler(n: usize, child: u8) -> Bundler {
    Bundler {
        key: key(n),
        rules: BundlerRules {
            child: ChainId(child),
            rate_min: BundlerRate::ZERO,
            overpay_percent: Percent::ZERO,
            total_fee_max: None,
            senders: Vec::new(),
            recipients: Vec::new(),
            purpose: String::new(),
        },
    }
}

pub struct Node {
    pub core: Core<MemoryStore>,
    pub store: MemoryStore,
    pub up: bool,
    inbox: VecDeque<Event>,
    pub notices: Vec<Notice>,
    pub outcomes: Vec<Result<TxId, Rejection>>,
    pub orders: Vec<Result<OrderDone, Rejection>>,
    pub penalties: Vec<(PeerId, u32, &'static str)>,
}

pub struct SmallNetwork {
    pub genesis: Arc<Genesis>,
    pub nodes: Vec<Node>,
    pub now_ms: u64,
    tickets: Ticket,
    asked: BTreeMap<Ticket, (usize, Ticket)>,
    /// The group of each node. Nodes in different groups are not connected.
    pub group: Vec<usize>,
}

pub fn peer(n: usize) -> PeerId {
    PeerId([n as u8 + 1; 32])
}

fn of_peer(peer: PeerId) -> usize {
    usize::from(peer.0[0]) - 1
}

impl SmallNetwork {
    pub fn new(settings: Vec<Settings>) -> Self {
        let genesis = genesis();
        let nodes: Vec<Node> = settings
            .into_iter()
            .map(|settings| {
                let store = MemoryStore::new();
                let core = Core::open(store.clone(), genesis.clone(), settings, ChainTime::GENESIS)
                    .unwrap();
                Node {
                    core,
                    store,
                    up: true,
                    inbox: VecDeque::new(),
                    notices: Vec::new(),
                    outcomes: Vec::new(),
                    orders: Vec::new(),
                    penalties: Vec::new(),
                }
            })
            .collect();
        let mut room = Self {
            genesis,
            group: vec![0; nodes.len()],
            nodes,
            now_ms: 0,
            tickets: 0,
            asked: BTreeMap::new(),
        };
        room.regroup(vec![0; room.nodes.len()]);
        room
    }

    /// Connects the nodes of each group, and disconnects all others.
    pub fn regroup(&mut self, group: Vec<usize>) {
        self.group = group;
        for n in 0..self.nodes.len() {
            for other in 0..self.nodes.len() {
                if n != other {
                    let event = if self.group[n] == self.group[other] {
                        Event::PeerUp(peer(other))
                    } else {
                        Event::PeerDown(peer(other))
                    };
                    self.nodes[n].inbox.push_back(event);
                }
            }
        }
    }

    pub fn tell(&mut self, n: usize, event: Event) {
        self.nodes[n].inbox.push_back(event);
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.tickets
    }

    /// Runs all cores until no core has an action left at this time.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut quiet = true;
            for n in 0..self.nodes.len() {
                let now = ChainTime::from_ms(self.now_ms);
                let node = &mut self.nodes[n];
                let due = node.core.next_wake().is_some_and(|wake| wake <= now);
                if node.inbox.is_empty() && !due {
                    continue;
                }
                quiet = false;
                while let Some(event) = node.inbox.pop_front() {
                    node.core.handle(now, event).unwrap();
                }
                let round = node.core.flush(now).unwrap();
                node.store.commit(round.batch);
                node.core.committed();
                for action in round.actions {
                    self.perform(n, action);
                }
            }
            if quiet {
                return;
            }
        }
        panic!("they never stop talking at {} ms", self.now_ms);
    }

    fn perform(&mut self, n: usize, action: Action) {
        match action {
            Action::Gossip(bytes) => {
                for other in 0..self.nodes.len() {
                    if other != n && self.group[other] == self.group[n] {
                        let message = self.ticket();
                        self.nodes[other].inbox.push_back(Event::Gossip {
                            peer: peer(n),
                            message,
                            bytes: bytes.clone(),
                        });
                    }
                }
            }
            Action::Ask {
                peer: to,
                ticket,
                bytes,
                ..
            } => {
                let to = of_peer(to);
                if to >= self.nodes.len() || !self.nodes[to].up || self.group[to] != self.group[n] {
                    self.nodes[n].inbox.push_back(Event::Answered {
                        peer: peer(to),
                        ticket,
                        result: Err(chain::core::RequestFailure::Gone),
                    });
                    return;
                }
                let number = self.ticket();
                self.asked.insert(number, (n, ticket));
                self.nodes[to].inbox.push_back(Event::Asked {
                    peer: peer(n),
                    ticket: number,
                    bytes,
                });
            }
            Action::Answer { ticket, bytes } => {
                if let Some((asker, ticket)) = self.asked.remove(&ticket) {
                    self.nodes[asker].inbox.push_back(Event::Answered {
                        peer: peer(n),
                        ticket,
                        result: Ok(bytes),
                    });
                }
            }
            Action::Submitted { outcomes, .. } => self.nodes[n].outcomes.extend(outcomes),
            Action::Done { outcome, .. } => self.nodes[n].orders.push(outcome),
            Action::Notice(notice) => self.nodes[n].notices.push(*notice),
            Action::Penalise {
                peer,
                points,
                reason,
            } => self.nodes[n].penalties.push((peer, points, reason)),
            Action::Verdict { .. } | Action::Disconnect { .. } => {}
        }
    }

    /// Lets time pass.
    pub fn run_to(&mut self, until_ms: u64) {
        self.settle();
        loop {
            let next = self
                .nodes
                .iter()
                .filter_map(|node| node.core.next_wake())
                .min()
                .map_or(u64::MAX, ChainTime::as_ms);
            if next > until_ms {
                break;
            }
            assert!(next > self.now_ms, "awake for nothing at {next}");
            self.now_ms = next;
            self.settle();
        }
        self.now_ms = until_ms;
        self.settle();
    }

    pub fn payment(&self, from: usize, to: usize, chain: u8, amount: u64) -> Transaction {
        let mut transaction = Transaction {
            chain: ChainId(chain),
            time: BlockTimestamp::at(ChainTime::from_ms(self.now_ms)),
            deadline_minutes: Minutes::new(60),
            sender: public(from),
            fee: MinorUnits::new(100),
            anchor: Anchor::at(Height::GENESIS, &self.genesis.hash),
            body: Body::Payment {
                to: account(to),
                amount: MinorUnits::new(amount),
                message: Vec::new(),
            },
            signature: [0; 64],
        };
        transaction.sign(&self.genesis.hash, &key(from));
        transaction
    }

    pub fn submit(&mut self, n: usize, transactions: Vec<Transaction>) {
        let ticket = self.ticket();
        self.tell(
            n,
            Event::Submit {
                ticket,
                transactions,
            },
        );
    }

    pub fn balance(&self, n: usize, of: usize, chain: u8) -> u64 {
        let overlay = self.nodes[n].core.overlay();
        let balance = overlay.balance(&account(of), ChainId(chain));
        balance.unwrap().get()
    }

    pub fn tip(&self, n: usize) -> (u32, primitives::Hash) {
        let tip = self.nodes[n].core.overlay().tip();
        (tip.height.get(), tip.hash)
    }

    pub fn same_tip(&self) -> bool {
        (1..self.nodes.len()).all(|n| self.tip(n) == self.tip(0))
    }
}
