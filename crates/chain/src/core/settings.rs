//! What an operator chooses for a core.

use primitives::{Hash, KeyPair};

use crate::bundle::{BundleSettings, Bundler};
use crate::pool::PoolSettings;

/// A core's settings: a node's own choice, no rule of the network.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Accounts that forge here from the start.
    pub forgers: Vec<KeyPair>,
    /// Accounts that bundle here from the start.
    pub bundlers: Vec<Bundler>,
    /// Limits of the pool.
    pub pool: PoolSettings,
    /// Blocks that must be on the chain: height and hash. What contradicts them is refused, whatever its difficulty.
    pub trusted: Vec<(u32, Hash)>,
    /// A forger waits so long after its time before it makes its block, so that an earlier one by somebody else may come first.
    pub forging_delay_ms: u64,
    /// When bundlers make child blocks, and of what.
    pub bundling: BundleSettings,
    /// Transactions wait at most so long for others to be gossiped with.
    pub gossip_linger_ms: u64,
    /// Bodies of so many of the newest blocks are kept, at least the rollback limit; nothing for all.
    pub bodies_kept: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            forgers: Vec::new(),
            bundlers: Vec::new(),
            pool: PoolSettings::default(),
            trusted: Vec::new(),
            forging_delay_ms: 0,
            bundling: BundleSettings::default(),
            gossip_linger_ms: 20,
            bodies_kept: None,
        }
    }
}
