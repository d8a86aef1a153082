//! Creates the target that a scenario needs.

use std::path::PathBuf;

use super::care::Shape;
use super::chain::ChainUnderLoad;
use super::error::RunError;
use super::options::Options;
use super::other_system::OtherSystem;
use super::own_ledger::OwnLedger;
use super::running_ledger::RunningLedger;
use super::target::Target;
use crate::plan::{self, ChainPlan, Plan};

/// The identity of a target: points with equal keys share one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TargetKey {
    chain: Option<ChainPlan>,
    /// An existing network or another system.
    existing: Option<plan::Target>,
    shape: Shape,
}

impl TargetKey {
    /// Returns the key of the target that a scenario needs. `binary` is the executable of its nodes, if it has its own.
    pub fn of(plan: &Plan, binary: Option<PathBuf>) -> Self {
        Self {
            chain: plan.chain.clone(),
            existing: plan.network.target.clone(),
            shape: Shape::of(&plan.network, binary),
        }
    }
}

/// Creates a target. Nodes of our own do not run yet.
pub(super) async fn open(key: &TargetKey, options: &Options) -> Result<Box<dyn Target>, RunError> {
    let usual = options.binary.clone();
    Ok(match (&key.chain, &key.existing) {
        (Some(chain), _) => {
            let binary = key.shape.binary.clone().unwrap_or(usual);
            if key.shape.binary.is_some() {
                options.hosts.refuse_other_binary()?;
            }
            Box::new(ChainUnderLoad::new(chain, binary))
        }
        (None, Some(plan::Target::Connector(program))) => {
            Box::new(OtherSystem::start(program, &usual).await?)
        }
        (None, Some(plan::Target::Nodes { banks, notary })) => {
            Box::new(RunningLedger::open(banks, notary.as_deref())?)
        }
        (None, None) if key.shape.banks == 0 => Box::new(RunningLedger::open(&[], None)?),
        (None, None) => Box::new(OwnLedger::bootstrap(usual, &key.shape, &options.hosts).await?),
    })
}
