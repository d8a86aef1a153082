//! The node behind the API: the parts that its services use.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use flow::FlowRegistry;
use ledger::{ContractRegistry, NetworkMap, NodeInfo, TransactionState};
use notarydb::{RecordMeter, SharedRecord};
use pgstore::DatabaseFigures;
use vaultview::ViewProgress;

use super::columns::Columns;
use super::node_folder::Loss;
use super::readers::Readers;
use super::shared::NodeState;
use crate::bootstrap::CertificatesEnd;
use crate::ledger_store::LedgerStore;

/// The parts of a node that the services of the API use. Each service is implemented in a file of `services`.
pub(super) struct Service {
    pub(super) shared: Arc<NodeState>,
    pub(super) info: NodeInfo,
    pub(super) network: Arc<NetworkMap>,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) columns: Arc<Columns>,
    pub(super) flows: Arc<FlowRegistry>,
    pub(super) keys: Vec<primitives::PublicKey>,
    pub(super) store: LedgerStore,
    pub(super) files: store::Files,
    pub(super) uploads: Arc<crate::uploads::Uploads>,
    pub(super) readers: Arc<Readers>,
    pub(super) progress: ViewProgress,
    pub(super) net: net::Handle,
    pub(super) users: Arc<crate::users::Users>,
    /// Parts of the folder that were found lost at the start.
    pub(super) losses: Vec<Loss>,
    /// The end of the first TLS certificate that ends.
    pub(super) certificates_end: Option<CertificatesEnd>,
    /// Reads the counters of the database server, unless the store is embedded.
    pub(super) database: Option<Box<dyn Fn() -> DatabaseFigures + Send + Sync>>,
    /// Reads the record that the workers of a replicated notary share, if the node is one of them.
    pub(super) notary_reader: Option<Arc<Mutex<SharedRecord>>>,
    /// Reads the counters of the record that the workers of a replicated notary share, if the node is one of them.
    pub(super) notary_database: Option<RecordMeter>,
    pub(super) started: Instant,
}

impl Service {
    /// Returns the facts that the state's contract derives from it.
    pub(super) fn describe(&self, state: &TransactionState) -> Option<ledger::StateFacts> {
        self.contracts.describe(state).ok()
    }
}
