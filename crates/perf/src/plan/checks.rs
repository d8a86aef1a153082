//! What a scenario says to others: knobs to a workload, settings to a node. Whoever knows them checks them.

use toml::Value;

use super::chain::ChainPlan;
use super::model::{Network, Work};

/// What is wrong with a kind of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobError {
    /// Which knob; `None` where the kind itself is meant.
    pub key: Option<String>,
    /// What is wrong, what is allowed, and what was probably meant.
    pub message: String,
}

/// Checks of what this module carries without understanding it. Each is asked once for every point.
pub trait Checks {
    /// Whether there is such a kind of work, takes these knobs, and can be done in this network.
    fn work(&self, work: &Work, network: &Network) -> Result<(), KnobError> {
        let _ = (work, network);
        Ok(())
    }

    /// Whether each unit of it uses something up that was prepared for so many units and no more.
    fn is_used_up(&self, work: &Work) -> bool {
        let _ = work;
        false
    }

    /// Whether a node takes a setting, given by dotted name; `notary` says of what kind of node.
    fn setting(&self, name: &str, value: &Value, notary: bool) -> Result<(), String> {
        let _ = (name, value, notary);
        Ok(())
    }

    /// Whether a chain can be run as it is described.
    fn chain(&self, chain: &ChainPlan) -> Result<(), String> {
        let _ = chain;
        Ok(())
    }

    /// Whether a chain's node takes a setting.
    fn chain_setting(&self, name: &str, value: &Value) -> Result<(), String> {
        let _ = (name, value);
        Ok(())
    }
}

/// Checks nothing of the sort.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChecks;

impl Checks for NoChecks {}
