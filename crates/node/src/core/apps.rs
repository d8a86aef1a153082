//! The contracts and flows that a node runs.

use flow::FlowRegistry;
use ledger::ContractRegistry;

use super::start_error::StartError;

/// The contracts and flows of a node.
pub struct Apps {
    /// Its contracts.
    pub contracts: ContractRegistry,
    /// Its flows.
    pub flows: FlowRegistry,
}

impl Apps {
    /// Returns the contracts and flows of this software.
    ///
    /// # Errors
    /// Two contracts of one name and version.
    pub fn built_in() -> Result<Self, StartError> {
        let mut apps = Self {
            contracts: ContractRegistry::new(),
            flows: FlowRegistry::new(),
        };
        finance::register_contracts(&mut apps.contracts)
            .map_err(|error| StartError::Apps(error.to_string()))?;
        flow::transitions::register_flows(&mut apps.flows);
        flow::empty::register_flows(&mut apps.flows);
        flow::identities::register_flows(&mut apps.flows);
        finance::register_flows(&mut apps.flows);
        Ok(apps)
    }
}
