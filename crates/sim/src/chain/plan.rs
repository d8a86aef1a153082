//! The parameters of a run: everything that is drawn before it begins.

use std::sync::Arc;

use chain::bundle::{Bundler, BundlerRate, BundlerRules};
use chain::core::Settings;
use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides};
use chain::pool::PoolSettings;
use chain::{
    AccountId, ChainId, Genesis, MinorUnits, Percent, Seconds, WholeTokens, key_of_passphrase,
};
use primitives::{KeyPair, PublicKey};

use super::bug::ChainBug;
use super::scenario::Scenario;
use crate::chance::Chance;

/// Accounts that hold all tokens and forge. The last one belongs to the adversary.
pub(super) const ACCOUNTS: usize = 10;
/// An account with just enough tokens for one payment at a time, so that its payments conflict with each other.
pub(super) const POOR: usize = ACCOUNTS;
/// Number of child chains.
pub(super) const CHILDREN: u8 = 3;
/// Minor units of each token that each account has.
pub(super) const EACH: u64 = 100_000_000_000;
/// Minor units of each token that the poor account has.
pub(super) const LITTLE: u64 = 100_000;
/// Block time in seconds.
pub(super) const BLOCK_SECONDS: u32 = 4;
/// Maximum duration of a round on a quick node, in milliseconds.
const ROUND_MS: u64 = 4;

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainOptions {
    /// The seed, which determines the whole run.
    pub seed: u64,
    /// Nodes; 0 lets the seed choose, mostly few.
    pub nodes: usize,
    /// Whether to keep the trace as text.
    pub keep_trace: bool,
    /// A bug planted in every node, to test whether the audit finds it.
    pub bug: Option<ChainBug>,
    /// The scenario of the run.
    pub scenario: Scenario,
}

impl ChainOptions {
    /// Returns the options of a run with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            nodes: 0,
            keep_trace: false,
            bug: None,
            scenario: Scenario::Mixed,
        }
    }
}

/// A partition: its time span and the part of each node.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) from_ms: u64,
    pub(super) to_ms: u64,
    pub(super) parts: Vec<usize>,
    /// Whether nodes notice that peers are gone. Otherwise messages are only lost.
    pub(super) noticed: bool,
}

/// A crash of a node, with its time and duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crash {
    pub(super) node: usize,
    pub(super) at_ms: u64,
    pub(super) down_ms: u64,
}

/// The parameters drawn for a run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) genesis: Arc<Genesis>,
    pub(super) nodes: usize,
    /// Number of peers that lie.
    pub(super) adversaries: usize,
    /// Offset of each node's clock, in milliseconds. Positive values are ahead.
    pub(super) skews_ms: Vec<i64>,
    /// Messages that are lost and messages that arrive twice, per mille.
    pub(super) lost_per_mille: u64,
    pub(super) twice_per_mille: u64,
    /// Maximum delay between two nodes, in milliseconds.
    pub(super) delay_ms_max: u64,
    /// Maximum time until a batch is durable, in milliseconds.
    pub(super) disk_ms_max: u64,
    /// Maximum time from the first event of a round to its end, in milliseconds. In long rounds many events come together.
    pub(super) round_ms_max: u64,
    pub(super) splits: Vec<Split>,
    pub(super) crashes: Vec<Crash>,
    /// End of the attacks. In mixed runs this is later than the end of the payments.
    pub(super) attacks_ms: u64,
    /// The scenario of the run.
    pub(super) scenario: Scenario,
    /// End of the clients' payments.
    pub(super) traffic_ms: u64,
    /// Average pause between two actions of clients, in milliseconds.
    pub(super) pause_ms: u64,
    /// Number of neighbours of a node: all other nodes, or only some.
    pub(super) neighbours: usize,
    /// Time at which forging ends, so that all nodes can agree on one tip.
    pub(super) forging_ms: u64,
    /// Time at which the run ends.
    pub(super) end_ms: u64,
}

/// Returns the key of an account.
pub(super) fn key(n: usize) -> KeyPair {
    key_of_passphrase(&n.to_string())
}

