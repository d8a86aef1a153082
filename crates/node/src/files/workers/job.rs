//! A job of a disk worker.

use ledger::PartyId;
use primitives::Hash;
use transfer::Payload;

/// Work on a file. The machine's budgets bound the waiting jobs.
#[derive(Debug)]
pub(in crate::files) enum Job {
    Open {
        hash: Hash,
    },
    Write {
        hash: Hash,
        bytes: Payload,
    },
    Close {
        hash: Hash,
        discard: bool,
    },
    Publish {
        hash: Hash,
        size: u64,
    },
    Read {
        peer: PartyId,
        hash: Hash,
        offset: u64,
        length: u32,
        head: Vec<u8>,
    },
    /// Take it from the disk, unless it has a row again.
    Drop {
        hash: Hash,
    },
}

impl Job {
    /// Returns the file that the job is about.
    pub(super) fn hash(&self) -> &Hash {
        match self {
            Job::Open { hash }
            | Job::Write { hash, .. }
            | Job::Close { hash, .. }
            | Job::Publish { hash, .. }
            | Job::Read { hash, .. }
            | Job::Drop { hash } => hash,
        }
    }
}
