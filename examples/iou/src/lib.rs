//! An application of one's own: IOUs, settled against cash. `docs/guides/first-application.md` walks through it.

mod contract;
mod due;
mod flows;
mod state;
mod workload;

use flow::FlowRegistry;
use ledger::{ContractRegistry, RegistryError};

pub use contract::{IouCommand, IouContract, iou_code, iou_name};
pub use due::SettleDue;
pub use flows::{IssueIou, IssueIouArgs, SettleIou, SettleIouArgs};
pub use state::Iou;
pub use workload::register_workloads;

/// Registers the contract and the flows.
pub fn register(
    contracts: &mut ContractRegistry,
    flows: &mut FlowRegistry,
) -> Result<(), RegistryError> {
    contracts.register(std::sync::Arc::new(IouContract))?;
    flows
        .register::<IssueIou>()
        .register_responder::<flows::AcceptIou>()
        .register::<SettleIou>()
        .register_scheduled::<SettleDue>();
    Ok(())
}