/// Returns the public key of a key pair.
pub(super) fn public(key: &KeyPair) -> [u8; 32] {
    match key.public() {
        PublicKey::Ed25519(bytes) => *bytes,
        _ => unreachable!("passphrases make Ed25519 keys"),
    }
}

/// Returns the id of an account.
pub(super) fn account(n: usize) -> AccountId {
    AccountId::of_key(&public(&key(n)))
}

/// Returns the genesis, with small constants or those of a public network. The last account is the attackers' and holds this
/// share of the stake.
fn genesis(attackers_percent: u64, production: bool) -> Arc<Genesis> {
    let others = (ACCOUNTS as u64 - 1) * EACH;
    let of = |n: usize| match n {
        POOR => LITTLE,
        n if n == ACCOUNTS - 1 => others * attackers_percent / (100 - attackers_percent),
        _ => EACH,
    };
    let params = match production {
        true => ParamsOverrides {
            effective_tokens_min: Some(WholeTokens::new(10)),
            ..ParamsOverrides::default()
        },
        false => small(),
    };
    let symbols = ["TALLY", "ONE", "TWO", "THREE"];
    let amounts = |each: u64| {
        let each = MinorUnits::new(each);
        symbols.iter().map(|s| ((*s).to_owned(), each)).collect()
    };
    let balances = (0..=POOR).map(|n| BalanceSpec {
        passphrase: Some(n.to_string().into()),
        amounts: amounts(of(n)),
        ..BalanceSpec::default()
    });
    let spec = GenesisSpec {
        network: "simulated".into(),
        time_ms: 1_750_000_000_000,
        profile: if production { "production" } else { "loadtest" }.into(),
        params,
        chains: symbols
            .iter()
            .zip(1..)
            .map(|(symbol, id)| ChainSpec {
                id: ChainId(id),
                name: format!("chain {id}"),
                symbol: (*symbol).into(),
                decimals: 4,
            })
            .collect(),
        balances: balances.collect(),
    };
    Arc::new(spec.build().expect("the genesis keeps its own rules"))
}

fn small() -> ParamsOverrides {
    ParamsOverrides {
        block_seconds: Some(Seconds::new(BLOCK_SECONDS)),
        parent_fee_min: Some(MinorUnits::new(100)),
        child_block_fee_per_transaction: Some(MinorUnits::new(10)),
        anchor_depth_min: Some(4),
        clock_drift_seconds: Some(Seconds::new(6)),
        effective_age_blocks: Some(60),
        effective_tokens_min: Some(WholeTokens::new(10)),
        lease_delay_blocks: Some(60),
        lease_blocks_min: Some(3),
        lease_blocks_max: Some(1_000),
        rollback_blocks_max: Some(60),
        ..ParamsOverrides::default()
    }
}

impl Plan {
    pub(super) fn draw(options: &ChainOptions, chance: &mut Chance) -> Self {
        let mut plan = Self::draw_mixed(options, chance);
        match options.scenario {
            Scenario::Mixed => {}
            Scenario::Liars => {
                plan.neighbours = 2;
                plan.adversaries = plan.nodes + 3 + chance.below(4);
            }
            Scenario::Siege {
                stake_percent,
                blocks,
                production,
            } => {
                plan.genesis = genesis(stake_percent.into(), production);
                plan.adversaries = 3;
                plan.calm(blocks);
            }
            Scenario::Equivocation {
                stake_percent,
                blocks,
            } => {
                plan.genesis = genesis(stake_percent.into(), false);
                plan.adversaries = 2;
                plan.calm(blocks);
                // Honest blocks come last, so that all nodes can agree on one tip.
                plan.attacks_ms -= u64::from(BLOCK_SECONDS) * 10_000;
            }
            Scenario::FastClock {
                drift_percent,
                blocks,
                ..
            } => {
                plan.genesis = genesis(100 / ACCOUNTS as u64, false);
                plan.adversaries = 0;
                plan.calm(blocks);
                let drift_ms = plan.genesis.params.block_drift_seconds().as_ms();
                plan.skews_ms[0] = (drift_ms * u64::from(drift_percent) / 100) as i64;
            }
        }
        plan
    }

