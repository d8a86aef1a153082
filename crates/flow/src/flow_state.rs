//! State shared by a flow's context, its sessions and the engine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ledger::{NetworkMap, Party, PartyId};
use primitives::Seed;

use crate::cell::Cell;
use crate::{FlowId, FlowLimits};

/// The properties of a node that all its flows share.
pub(crate) struct Environment {
    pub(crate) me: Party,
    pub(crate) my_id: PartyId,
    pub(crate) network: Arc<NetworkMap>,
    /// The secret that the seeds of responders derive from.
    pub(crate) secret: Seed,
    pub(crate) limits: FlowLimits,
}

/// One running flow.
pub(crate) struct FlowState {
    pub(crate) flow: FlowId,
    pub(crate) seed: Seed,
    pub(crate) environment: Arc<Environment>,
    cell: Mutex<Cell>,
}

impl FlowState {
    pub(crate) fn new(
        flow: FlowId,
        seed: Seed,
        environment: Arc<Environment>,
        cell: Cell,
    ) -> FlowState {
        FlowState {
            flow,
            seed,
            environment,
            cell: Mutex::new(cell),
        }
    }

    /// Locks the cell. A panic inside a flow cannot leave it half changed, because no flow code runs under the lock.
    pub(crate) fn cell(&self) -> MutexGuard<'_, Cell> {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
