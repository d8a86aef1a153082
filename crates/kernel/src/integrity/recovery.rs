//! Recovery after a rollback: every other node searches its ledger for transactions that concern this node, and delivers them again.
//!
//! ```text
//!   operator ──► begin ──► RecoveryRequest(after) to each peer ──► a part of its ledger is searched: what concerns the asking
//!                               ▲                                  node is owed to it, what it notarised comes as tear-offs
//!                               └──────── until the end ◄── RecoveryResponse, once all that was owed is answered
//!   operator ──► finish ──► a new life begins, starts are accepted again
//! ```
//!
//! # Invariants
//! - Returned transactions are verified like any delivery. A notary accepts only those that it has signed itself.
//! - A peer's request costs this node one page of its ledger at a time, and pages are paced.

use std::collections::{BTreeMap, VecDeque};

use flow::messaging::RequestId;
use flow::{FlowId, Service};
use ledger::{NotarisedTearOff, PartyId, Rejection, SignedTransaction};
use primitives::{Decode, Encode, PublicKey};

use super::report::{IntegrityOrder, IntegrityReport, PeerProgress, PeerRecovery, Recovery};
use super::search_turns::RECOVERY_PAUSE_MS;
use super::state::Integrity;
use super::views::IntegrityViews;
use crate::command::{FlowsCommand, KeysCommand, NotaryCommand, PeersCommand};
use crate::context::Context;
use crate::errors;
use crate::event::{Priority, Reply, Token};
use crate::intake::concerns::concerns;
use crate::ledger_book::{decode_row, ledger_page};
use crate::message::{Answer, PeerMessage, RECOVERED_MAX, RecoveryRequest, RecoveryResponse};
use crate::port::{StoreFailure, Table, damaged};
use crate::rows::{META_LINK, META_ROLLBACK, meta_key};

/// Maximum number of positions of the ledger searched for one request.
pub const RECOVERY_ROWS_MAX: usize = 256;
/// Maximum number of fresh keys that are made again when a recovery begins.
pub const LOST_KEYS_MAX: usize = 1_024;
/// Requests of a recovery have flow ids that no flow has: a mark, and the beginning of the peer's id.
const RECOVERY_FLOW: [u8; 8] = [0xfd; 8];

fn recovery_request(peer: &PartyId, step: u32) -> RequestId {
    let mut flow = [0; 16];
    flow[..8].copy_from_slice(&RECOVERY_FLOW);
    flow[8..].copy_from_slice(&peer.as_bytes()[..8]);
    RequestId {
        flow: FlowId(flow),
        effect: step,
    }
}

/// Returns whether a request belongs to a recovery.
pub(crate) fn is_recovery(id: &RequestId) -> bool {
    id.flow.as_bytes()[..8] == RECOVERY_FLOW
}

/// Asks a peer to search its ledger after a position.
fn ask_to_recover(peer: PartyId, step: u32, after: u64, context: &mut Context) {
    context.command(PeersCommand::Ask {
        peer,
        id: recovery_request(&peer, step),
        service: Service::Recovery,
        body: RecoveryRequest { after }.to_bytes(),
    });
}

/// Returns the last position that a peer has searched.
fn after_of(recovery: &Option<Recovery>, peer: &PartyId) -> u64 {
    let known = recovery
        .as_ref()
        .and_then(|recovery| recovery.peers.get(peer));
    known.map_or(0, |known| known.upto)
}

impl Integrity {
    /// Handles an operator's order.
    pub(super) fn on_order(
        &mut self,
        order: IntegrityOrder,
        token: Token,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) {
        let refusal = match order {
            IntegrityOrder::Show => None,
            IntegrityOrder::Recover => {
                self.begin_recovery(context);
                None
            }
            IntegrityOrder::Finish { accept_missing } => {
                self.finish_recovery(accept_missing, views, context)
            }
        };
        let reply = match refusal {
            Some(rejection) => Reply::Rejected(rejection),
            None => Reply::Integrity(Box::new(IntegrityReport {
                ordinal: self.lives.ordinal(),
                number: self.data_number(views.book),
                rollback: self.rollback.clone(),
                links: self.links.clone(),
                recovery: self.recovery.clone(),
            })),
        };
        context.reply(token, reply);
    }

