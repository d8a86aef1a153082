//! The kernel itself: its parts, its rounds, and how events become one commit.
//!
//! # Invariants
//! - One round is `handle` any number of times, then `flush` once: one [`Action::Commit`] at most.
//! - Everything that leaves the node (messages, replies) is in the `then` of the round's commit. It leaves after that batch and
//!   all earlier ones are durable. A round that writes nothing acts at once if no commit is in flight.
//! - No signature is checked alone when others wait: checks of a round are one batch.
//! - Bulk work (back chains served, back chains verified) takes a bounded part of each round.

use std::sync::Arc;

use flow::FlowEngine;
use primitives::{Hash, Moment, Monotonic};
use vault::Selection;

use crate::back_chains::running::Resolutions;
use crate::back_chains::serving::FetchQueue;
use crate::clock::ClockWatch;
use crate::consents::Consents;
use crate::context::Context;
use crate::event::{Action, Event, Reply};
use crate::files::{Files, Participation, Stored};
use crate::flows::Flows;
use crate::flows::runner::Runner;
use crate::flows::start_gate::StartGate;
use crate::intake::contract_checks::ContractChecks;
use crate::intake::items::Intake;
use crate::intake::signatures::Signatures;
use crate::integrity::{ConsumedIndex, Equivocations, Integrity};
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::notarisation::requests::Notarisation;
use crate::notes::{NewNote, Notes};
use crate::peers::along::Along;
use crate::peers::budget::PeerBudgets;
use crate::peers::links::Links;
use crate::peers::waiting::DeliveryWaits;
use crate::port::{Reads, StoreFailure};
use crate::round::Work;
use crate::schedule::table::Schedule;

/// One node's deciding core. See the crate's page for how it is driven.
pub struct Kernel {
    pub(crate) context: Context,
    pub(crate) keys: KeyBook,
    pub(crate) clock: ClockWatch,
    pub(crate) delivery_waits: DeliveryWaits,
    pub(crate) flows: Flows,
    pub(crate) links: Links,
    pub(crate) intake: Intake,
    pub(crate) fetches: FetchQueue,
    pub(crate) book: Book,
    pub(crate) selection: Selection,
    pub(crate) consumed: ConsumedIndex,
    pub(crate) equivocations: Equivocations,
    pub(crate) integrity: Integrity,
    pub(crate) notarisation: Option<Notarisation>,
    pub(crate) schedule: Schedule,
    pub(crate) notes: Notes,
    pub(crate) files: Files,
    pub(crate) consents: Consents,
    pub(crate) budgets: PeerBudgets,
    pub(crate) signatures: Signatures,
    pub(crate) contract_checks: ContractChecks,
    pub(crate) along: Along,
}

/// The parts of a kernel that are read from the store before the rest is made.
pub(crate) struct OpenedParts {
    pub(crate) book: Book,
    pub(crate) keys: KeyBook,
    pub(crate) links: Links,
    pub(crate) notarisation: Option<Notarisation>,
    pub(crate) integrity: Integrity,
}

impl Kernel {
    pub(crate) fn assemble(context: Context, opened: OpenedParts) -> Self {
        let (options, identity, now) = (&context.options, &context.identity, context.now);
        let my_id = context.my_id;
        let OpenedParts {
            book,
            keys,
            links,
            notarisation,
            integrity,
        } = opened;
        let witnesses = integrity.marks.keys().copied();
        let witnesses = witnesses
            .filter(|peer| *peer != my_id && identity.network.node(peer).is_some())
            .collect();
        let gate = StartGate::new(
            witnesses,
            options.meet_peers_ms,
            options.hold_unmet,
            now.monotonic,
        );
        let engine = FlowEngine::new(
            Arc::clone(&identity.flows),
            identity.me.clone(),
            Arc::clone(&identity.network),
            options.entropy.clone(),
            options.flow,
        );
        let others = identity.network.nodes().count().saturating_sub(1);
        let clock = ClockWatch::new(now, others, options.entropy.clone());
        let selection = Selection::new(options.selection, book.last_seq());
        let first_resolution = Hash::plain(options.entropy.expose());
        let first_resolution = first_resolution.as_bytes().first_chunk::<8>().copied();
        let first_resolution = u64::from_be_bytes(first_resolution.unwrap_or_default());
        Self {
            keys,
            clock,
            delivery_waits: DeliveryWaits::default(),
            flows: Flows::new(Runner::new(engine, now), gate, options, now),
            links,
            intake: Intake::new(Resolutions::new(first_resolution)),
            fetches: FetchQueue::default(),
            book,
            selection,
            consumed: ConsumedIndex::default(),
            equivocations: Equivocations::default(),
            integrity,
            notarisation,
            schedule: Schedule::default(),
            notes: Notes::default(),
            files: Files::new(options.file_rows_bytes),
            consents: Consents::default(),
            budgets: PeerBudgets::default(),
            signatures: Signatures::new(options),
            contract_checks: ContractChecks::new(options.known_signatures_bytes),
            along: Along::new(options),
            context,
        }
    }

