//! The services that a node offers to the API, one trait for each resource. A handler uses the service of its resource.

mod attachments;
mod contracts;
mod flows;
mod hospital;
mod integrity;
mod ledger;
mod notary;
mod status;
mod vault;

use std::sync::Arc;

pub use self::attachments::AttachmentService;
pub use self::contracts::ContractService;
pub use self::flows::{EndedRow, FlowService};
pub use self::hospital::{HospitalService, Sees};
pub use self::integrity::IntegrityService;
pub use self::ledger::LedgerService;
pub use self::notary::NotaryService;
pub use self::status::StatusService;
pub use self::vault::VaultService;

/// The services behind the API. Tests put their own in the place of each.
#[derive(Clone)]
pub struct Services {
    /// Starts of flows and waits for their ends.
    pub flows: Arc<dyn FlowService>,
    /// Lists and orders of live flows.
    pub hospital: Arc<dyn HospitalService>,
    /// Balances, states and changes.
    pub vault: Arc<dyn VaultService>,
    /// Recorded transactions, notes and scheduled starts.
    pub ledger: Arc<dyn LedgerService>,
    /// Contracts and consents.
    pub contracts: Arc<dyn ContractService>,
    /// Records of notarisation.
    pub notary: Arc<dyn NotaryService>,
    /// Recovery after a rollback of the data.
    pub integrity: Arc<dyn IntegrityService>,
    /// State, peers, clock and health of the node.
    pub status: Arc<dyn StatusService>,
    /// Files.
    pub attachments: Arc<dyn AttachmentService>,
}

impl Services {
    /// Returns the services of a node that offers all of them.
    pub fn of<Node>(node: &Arc<Node>) -> Self
    where
        Node: FlowService
            + HospitalService
            + VaultService
            + LedgerService
            + ContractService
            + NotaryService
            + IntegrityService
            + StatusService
            + AttachmentService,
    {
        Self {
            flows: Arc::<Node>::clone(node),
            hospital: Arc::<Node>::clone(node),
            vault: Arc::<Node>::clone(node),
            ledger: Arc::<Node>::clone(node),
            contracts: Arc::<Node>::clone(node),
            notary: Arc::<Node>::clone(node),
            integrity: Arc::<Node>::clone(node),
            status: Arc::<Node>::clone(node),
            attachments: Arc::<Node>::clone(node),
        }
    }
}

impl std::fmt::Debug for Services {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Services").finish_non_exhaustive()
    }
}
