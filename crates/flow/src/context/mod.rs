//! The context: everything a flow can ask of the world.

mod claims;
mod deadlines;
mod effect_future;
mod effects;
mod joined;
mod keys;
mod sub_flow;

use std::sync::Arc;

use ledger::{NetworkMap, Party, PartyId};
use primitives::{Domain, Hash, Timestamp};

use crate::error::{NO_NOTARY, UNKNOWN_PARTY};
use crate::flow_state::FlowState;
use crate::{FlowError, FlowId};

/// A flow's view of the world; cheap to clone.
///
/// Every `async` function is an effect: its result goes to the journal, and after a restart the flow finds the same
/// result in the same place.
#[derive(Clone)]
pub struct FlowContext {
    shared: Arc<FlowState>,
    scope: u16,
    name: &'static str,
    version: u32,
}

impl FlowContext {
    pub(crate) fn new(shared: Arc<FlowState>, name: &'static str, version: u32) -> FlowContext {
        FlowContext {
            shared,
            scope: 0,
            name,
            version,
        }
    }

    /// Returns this node's party.
    pub fn me(&self) -> &Party {
        &self.shared.environment.me
    }

    /// Returns this node's party id.
    pub fn my_id(&self) -> PartyId {
        self.shared.environment.my_id
    }

    /// Returns the id of this run.
    pub fn flow_id(&self) -> FlowId {
        self.shared.flow
    }

    /// Returns the version of the flow that this run uses.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the network map as of the flow's start, or as of the node's start if that was later.
    pub fn network(&self) -> &NetworkMap {
        &self.shared.environment.network
    }

    /// Returns the network's first notary, or `flow.no_notary` if there is none.
    pub fn notary(&self) -> Result<&Party, FlowError> {
        self.network()
            .notary()
            .ok_or_else(|| FlowError::listed(&NO_NOTARY, "the network map names no notary"))
    }

    /// Returns a party of the network, or `flow.unknown_party` if it is not listed.
    pub fn party(&self, id: &PartyId) -> Result<&Party, FlowError> {
        self.network().party(id).ok_or_else(|| {
            FlowError::listed(
                &UNKNOWN_PARTY,
                format!("the network map does not list party {id}"),
            )
        })
    }

    // ---- values fixed by the journal ----

    /// Returns the time; the same on replay.
    pub fn now(&self) -> Timestamp {
        let mut cell = self.shared.cell();
        let live = cell.now;
        match cell.number(self.scope) {
            Ok(effect) => Timestamp::from_ms(cell.fact(effect, live.as_ms())),
            Err(_) => live,
        }
    }

    /// Returns 32 random bytes, derived from the seed in the start record; the same on replay.
    pub fn random32(&self) -> Result<[u8; 32], FlowError> {
        let effect = self.shared.cell().number(self.scope)?;
        let parts: [&[u8]; 3] = [b"random", self.shared.seed.expose(), &effect.to_be_bytes()];
        Ok(*Hash::of(Domain::Derive, &parts).as_bytes())
    }

    /// Reports the step that the flow has reached to its observers.
    pub fn progress(&self, step: &'static str) {
        self.shared.cell().progress(step);
    }
}