    /// Takes one event. Nothing leaves before [`Kernel::flush`].
    ///
    /// # Errors
    /// The store could not be read: the node has to stop.
    pub fn handle(
        &mut self,
        event: Event,
        now: Moment,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.advance(now);
        match event {
            Event::Start(start) => {
                let older_copy = self.integrity.rollback.as_ref();
                let older_copy = older_copy.map(|row| row.data_until);
                let (deliveries, context) = (&self.links.unanswered, &mut self.context);
                self.flows
                    .on_start(*start, older_copy, deliveries, context, reads)?;
            }
            Event::Attach { flow, wait, token } => {
                let (deliveries, context) = (&self.links.unanswered, &mut self.context);
                self.flows.on_attach(flow, wait, token, deliveries, context);
            }
            Event::Detach { token } => self.flows.detach(token),
            Event::Cancel { flow, token } => self.on_cancel(flow, token, reads)?,
            Event::Order {
                order,
                filter,
                after,
                dry_run,
                token,
            } => self.on_order(order, &filter, after, (dry_run, token), reads)?,
            Event::Flows {
                filter,
                after,
                limit,
                token,
            } => {
                let ids = self.flows.engine().flow_ids();
                let ids = ids
                    .iter()
                    .filter(|id| after.is_none_or(|after| **id > after));
                let flows = ids
                    .filter_map(|id| self.flows.engine().status(id))
                    .filter(|status| filter.meets(status, self.context.now.wall))
                    .take(limit)
                    .collect();
                self.context.reply(token, Reply::Flows(flows));
            }
            Event::Locks { of, limit, token } => {
                let of: Vec<[u8; 16]> = of.into_iter().map(|flow| flow.0).collect();
                let of = (!of.is_empty()).then_some(of.as_slice());
                let (locks, more) = self.selection.locks(of, limit);
                self.context.reply(token, Reply::Locks { locks, more });
            }
            Event::RemoveClient {
                user,
                client_id,
                token,
            } => {
                let context = &mut self.context;
                self.flows
                    .on_remove_client(&user, &client_id, token, context, reads)?;
            }
            Event::Note {
                transaction,
                salt,
                user,
                text,
                token,
            } => {
                let recorded = self.book.contains(&transaction, reads)?;
                let new = NewNote {
                    transaction,
                    salt,
                    user,
                    text,
                };
                let context = &mut self.context;
                self.notes.add(new, recorded, token, context, reads)?;
            }
            Event::RemoveNote {
                transaction,
                note,
                token,
            } => {
                let context = &mut self.context;
                self.notes
                    .remove(transaction, note, token, context, reads)?;
            }
            Event::PeerUp { peer, epoch } => self.on_peer_up(peer, epoch, reads)?,
            Event::PeerDown { peer } => self.on_peer_down(peer),
            Event::Message { peer, bytes } => self.on_message(peer, bytes, reads)?,
            Event::Committed { number } => self.on_committed(number),
            Event::Refilled {
                token,
                rows,
                view_seq,
                total,
                more,
            } => {
                let out = self.selection.refilled(
                    token,
                    rows,
                    view_seq,
                    total,
                    more,
                    self.context.now.monotonic,
                );
                self.on_selection(out);
            }
            Event::LookedUp {
                flow,
                effect,
                found,
            } => self.on_looked_up((flow, effect), found, reads)?,
            Event::Consents {
                change,
                user,
                token,
            } => self
                .consents
                .on_change(change, user, token, &mut self.context),
            Event::FileStored {
                hash,
                size,
                name,
                media_type,
                user,
                token,
            } => {
                let stored = Stored {
                    hash,
                    size,
                    name,
                    media_type,
                    user,
                };
                self.files
                    .on_stored(stored, token, &mut self.context, reads)?;
            }
            Event::FileArrived {
                hash,
                size,
                name,
                media_type,
                peer,
            } => self.files.on_arrived(
                hash,
                size,
                (&name, &media_type),
                peer,
                &mut self.context,
                reads,
            )?,
            Event::FileOffered { hash, peer, size } => {
                self.intake
                    .file_offered(hash, peer, size, &mut self.context)
            }
            Event::FileFailed {
                hash,
                peer,
                failure,
            } => self
                .intake
                .file_failed(hash, peer, failure, &mut self.context),
            Event::FilePermit {
                peer,
                hash,
                transaction,
            } => {
                let others = Participation {
                    engine: self.flows.engine(),
                    book: &self.book,
                    unanswered: &self.links.unanswered,
                    keys: &self.keys,
                };
                let context = &mut self.context;
                self.files
                    .on_permit(peer, hash, &transaction, &others, context, reads)?
            }
            Event::FileRemove { hash, token } => {
                self.files
                    .on_remove(hash, token, &mut self.context, reads)?
            }
            Event::FileTrust {
                hash,
                trusted,
                user,
                token,
            } => self
                .files
                .on_trust(hash, trusted, user, token, &mut self.context, reads)?,
            Event::FileLook { hash, token } => {
                self.files.on_look(hash, token, &mut self.context, reads)?
            }
            Event::ConfirmClock { user, token } => {
                self.clock.on_confirmed(&user, token, &mut self.context);
            }
            Event::Integrity { order, token } => self.on_integrity(order, token),
            Event::Tick => {}
            Event::Drain => self.flows.drain(),
        }
        self.route(reads)?;
        self.settle(reads)
    }

