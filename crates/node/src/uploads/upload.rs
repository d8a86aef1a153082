//! One upload that can be interrupted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api::{NewUpload, UploadView};
use primitives::hex;
use serde::{Deserialize, Serialize};
use store::{Part, PartId};

use super::promise::Promise;

/// The file next to an upload's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) user: String,
    pub(super) wish: NewUpload,
}

impl Note {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(super) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers have a JSON form")
    }
}

/// The state of an upload's part.
#[derive(Debug)]
pub(super) enum Slot {
    /// On disk; it has not been opened since the node started.
    Closed,
    /// Here, open.
    Open(Box<Part>),
    /// A request is using the part, and returns it when it is dropped.
    Lent,
}

/// An upload that can be interrupted.
#[derive(Debug)]
pub struct Upload {
    id: [u8; 16],
    note: Note,
    slot: Mutex<Slot>,
    offset: AtomicU64,
    /// The last use, by a clock that cannot be set: a wall clock that jumps forward must not end an upload.
    touched: Mutex<Instant>,
}

impl Upload {
    /// Creates an upload that is stored from an earlier run of the node. Its idle time begins now.
    pub(super) fn new(id: [u8; 16], note: Note, offset: u64) -> Self {
        Self {
            id,
            note,
            slot: Mutex::new(Slot::Closed),
            offset: AtomicU64::new(offset),
            touched: Mutex::new(Instant::now()),
        }
    }

    /// Creates an upload whose part is being made.
    pub(super) fn begun(id: [u8; 16], note: Note) -> Self {
        Self {
            slot: Mutex::new(Slot::Lent),
            ..Self::new(id, note, 0)
        }
    }

    pub(super) fn id(&self) -> &[u8; 16] {
        &self.id
    }

    pub(super) fn part_id(&self) -> PartId {
        PartId::Upload(self.id)
    }

    pub(super) fn is_of(&self, user: &str) -> bool {
        self.note.user == user
    }

    /// Returns the announced properties.
    pub fn promise(&self) -> Promise {
        let wish = &self.note.wish;
        Promise {
            size: wish.size,
            hash: wish.sha256.as_deref().and_then(|text| text.parse().ok()),
            name: wish.name.clone(),
            media_type: wish.media_type.clone(),
        }
    }

    /// Bytes that are here.
    pub fn offset(&self) -> u64 {
        self.offset.load(Ordering::Acquire)
    }

    /// Notes a use of the upload.
    pub(super) fn touch(&self) {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time since the last use, or since the start of the node.
    pub(super) fn idle(&self) -> Duration {
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.elapsed()
    }

    pub(super) fn take_slot(&self) -> Slot {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *slot, Slot::Lent)
    }

    pub(super) fn put_back(&self, part: Slot) {
        if let Slot::Open(part) = &part {
            self.offset.store(part.len(), Ordering::Release);
        }
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = part;
    }

    /// Returns the upload as clients see it. It ends after it has been idle for `idle_max`.
    pub(super) fn view(&self, idle_max: Duration) -> UploadView {
        // An upload that is over its time ends now, at the next sweep.
        let left = idle_max.saturating_sub(self.idle());
        let wish = self.note.wish.clone();
        UploadView {
            upload_id: hex::encode(&self.id),
            offset: self.offset(),
            expires_at_ms: wall_clock_ms_in(left),
            size: wish.size,
            sha256: wish.sha256,
            name: wish.name,
            media_type: wish.media_type,
        }
    }
}

/// Returns the wall-clock time after a pause, in milliseconds since the Unix epoch.
fn wall_clock_ms_in(pause: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 shows the time of the epoch. A pause beyond the range of the type never ends.
    let then = now.unwrap_or_default().saturating_add(pause);
    u64::try_from(then.as_millis()).unwrap_or(u64::MAX)
}
