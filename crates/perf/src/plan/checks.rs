//! Checks of values that a scenario passes on: knobs to a workload, settings to a node. Their consumers provide the
//! checks.

use toml::Value;

use super::chain::ChainPlan;
use super::model::Work;
use super::network::Network;

/// An error in a kind of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobError {
    /// The knob; `None` if the kind itself is wrong.
    pub key: Option<String>,
    /// The error, the allowed values, and a suggestion.
    pub message: String,
}

/// Checks of values that this module does not interpret. Each check runs once per point.
pub trait Checks {
    /// Checks that the kind of work exists, accepts these knobs, and can run in this network.
    fn work(&self, work: &Work, network: &Network) -> Result<(), KnobError> {
        let _ = (work, network);
        Ok(())
    }

    /// Returns whether each unit of it uses up a prepared resource, so that only as many units as were prepared can run.
    fn is_used_up(&self, work: &Work) -> bool {
        let _ = work;
        false
    }

    /// Checks that a node accepts a setting, given by dotted name. `notary` says whether the node is a notary.
    fn setting(&self, name: &str, value: &Value, notary: bool) -> Result<(), String> {
        let _ = (name, value, notary);
        Ok(())
    }

    /// Checks that a chain can run as described.
    fn chain(&self, chain: &ChainPlan) -> Result<(), String> {
        let _ = chain;
        Ok(())
    }

    /// Checks that a chain's node accepts a setting.
    fn chain_setting(&self, name: &str, value: &Value) -> Result<(), String> {
        let _ = (name, value);
        Ok(())
    }
}

/// Performs no checks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChecks;

impl Checks for NoChecks {}