    /// Asks every other node, each from the beginning of its ledger. A recovery that runs goes on. If one has ended and nothing speaks
    /// for a loss since, its counts and its list of transactions are carried on.
    fn begin_recovery(&mut self, context: &mut Context) {
        let running = self.recovery.as_ref();
        if running.is_some_and(|recovery| recovery.missing().next().is_some()) {
            return;
        }
        let is_sound = !self.is_rolled_back() && self.links.is_empty();
        let ended = self.recovery.take().filter(|_| is_sound);
        let nodes = context.identity.network.nodes();
        let others = nodes.filter(|(id, _)| **id != context.my_id);
        let peers = others.map(|(id, _)| {
            let peer = PeerRecovery {
                progress: PeerProgress::Asked,
                upto: 0,
                end: 0,
                found: 0,
                step: 0,
                again: None,
            };
            (*id, peer)
        });
        let peers: BTreeMap<PartyId, PeerRecovery> = peers.collect();
        let ids: Vec<PartyId> = peers.keys().copied().collect();
        let report = ended.unwrap_or_else(|| Recovery {
            begun: context.now.wall,
            peers: BTreeMap::new(),
            transactions: VecDeque::new(),
            recorded: 0,
            notarised: 0,
            conflicts: 0,
        });
        self.recovery = Some(Recovery { peers, ..report });
        if !self.is_rolled_back() && !self.links.is_empty() {
            // The operator takes the data for an older copy, although nothing proves it.
            let reason =
                "the operator recovers data that the numbers of peers contradict".to_owned();
            let data_until = self.data_until;
            context.command(FlowsCommand::StopCopied { data_until, reason });
        }
        if self.is_rolled_back() {
            // The keys made since the copy are among the next ones, so their states are known as this node's.
            let count = LOST_KEYS_MAX;
            context.command(KeysCommand::MakeLost { count });
        }
        for peer in ids {
            ask_to_recover(peer, 0, 0, context);
        }
        let text = "the recovery from the other nodes begins".to_owned();
        context.inform(errors::ROLLED_BACK.code, text);
    }

    /// Gives marks that are due, and puts questions again, at the end of a round.
    pub(super) fn tend(&mut self, views: IntegrityViews<'_>, context: &mut Context) {
        self.send_marks(views, context);
        self.ask_again(context);
    }

    /// Repeats the questions whose pause is over.
    fn ask_again(&mut self, context: &mut Context) {
        let now = context.now.monotonic;
        let Some(recovery) = &mut self.recovery else {
            return;
        };
        let mut due = Vec::new();
        for (peer, known) in &mut recovery.peers {
            if known.again.take_if(|at| *at <= now).is_some()
                && let Some(step) = known.step.checked_add(1)
            {
                known.step = step;
                due.push((*peer, step, known.upto));
            }
        }
        for (peer, step, after) in due {
            ask_to_recover(peer, step, after, context);
        }
    }

    /// Forgets what the numbers of peers contradict. From their next connection on they vouch for the data again.
    fn forget_links(&mut self, context: &mut Context) {
        let mut rows = context.rows::<Integrity>();
        for peer in std::mem::take(&mut self.links).into_keys() {
            rows.delete(Table::Meta, meta_key(META_LINK, peer.as_bytes()));
        }
    }

    /// Ends a rollback, and settles what the numbers of peers contradict. Returns the reason if it cannot: a recovery that was begun
    /// is incomplete, or none was begun. Changes nothing if there is nothing to end.
    fn finish_recovery(
        &mut self,
        accept_missing: bool,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) -> Option<Rejection> {
        let is_sound = self.rollback.is_none() && self.links.is_empty();
        let incomplete = match &self.recovery {
            None => (!is_sound).then(|| "no recovery was begun".to_owned()),
            Some(recovery) => {
                let missing: Vec<String> = recovery
                    .missing()
                    .take(5)
                    .map(|id| context.name_of(id))
                    .collect();
                let count = recovery.missing().count();
                (count > 0).then(|| {
                    format!(
                        "{count} peers have not given everything: {}",
                        missing.join("; ")
                    )
                })
            }
        };
        // Without a proof, the beginning of the recovery halts the flows of the copy.
        let must_begin = self.rollback.is_none() && self.recovery.is_none();
        if let Some(text) = incomplete
            && (!accept_missing || must_begin)
        {
            return Some(errors::rejection(&errors::RECOVERY_INCOMPLETE, text));
        }
        if is_sound {
            return None;
        }
        self.forget_links(context);
        context.command(FlowsCommand::RecoveryFinished);
        let row = self.rollback.take()?;
        let number = self.data_number(views.book);
        let batch = &mut context.round.batch;
        self.lives.settle(row.highest, number, batch);
        batch.of::<Integrity>().delete(Table::Meta, META_ROLLBACK);
        let met: Vec<PartyId> = self.turns.peers().copied().collect();
        for peer in met {
            self.send_mark(peer, views, context);
        }
        let text = "the operator has finished the recovery; starts are accepted again".to_owned();
        context.inform(errors::ROLLED_BACK.code, text);
        None
    }

