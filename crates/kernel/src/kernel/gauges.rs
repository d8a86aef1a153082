//! The gauges of the parts, read for the metrics.

use std::collections::BTreeMap;

use flow::FlowId;
use ledger::PartyId;

use crate::figures::Figures;
use crate::kernel::Kernel;
use crate::notarisation::requests::Notarisation;
use crate::peers::figures::PeerFigures;

impl Kernel {
    /// Returns the steps that flows came to since the last call, in order. None are kept while no client watches.
    ///
    /// They are for display only: after a crash a flow may come to the same step again.
    pub fn take_steps(&mut self, watched: bool) -> Vec<(FlowId, &'static str)> {
        self.flows.take_steps(watched)
    }

    /// Counters and gauges for the metrics.
    pub fn figures(&self) -> Figures {
        let [unshared, sent_along] = self.links.along_figures();
        let mut figures = Figures {
            transactions: self.book.last_seq(),
            caches: [
                self.book.cache_figures(),
                self.context.signatures.known_figures(),
                self.contract_checks.figures(),
                unshared,
                sent_along,
                self.flows.cache_figures(),
                self.context.signatures.key_figures(),
                self.keys.own_figures(),
                self.keys.owner_figures(),
            ],
            rolled_back: u64::from(self.integrity.is_rolled_back()),
            links_contradicted: self.integrity.contradicted_links() as u64,
            equivocations_kept: self.contradictions.proofs() as u64,
            intake_items: self.intake.len() as u64,
            files_awaited: self.intake.files_awaited() as u64,
            deliveries_pending: self.links.unanswered().rows(),
            outbox_pending: self.links.outbox_pending(),
            notary_queued: self.notarisation.as_ref().map_or(0, Notarisation::queued) as u64,
            notary_clock_behind_ms: self.notarisation.as_ref().map_or(0, |notarisation| {
                notarisation.clock_behind_ms(self.context.now.wall)
            }),
            quarantined: self.selection.quarantined() as u64,
            deliveries_waiting: self.links.waits().len() as u64,
            wait_reasons: self.links.waits().reasons(),
            clock: self.clock.figures(),
            requests_outstanding: self.links.requests_outstanding(),
            ..self.context.figures.clone()
        };
        self.flows.add_figures(&mut figures);
        figures
    }

    /// Figures of every peer that has been heard in this run, and of every other party that has not answered for deliveries. Such a party
    /// may have left the network.
    pub fn peer_figures(&self) -> BTreeMap<PartyId, PeerFigures> {
        let mut all: BTreeMap<PartyId, PeerFigures> = BTreeMap::new();
        for (peer, usage) in self.flows.engine().peer_usages() {
            all.entry(peer).or_default().flows = usage;
        }
        for (peer, work) in self.context.peer_work() {
            all.entry(peer).or_default().work = work;
        }
        for (peer, rows) in self.links.unanswered().rows_by_peer() {
            all.entry(peer).or_default().undelivered = rows;
        }
        if let Some(notarisation) = &self.notarisation {
            for (peer, figures) in notarisation.requesters() {
                all.entry(peer).or_default().notary = Some(figures);
            }
        }
        all.remove(&self.context.my_id);
        all
    }
}
