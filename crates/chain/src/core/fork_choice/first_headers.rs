//! The first block of each forger on each parent.

use super::evidence::Equivocation;
use crate::Header;
use crate::core::limits::FIRST_HEADERS_MAX;

/// Checked headers of announced blocks, the first of each forger on each parent. A header stays even if its body never arrives.
#[derive(Debug, Default)]
pub(in crate::core) struct FirstHeaders {
    headers: Vec<Header>,
}

impl FirstHeaders {
    pub(super) fn of(&self, header: &Header) -> Option<&Header> {
        let is_first = |first: &&Header| Equivocation::are_rivals(first, header);
        self.headers.iter().find(is_first)
    }

    /// Remembers a header. Beyond the limit, the one with the lowest height and then the least work is dropped.
    pub(in crate::core) fn add(&mut self, header: &Header) {
        let known =
            |first: &Header| first.forger == header.forger && first.previous == header.previous;
        if self.headers.iter().any(known) {
            return;
        }
        self.headers.push(header.clone());
        if self.headers.len() > FIRST_HEADERS_MAX {
            let rank = |at: &usize| (self.headers[*at].height, self.headers[*at].difficulty);
            if let Some(at) = (0..self.headers.len()).min_by_key(rank) {
                self.headers.remove(at);
            }
        }
    }
}

/// The state of the first block of a forger on a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstBlockState {
    /// It is on the chain, being assembled, or held until its time.
    Here,
    /// It breaks a rule.
    Invalid,
    /// Its body did not arrive, or it is not on the chain.
    Absent,
}

/// The first block of a forger on a parent.
#[derive(Debug)]
pub(in crate::core) struct FirstBlock {
    pub(super) header: Header,
    pub(super) state: FirstBlockState,
}

impl FirstBlock {
    /// Returns whether another announced block with this header is not assembled.
    ///
    /// A block that is here is replaced for more work only. After an invalid block no other one is assembled: an honest key signs
    /// one block on a parent, and a dishonest one could have any number of invalid blocks tried for one turn. A valid one with
    /// more work is still found by its headers.
    pub(in crate::core) fn excludes(&self, other: &Header) -> bool {
        match self.state {
            FirstBlockState::Here => other.difficulty <= self.header.difficulty,
            FirstBlockState::Invalid => true,
            FirstBlockState::Absent => false,
        }
    }

    pub(in crate::core) fn into_header(self) -> Header {
        self.header
    }
}