    /// Ends a round: checks the collected signatures, lets the notary decide, and returns the actions.
    ///
    /// # Errors
    /// The store could not be read: the node has to stop.
    pub fn flush(
        &mut self,
        now: Moment,
        reads: &dyn Reads,
        out: &mut Vec<Action>,
    ) -> Result<(), StoreFailure> {
        self.advance(now);
        self.on_time(reads)?;
        self.fill_consumed(reads)?;
        self.take_deferred_messages(reads)?;
        loop {
            self.settle(reads)?;
            if self.signatures.has_waiting() {
                self.check_signatures(reads)?;
                continue;
            }
            if self.tend_chains() || self.verify_back_chains(reads)? {
                continue;
            }
            self.serve_back_chains(reads)?;
            self.decide_notarisations(reads)?;
            if self.context.work.is_empty() && !self.signatures.has_waiting() {
                break;
            }
        }
        self.flows.end_of_round(&mut self.context);
        self.settle(reads)?;
        self.send_marks();
        self.ask_again();
        self.links_end_round(reads)?;
        self.intake.ask_for_files(&mut self.context);
        self.parts_end_round();
        self.close_round(out);
        Ok(())
    }

    /// Advances the time. The wall clock may have jumped forwards or backwards. Only deadlines on the wall clock follow a jump.
    fn advance(&mut self, now: Moment) {
        let monotonic = self.context.now.monotonic.max(now.monotonic);
        self.context.now = Moment::new(monotonic, now.wall);
        self.flows.advance(self.context.now);
        self.clock.advance(&mut self.context);
    }

    /// The next time at which [`Event::Tick`] is due, if nothing else happens.
    pub fn next_wakeup(&self) -> Option<Monotonic> {
        let decides = self.judges_from().is_none()
            && self
                .notarisation
                .as_ref()
                .is_some_and(Notarisation::can_decide);
        let at_once = self.flows.can_revive(&self.context)
            || self.flows.next_to_wake(&self.context).is_some()
            || decides;
        // Wake-ups that depend on several parts.
        let joint = [
            at_once.then_some(self.context.now.monotonic),
            self.next_scheduled().map(|at| self.context.now.when(at)),
            self.next_meeting(),
            self.judges_from(),
            self.next_mark(),
        ];
        let joint = joint.into_iter().flatten();
        joint.chain(self.parts_next_time()).min()
    }

    /// The flow engine, for inspection.
    pub fn flows(&self) -> &FlowEngine {
        self.flows.engine()
    }

    /// The last position of the ledger, durable or about to be.
    pub fn last_seq(&self) -> u64 {
        self.book.last_seq()
    }

    /// Works off everything that can be done without waiting.
    pub(crate) fn settle(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.pump_links(reads)?;
        while let Some(work) = self.context.work.pop_front() {
            match work {
                Work::Engine(action) => self.on_engine_action(action, reads)?,
                Work::Signed(item) => self.on_signed(item, reads)?,
                Work::Ready(item) => self.on_ready(item, reads)?,
                Work::ClockDoubt { in_doubt } => self.doubt_windows(in_doubt),
                Work::Loopback(message) => {
                    self.on_peer_message(self.context.my_id, message, reads)?
                }
            }
            if self.context.work.is_empty() {
                self.pump_links(reads)?;
            }
        }
        Ok(())
    }
}