    /// Removes all faults except the attack, for the duration of this many blocks.
    fn calm(&mut self, blocks: u32) {
        let block_ms = self.genesis.params.block_seconds.as_ms();
        self.skews_ms.fill(0);
        self.splits.clear();
        self.crashes.clear();
        (self.lost_per_mille, self.twice_per_mille) = (0, 0);
        (self.delay_ms_max, self.disk_ms_max) = (100, 100);
        self.round_ms_max = ROUND_MS;
        self.neighbours = self.nodes;
        self.traffic_ms = 0;
        self.forging_ms = u64::from(blocks) * block_ms;
        self.attacks_ms = self.forging_ms;
        self.end_ms = self.forging_ms + 15 * block_ms;
    }

    fn draw_mixed(options: &ChainOptions, chance: &mut Chance) -> Self {
        let nodes = match options.nodes {
            0 => chance.one_of(&[2, 3, 3, 4, 4, 5, 6, 8]),
            nodes => nodes,
        };
        let traffic_ms = chance.between(30_000, 70_000);
        let mut splits = Vec::new();
        let mut at_ms = chance.between(8_000, 30_000);
        while at_ms < traffic_ms && splits.len() < 2 && nodes > 1 {
            let to_ms = at_ms + chance.between(3_000, 70_000);
            splits.push(Split {
                from_ms: at_ms,
                to_ms,
                parts: (0..nodes).map(|_| chance.below(2)).collect(),
                noticed: chance.per_mille(500),
            });
            at_ms = to_ms + chance.between(5_000, 40_000);
        }
        let crashes = (0..chance.below(4))
            .map(|_| Crash {
                node: chance.below(nodes),
                at_ms: chance.between(3_000, traffic_ms),
                down_ms: chance.between(100, 15_000),
            })
            .collect();
        let calm_ms = traffic_ms.max(splits.last().map_or(0, |split| split.to_ms));
        let forging_ms = calm_ms + 110_000;
        Self {
            genesis: genesis(100 / ACCOUNTS as u64, false),
            attacks_ms: forging_ms + 30_000,
            scenario: options.scenario,
            adversaries: chance.below(3),
            skews_ms: (0..nodes)
                .map(|_| chance.between(0, 3_000) as i64 - 1_500)
                .collect(),
            lost_per_mille: chance.one_of(&[0, 0, 10, 50]),
            twice_per_mille: chance.one_of(&[0, 20]),
            delay_ms_max: chance.one_of(&[20, 100, 400]),
            disk_ms_max: chance.one_of(&[10, 100, 600]),
            splits,
            crashes,
            traffic_ms,
            pause_ms: chance.between(300, 1_500),
            neighbours: if nodes > 4 && chance.per_mille(500) {
                3
            } else {
                nodes
            },
            forging_ms,
            end_ms: forging_ms + 60_000,
            nodes,
            round_ms_max: chance.one_of(&[ROUND_MS, ROUND_MS, ROUND_MS, 300]),
        }
    }

    /// Returns a node's forgers and bundlers, spread over the nodes as in the load test. The last account is the adversary's, if
    /// there is one.
    pub(super) fn settings(&self, node: usize) -> Settings {
        let honest = if self.adversaries > 0 {
            ACCOUNTS - 1
        } else {
            ACCOUNTS
        };
        let bundlers = (0..CHILDREN)
            .filter(|child| usize::from(*child) % self.nodes == node || node == 0)
            .map(|child| Bundler {
                key: key(node % honest),
                rules: BundlerRules {
                    child: ChainId(child + 2),
                    rate_min: BundlerRate::ZERO,
                    overpay_percent: Percent::ZERO,
                    total_fee_max: None,
                    senders: Vec::new(),
                    recipients: Vec::new(),
                    purpose: String::new(),
                },
            });
        let forges = |account: &usize| match self.scenario {
            Scenario::FastClock { stake_tenths, .. } if *account < stake_tenths => node == 0,
            Scenario::FastClock { .. } => 1 + account % (self.nodes - 1) == node,
            _ => account % self.nodes == node,
        };
        Settings {
            forgers: (0..honest).filter(forges).map(key).collect(),
            bundlers: bundlers.collect(),
            pool: PoolSettings {
                patience_seconds: Some(Seconds::new(25)),
                ..PoolSettings::default()
            },
            ..Settings::default()
        }
    }
}
