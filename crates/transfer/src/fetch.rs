//! One file that is being fetched, and its stage.

use ledger::{PartyId, TxId};

use crate::offer::Offer;
use crate::pace::Pace;
use crate::time::times;

/// Maximum number of sources of one file. Further ones are refused.
pub(crate) const SOURCES_MAX: usize = 4;
/// Repeated requests to a silent or forgetful peer before it is given up for now.
pub(crate) const ASKED_AGAIN_MAX: u32 = 6;
/// Number of repeated requests for a file that is being received before its slot goes to another file.
pub(crate) const MOVING_AGAIN_MAX: u32 = 1;
/// Number of doublings of the pause before a repeated request.
const DOUBLINGS_MAX: u32 = 3;

/// A peer to fetch a file from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) peer: PartyId,
    pub(crate) transaction: TxId,
    pub(crate) size_max: u64,
}

/// The stage of a fetch. A moving fetch that receives nothing is queued again, behind all others.
///
/// ```text
///  Away ─► Queued ─► Wanted ─► Offered ─► Opening ─► Moving ─► Publishing
///   ▲        ▲                               ▲          │           │
///   └────────┴── connection gone, "again" ───┼──────────┘           │
///                                            └── not all of its own ┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchState {
    /// Its peer is away.
    Away,
    /// Waits until the peer may be asked for the file. If `pausing` is set, it first waits for its timer.
    Queued { pausing: bool },
    /// The peer was asked for the file.
    Wanted,
    /// The peer offered it. It waits for a slot.
    Offered,
    /// The part that is present is being opened.
    Opening,
    /// Bytes are received.
    Moving,
    /// All bytes are written, and their hash is being checked.
    Publishing,
}

/// One file that is being fetched, with its sources and its stage.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    /// The first one is the current source. The others are used if it fails.
    pub(crate) sources: Vec<Source>,
    /// Order of arrival: lower is older.
    pub(crate) order: u64,
    pub(crate) state: FetchState,
    pub(crate) offer: Option<Offer>,
    /// The numbers of bytes requested (`asked`), received and written: `written <= received <= asked`.
    pub(crate) asked: u64,
    pub(crate) received: u64,
    pub(crate) written: u64,
    /// When enough progress was last made, or the last request was sent.
    pub(crate) pace: Pace,
    /// Number of repeated requests to the peer since the last progress.
    pub(crate) asked_again: u32,
    /// Whether all bytes that are present came from the current source.
    pub(crate) clean: bool,
    /// Whether some bytes were already present when the fetch began.
    pub(crate) resumed: bool,
    /// Time at which the timer runs out.
    pub(crate) timer: Option<u64>,
}

impl Fetch {
    pub(crate) fn new(source: Source, order: u64) -> Self {
        Self {
            sources: vec![source],
            order,
            state: FetchState::Away,
            offer: None,
            asked: 0,
            received: 0,
            written: 0,
            pace: Pace::default(),
            asked_again: 0,
            clean: true,
            resumed: false,
            timer: None,
        }
    }

    /// Returns the source that is asked; there is always one.
    pub(crate) fn source(&self) -> Option<Source> {
        self.sources.first().copied()
    }

    pub(crate) fn size(&self) -> u64 {
        self.offer.as_ref().map_or(0, |offer| offer.size)
    }

    /// Returns the number of bytes that are requested and not received.
    pub(crate) fn on_the_way(&self) -> u64 {
        self.asked - self.received
    }

    /// Returns the bytes of memory that are reserved for it.
    pub(crate) fn in_flight(&self) -> u64 {
        self.asked - self.written
    }

    /// Returns the time to wait for an answer.
    pub(crate) fn patience_ms(&self, silence_ms: u64) -> u64 {
        times(silence_ms, 1 << self.asked_again.min(DOUBLINGS_MAX))
    }
}
