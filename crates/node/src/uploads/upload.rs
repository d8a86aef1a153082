//! One upload that can be interrupted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
        // Texts and numbers have a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Where an upload's part is.
#[derive(Debug)]
pub(super) enum Slot {
    /// On disk; it has not been opened since the node started.
    Closed,
    /// Here, open.
    Open(Box<Part>),
    /// A request holds it, and gives it back when it is dropped.
    Lent,
}

/// An upload that can be interrupted.
#[derive(Debug)]
pub struct Upload {
    id: [u8; 16],
    note: Note,
    slot: Mutex<Slot>,
    offset: AtomicU64,
    touched_ms: AtomicU64,
}

impl Upload {
    pub(super) fn new(id: [u8; 16], note: Note, offset: u64, touched_ms: u64) -> Self {
        Self {
            id,
            note,
            slot: Mutex::new(Slot::Closed),
            offset: AtomicU64::new(offset),
            touched_ms: AtomicU64::new(touched_ms),
        }
    }

    /// One whose part is being made.
    pub(super) fn begun(id: [u8; 16], note: Note, now_ms: u64) -> Self {
        Self {
            slot: Mutex::new(Slot::Lent),
            ..Self::new(id, note, 0, now_ms)
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

    pub(super) fn touch(&self, now_ms: u64) {
        self.touched_ms.store(now_ms, Ordering::Relaxed);
    }

    pub(super) fn idle_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.touched_ms.load(Ordering::Relaxed))
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

    pub(super) fn view(&self, idle: Duration) -> UploadView {
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let wish = self.note.wish.clone();
        UploadView {
            upload_id: hex::encode(&self.id),
            offset: self.offset(),
            expires_at_ms: self
                .touched_ms
                .load(Ordering::Relaxed)
                .saturating_add(idle_ms),
            size: wish.size,
            sha256: wish.sha256,
            name: wish.name,
            media_type: wish.media_type,
        }
    }
}

/// Returns the time of the machine, in milliseconds since the Unix epoch.
pub(super) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
