//! The queue in front of the transfer thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use kernel::Action;
use ledger::PartyId;
use primitives::Hash;
use runtime::{Mailbox, Weigh};
use store::Claim;
use transfer::{Event, Figures, Offer};

/// The stream class of net for files: the least urgent one.
pub(crate) const FILES_LANE: u8 = 3;

/// Room in bytes for messages that were not requested.
const SMALL_BYTES: usize = 4 << 20;

/// The handle of the transfer thread. Cheap to clone.
pub(crate) struct TransferHandle {
    arrivals: Mailbox<Arrival>,
    /// Messages of peers dropped because too many waited.
    dropped: AtomicU64,
    figures: Mutex<Figures>,
}

/// Something for the transfer thread.
#[derive(Debug)]
pub(super) enum Arrival {
    /// For the machine.
    Event(Event),
    /// A file was published; it must not be removed before its row is written.
    Claimed(Claim),
    /// A worker no longer writes to a file that it opened.
    Ended(Hash),
    /// A file has no row any more.
    Dropped(Hash),
}

impl Weigh for Arrival {
    fn peer_bytes(&self) -> usize {
        match self {
            Arrival::Event(Event::Message { bytes, .. }) => bytes.len(),
            _ => 0,
        }
    }
}

impl TransferHandle {
    /// Returns a handle with this budget for fetched bytes.
    pub(crate) fn new(memory_bytes: usize) -> Self {
        Self {
            arrivals: Mailbox::new(memory_bytes + SMALL_BYTES),
            dropped: AtomicU64::new(0),
            figures: Mutex::default(),
        }
    }

    /// Takes a message of the files' stream class. Never blocks: messages beyond the budget are dropped, and requested again.
    pub(crate) fn message(&self, peer: PartyId, bytes: Vec<u8>) {
        if self.arrivals.is_full() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            self.tell(Event::Message { peer, bytes });
        }
    }

    /// A connection stands.
    pub(crate) fn peer_up(&self, peer: PartyId) {
        self.tell(Event::PeerUp { peer });
    }

    /// A connection is gone.
    pub(crate) fn peer_down(&self, peer: PartyId) {
        self.tell(Event::PeerDown { peer });
    }

    /// Performs the kernel's actions on files, and ignores other actions.
    pub(crate) fn take(&self, action: Action) {
        match action {
            Action::FetchFile {
                hash,
                peer,
                transaction,
                size_max,
            } => self.tell(Event::Fetch {
                hash,
                peer,
                transaction,
                size_max,
            }),
            Action::AbandonFile { hash } => self.tell(Event::Abandon { hash }),
            Action::PermitFile { peer, hash, offer } => {
                let some = |text: String| Some(text).filter(|text| !text.is_empty());
                let offer = offer.map(|offer| Offer {
                    size: offer.size,
                    name: some(offer.name),
                    media_type: some(offer.media_type),
                });
                self.tell(Event::Permitted { peer, hash, offer });
            }
            Action::DropFile { hash } => self.arrivals.push(Arrival::Dropped(hash)),
            _ => {}
        }
    }

    /// Tells the machine something.
    pub(super) fn tell(&self, event: Event) {
        self.arrivals.push(Arrival::Event(event));
    }

    /// Keeps a file until its row is written.
    pub(super) fn claim(&self, claim: Claim) {
        self.arrivals.push(Arrival::Claimed(claim));
    }

    /// A worker no longer writes to a file that it opened.
    pub(super) fn ended(&self, hash: Hash) {
        self.arrivals.push(Arrival::Ended(hash));
    }

    pub(super) fn arrivals(&self) -> &Mailbox<Arrival> {
        &self.arrivals
    }

    /// The node stops.
    pub(crate) fn close(&self) {
        self.arrivals.close();
    }

    pub(super) fn note(&self, figures: Figures) {
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    /// Returns the figures of the last round, and the number of messages dropped for lack of room.
    pub(crate) fn figures(&self) -> (Figures, u64) {
        let figures = *self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        (figures, self.dropped.load(Ordering::Relaxed))
    }
}
