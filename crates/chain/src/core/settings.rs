//! An operator's settings of a core.

use std::time::Duration;

use primitives::{Hash, KeyPair};

use crate::Height;
use crate::bundle::{BundleSettings, Bundler};
use crate::pool::PoolSettings;

/// A core's settings. They are a node's own choice and not rules of the network.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Accounts that forge on this node from the start.
    pub forgers: Vec<KeyPair>,
    /// Accounts that bundle on this node from the start.
    pub bundlers: Vec<Bundler>,
    /// Limits of the pool.
    pub pool: PoolSettings,
    /// Blocks that must be on the chain, by height and hash. Blocks that contradict them are refused, regardless of their
    /// difficulty.
    pub trusted: Vec<(Height, Hash)>,
    /// Delay between a forger's time and the making of its block, so that an earlier block by another forger may arrive first.
    pub forging_delay: Duration,
    /// Settings for the times and limits of child blocks.
    pub bundling: BundleSettings,
    /// Maximum time that a transaction waits to be gossiped with others.
    pub gossip_linger: Duration,
    /// Number of newest blocks whose bodies are kept, at least the rollback limit. `None` keeps all.
    pub bodies_kept: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            forgers: Vec::new(),
            bundlers: Vec::new(),
            pool: PoolSettings::default(),
            trusted: Vec::new(),
            forging_delay: Duration::ZERO,
            bundling: BundleSettings::default(),
            gossip_linger: Duration::from_millis(20),
            bodies_kept: None,
        }
    }
}
