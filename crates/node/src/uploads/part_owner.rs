//! A part that is being written. It survives the request that writes it.
//!
//! A request that waits for the disk may be dropped while it waits, because its client hangs up or resets its stream. The held
//! part therefore moves into the work and comes back with its outcome. If the request is gone, the runtime drops the part when
//! the work is done.

use std::sync::Arc;

use store::Part;

use super::upload::{Slot, Upload};

/// The exclusive owner of an upload's part, or of a part without an upload. When it is dropped, the part of an upload returns to
/// the upload, still open if it was open. A part without an upload is discarded.
#[derive(Debug, Default)]
pub(super) struct PartOwner {
    pub(super) part: Option<Part>,
    pub(super) upload: Option<Arc<Upload>>,
}

impl PartOwner {
    /// Takes the part of an upload, unless another request has it. The part is open only if it was open before.
    pub(super) fn of(upload: &Arc<Upload>) -> Option<Self> {
        let part = match upload.take_slot() {
            Slot::Lent => return None,
            Slot::Closed => None,
            Slot::Open(part) => Some(*part),
        };
        Some(Self {
            part,
            upload: Some(Arc::clone(upload)),
        })
    }

    /// A part without an upload.
    pub(super) fn single(part: Part) -> Self {
        Self {
            part: Some(part),
            upload: None,
        }
    }
}

impl Drop for PartOwner {
    fn drop(&mut self) {
        match (self.part.take(), &self.upload) {
            (Some(part), Some(upload)) => {
                upload.touch();
                upload.put_back(Slot::Open(Box::new(part)));
            }
            (None, Some(upload)) => upload.put_back(Slot::Closed),
            // Should removing fail, the next start removes it: it has no note.
            (Some(part), None) => drop(part.discard()),
            (None, None) => {}
        }
    }
}
