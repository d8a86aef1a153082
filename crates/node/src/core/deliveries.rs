//! The transactions that other nodes have not answered for, for the API.

use std::collections::BTreeSet;

use api::{DeliveryPage, DeliveryReason, DeliveryStatus, DeliveryView};
use kernel::{UnansweredDelivery, WaitReason, unanswered_page};
use ledger::PartyId;
use primitives::hex;

use super::refusals::{joined, store_refusal};
use super::service::Service;
use crate::http::Refusal;
use crate::http::place;

impl Service {
    /// Returns a page of deliveries after the key of a page before.
    pub(super) async fn read_deliveries(
        &self,
        after: Option<[u8; 40]>,
        limit: usize,
    ) -> Result<DeliveryPage, Refusal> {
        let store = self.store.clone();
        let found = place::blocking(move || {
            let page = unanswered_page(&store, after.as_ref(), limit);
            page.map_err(|failure| store_refusal(&failure))
        });
        let page = joined(found.await)?;
        let connected: BTreeSet<PartyId> = self
            .net
            .peers()
            .into_iter()
            .filter(|status| status.address.is_some())
            .map(|status| status.peer)
            .collect();
        let reasons = &self.shared.figures().wait_reasons;
        let entries = page.deliveries.iter().map(|delivery| {
            let reason = reasons.get(&(delivery.peer, delivery.transaction));
            let is_connected = connected.contains(&delivery.peer);
            self.delivery_view(delivery, reason.map(AsRef::as_ref), is_connected)
        });
        Ok(DeliveryPage {
            entries: entries.collect(),
            next: page.next.map(|key| hex::encode(&key)),
        })
    }

    fn delivery_view(
        &self,
        delivery: &UnansweredDelivery,
        reason: Option<&WaitReason>,
        is_connected: bool,
    ) -> DeliveryView {
        let status = match (is_connected, reason) {
            (false, _) => DeliveryStatus::Away,
            (true, Some(_)) => DeliveryStatus::Waiting,
            (true, None) => DeliveryStatus::Unanswered,
        };
        DeliveryView {
            peer: self.name_of(&delivery.peer),
            party_id: delivery.peer.to_string(),
            tx: delivery.transaction.to_string(),
            bytes: delivery.bytes as u64,
            status,
            reason: reason.map(|reason| DeliveryReason {
                code: reason.rejection.code.clone(),
                message: reason.rejection.message.clone(),
                hint: reason.rejection.hint.clone(),
                since_ms: reason.since.as_ms(),
            }),
        }
    }
}