    /// Handles the answer of a peer that has searched a part of its ledger.
    pub(super) fn on_recovered(&mut self, peer: PartyId, answer: Answer, context: &mut Context) {
        let response = match answer {
            Answer::Done(bytes) => match RecoveryResponse::from_bytes(&bytes) {
                Ok(response) => response,
                Err(error) => {
                    let rejection =
                        errors::rejection(&errors::PEER_ANSWER_INVALID, error.to_string());
                    self.recovery_of(peer, |known| {
                        known.progress = PeerProgress::Refused(rejection)
                    });
                    return;
                }
            },
            Answer::Failed(rejection) => {
                self.recovery_of(peer, |known| {
                    known.progress = PeerProgress::Refused(rejection)
                });
                return;
            }
            // Asking again is the requests' business.
            Answer::Wait(_) => return,
        };
        let notarised = response.notarised.len() as u64;
        if self.recovery.is_some() {
            let shown = response.notarised;
            context.command(NotaryCommand::EnterAgain(shown));
        }
        let mut next = None;
        if response.upto <= after_of(&self.recovery, &peer) && response.delivered > 0 {
            // Earlier deliveries are still in flight, so the same question is repeated after a pause.
            let again = context.now.monotonic.plus_ms(RECOVERY_PAUSE_MS);
            self.recovery_of(peer, |known| known.again = again);
            return;
        }
        self.recovery_of(peer, |known| {
            // A part without progress is the last one. The transactions found before are answered by then.
            let goes_on = response.upto > known.upto;
            known.found = known.found.saturating_add(response.delivered);
            known.found = known.found.saturating_add(notarised);
            (known.upto, known.end) = (response.upto.max(known.upto), response.end);
            if goes_on && let Some(step) = known.step.checked_add(1) {
                known.step = step;
                next = Some((step, known.upto));
            } else {
                known.progress = PeerProgress::Done;
            }
        });
        if let Some((step, after)) = next {
            ask_to_recover(peer, step, after, context);
        }
    }

    fn recovery_of(&mut self, peer: PartyId, change: impl FnOnce(&mut PeerRecovery)) {
        let recovery = self.recovery.as_mut();
        if let Some(known) = recovery.and_then(|recovery| recovery.peers.get_mut(&peer)) {
            change(known);
        }
    }

    /// Searches a part of this node's ledger for transactions that concern a peer that has lost data.
    pub(super) fn on_recover_request(
        &mut self,
        peer: PartyId,
        id: RequestId,
        body: &[u8],
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let answer = match RecoveryRequest::from_bytes(body) {
            Err(error) => Answer::Failed(Rejection::of(&error)),
            Ok(request) => {
                let turns = &mut self.search_turns;
                match turns.take(peer, context.now.monotonic) {
                    true => search_for(peer, request.after, views, context)?,
                    false => Answer::Wait(RECOVERY_PAUSE_MS),
                }
            }
        };
        context.send(peer, Priority::Bulk, PeerMessage::Response { id, answer });
        Ok(())
    }
}

fn search_for(
    peer: PartyId,
    after: u64,
    views: IntegrityViews<'_>,
    context: &mut Context,
) -> Result<Answer, StoreFailure> {
    // Transactions found before come first.
    if views.links.has_pending(&peer) {
        // The request does not wait for them. It would hold one of the places for requests to this node, and the asking node
        // may need each of them to fetch the dependencies of these deliveries.
        let response = RecoveryResponse {
            upto: after,
            end: views.book.last_seq(),
            delivered: 1,
            notarised: Vec::new(),
        };
        return Ok(Answer::Done(response.to_bytes()));
    }
    let end = views.book.last_seq();
    let page = ledger_page(views.reads, after, RECOVERY_ROWS_MAX)?;
    let is_notary = context.identity.network.is_notary(&peer);
    let (mut upto, mut delivered, mut bytes) = (after, 0, 0);
    let mut notarised = Vec::new();
    for (seq, row) in page.rows {
        let (_, transaction) =
            decode_row(&row).map_err(|_| damaged("a recorded transaction does not decode"))?;
        let wire = transaction.wire();
        let by_peer = wire.needs_notary() && wire.notary().is_some_and(|n| n.id() == peer);
        if is_notary && by_peer {
            let tear_off = NotarisedTearOff::of(&transaction);
            bytes += tear_off.to_bytes().len();
            if !notarised.is_empty()
                && (notarised.len() >= RECOVERED_MAX || bytes > context.message_limits.part())
            {
                break;
            }
            notarised.push(tear_off);
        }
        if is_participant(&transaction, &peer, views, context)? {
            context.command(PeersCommand::Owe {
                id: transaction.id(),
                bytes: wire.bytes().len(),
                participants: vec![peer],
            });
            delivered += 1;
        }
        upto = seq;
    }
    if upto == after {
        // The scan found no further durable row. Rows that are not durable yet already have deliveries to their participants, so
        // nothing is left to search.
        upto = end;
    }
    let response = RecoveryResponse {
        upto,
        end,
        delivered,
        notarised,
    };
    Ok(Answer::Done(response.to_bytes()))
}

/// Returns whether a transaction makes states of a peer or needs its signature, by the peer's identity key or a key that it is
/// known to own.
fn is_participant(
    transaction: &SignedTransaction,
    peer: &PartyId,
    views: IntegrityViews<'_>,
    context: &Context,
) -> Result<bool, StoreFailure> {
    let party = context.identity.network.party(peer).map(|party| &party.key);
    let failure = std::cell::RefCell::new(None);
    let is_theirs = |key: &PublicKey| {
        party == Some(key)
            || match views.keys.owner(key, views.reads) {
                Ok(owner) => owner == Some(*peer),
                Err(error) => {
                    failure.borrow_mut().get_or_insert(error);
                    false
                }
            }
    };
    let concerned = concerns(transaction, context, &is_theirs);
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(concerned),
    }
}
