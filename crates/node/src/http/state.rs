//! The state that the API's requests use.

use std::sync::{Arc, OnceLock};

use api::codes::INTERNAL;
use axum::body::Bytes;
use flow::FlowId;
use primitives::Seed;

use super::allowance::Allowance;
use super::connections::ClientAddress;
use super::front::Front;
use super::permits::marked;
use super::randomness::Randomness;
use super::refusal::Refusal;
use super::services::Services;
use super::vault_pages::VaultPages;
use crate::metrics::NodeMetrics;
use crate::users::{AuditLine, AuditNote, Caller, StartRates};

/// The state that every request uses.
pub(super) struct ApiState {
    pub(super) front: Arc<Front>,
    pub(super) services: Services,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) randomness: Randomness,
    /// The API's description, after the first request for it.
    pub(super) description: OnceLock<Bytes>,
    /// Pages of the vault's changes, shared by its followers.
    pub(super) vault_pages: VaultPages,
    pub(super) allowance: Allowance,
    /// The recent rate of flow starts of each user.
    pub(super) start_rates: StartRates,
}

impl std::ops::Deref for ApiState {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.front
    }
}

/// The user whose token the request carried.
#[derive(Clone, Debug)]
pub(super) struct User(pub(super) Arc<str>);

/// Details of a change for the audit log, attached to the answer.
#[derive(Clone, Debug)]
pub(super) struct About(pub(super) String);

/// The user that a change concerns, for the audit log, if the path does not name one.
#[derive(Clone, Debug)]
pub(super) struct Subject(pub(super) String);

impl ApiState {
    /// Makes the state of a server before its first request.
    pub(super) fn new(front: Arc<Front>, services: Services, metrics: Arc<NodeMetrics>) -> Self {
        Self {
            allowance: Allowance::new(front.options.followers_bytes_per_s),
            start_rates: StartRates::default(),
            front,
            services,
            metrics,
            randomness: Randomness::default(),
            description: OnceLock::new(),
            vault_pages: VaultPages::default(),
        }
    }

    /// A line of the audit log about a start, to be ended by its answer.
    pub(super) fn start_note(
        &self,
        caller: &Caller,
        address: ClientAddress,
        flow: (&str, &FlowId),
        client_id: Option<&str>,
    ) -> Option<AuditNote> {
        let audit = self.options.audit.as_ref()?;
        let mut line = AuditLine::new(Arc::clone(&caller.name), address.0, "flow.start");
        line.flow = Some(flow.0.chars().take(128).collect());
        line.flow_id = Some(flow.1.to_string());
        line.client_id = client_id.map(str::to_owned);
        Some(AuditNote::new(audit, line))
    }

    /// A new flow's id, marked as a user's, and seed.
    pub(super) fn fresh_for(&self, user: &Arc<str>) -> Result<(FlowId, Seed), Refusal> {
        let (flow_id, seed) = self.fresh()?;
        Ok((marked(flow_id, user), seed))
    }

    /// A new flow's id and seed.
    pub(super) fn fresh(&self) -> Result<(FlowId, Seed), Refusal> {
        self.randomness
            .flow()
            .map_err(|_| Refusal::listed(&INTERNAL, "the system gives no random bytes"))
    }
}
