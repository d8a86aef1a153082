//! The transfer thread: takes everything there is, has the machine decide, and performs it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::files::FileFailure;
use ledger::{NetworkMap, PartyId};
use transfer::{Action, Event, Failure, Fault, Transfers};

use super::claims::Claims;
use super::errors::PEER_FAULT;
use super::handle::{Arrival, FILES_LANE, TransferHandle};
use super::workers::Workers;
use super::workers::job::Job;
use crate::core::messages::KernelHandle;
use crate::ledger_store::LedgerStore;

/// Most arrivals in one round.
const ROUND_MAX: usize = 1_024;

/// The state of the transfer thread.
pub(super) struct TransferThread {
    pub(super) machine: Transfers,
    pub(super) transfers: Arc<TransferHandle>,
    pub(super) workers: Workers,
    pub(super) kernel: KernelHandle,
    pub(super) net: net::Handle,
    pub(super) network: Arc<NetworkMap>,
    pub(super) store: LedgerStore,
}

impl TransferThread {
    /// Runs until the transfers are closed.
    pub(super) fn run(mut self) {
        let began = Instant::now();
        let now_ms = || primitives::whole_ms(began.elapsed());
        let mut claims = Claims::default();
        let (mut arrivals, mut actions) = (VecDeque::new(), Vec::new());
        loop {
            let wakeup = self.machine.next_wakeup();
            let wakeup = wakeup.and_then(|at| began.checked_add(Duration::from_millis(at)));
            let deadline = [wakeup, claims.next_look()].into_iter().flatten().min();
            let transfers = Arc::clone(&self.transfers);
            transfers
                .arrivals()
                .take(ROUND_MAX, deadline, &mut arrivals);
            if transfers.arrivals().is_closed() {
                return;
            }
            let now = now_ms();
            for arrival in arrivals.drain(..) {
                match arrival {
                    Arrival::Event(event) => self.machine.handle(now, event, &mut actions),
                    Arrival::Ended(hash) => self.workers.ended(&hash),
                    Arrival::Claimed(claim) => claims.hold(claim),
                    Arrival::Dropped(hash) => self.workers.give(Job::Drop { hash }),
                }
            }
            self.machine.flush(now, &mut actions);
            self.perform(&mut actions);
            transfers.note(self.machine.figures());
            claims.look(&self.store);
        }
    }

    fn perform(&mut self, actions: &mut Vec<Action>) {
        let mut sends = Vec::new();
        let mut events = Vec::new();
        for action in actions.drain(..) {
            match action {
                Action::Send { peer, bytes } => sends.push((peer, FILES_LANE, bytes)),
                Action::Open { hash } => self.workers.give(Job::Open { hash }),
                Action::Write { hash, bytes, .. } => {
                    self.workers.give(Job::Write { hash, bytes });
                }
                Action::Close { hash, discard } => self.workers.give(Job::Close { hash, discard }),
                Action::Publish { hash, size } => self.workers.give(Job::Publish { hash, size }),
                Action::Read {
                    peer,
                    hash,
                    offset,
                    length,
                    head,
                } => self.workers.give(Job::Read {
                    peer,
                    hash,
                    offset,
                    length,
                    head,
                }),
                Action::Gauge { peer } => {
                    let bytes = self.net.queued_bytes(&peer) as u64;
                    self.transfers.tell(Event::Queued { peer, bytes });
                }
                Action::Fault { peer, fault } => self.say(&peer, fault),
                other => events.extend(for_kernel(other)),
            }
        }
        if !sends.is_empty() {
            // Dropped messages are requested again.
            self.net.send_many(sends);
        }
        if !events.is_empty() {
            self.kernel.tell_all(events);
        }
    }

    fn say(&self, peer: &PartyId, fault: Fault) {
        let party = self.network.party(peer);
        let name = party.map_or_else(|| peer.to_string(), |party| party.name.to_string());
        let what = match fault {
            Fault::Malformed => "a malformed message about files",
            Fault::Unasked => "bytes of a file that were not requested",
            Fault::Beyond => "a question for bytes beyond a file's end",
        };
        tracing::warn!(code = PEER_FAULT, peer = %name, "the peer sent {what}; it was dropped");
    }
}

/// Returns the kernel's event for an action, if it has one.
fn for_kernel(action: Action) -> Option<kernel::Event> {
    Some(match action {
        Action::Permit {
            peer,
            hash,
            transaction,
        } => kernel::Event::FilePermit {
            peer,
            hash,
            transaction,
        },
        Action::Offered { hash, peer, size } => kernel::Event::FileOffered { hash, peer, size },
        Action::Arrived {
            hash,
            size,
            name,
            media_type,
            peer,
        } => kernel::Event::FileArrived {
            hash,
            size,
            // Empty stands for unknown.
            name: name.unwrap_or_default(),
            media_type: media_type.unwrap_or_default(),
            peer,
        },
        Action::Failed {
            hash,
            peer,
            failure,
        } => kernel::Event::FileFailed {
            hash,
            peer,
            failure: match failure {
                Failure::Unknown => FileFailure::Unknown,
                Failure::TooLarge { size } => FileFailure::TooLarge { size },
                Failure::Mismatch => FileFailure::Mismatch,
                Failure::Disk { code } => FileFailure::Disk { code: code.into() },
                Failure::Gone => FileFailure::Gone,
            },
        },
        _ => return None,
    })
}
