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

/// The first block of a forger on a parent.
#[derive(Debug)]
pub(in crate::core) struct FirstBlock {
    pub(super) header: Header,
    /// Whether the block is on the chain, being assembled, or held until its time.
    pub(super) is_here: bool,
}

impl FirstBlock {
    /// Returns whether this block stays, so that another block with this header is not a candidate for the chain.
    pub(in crate::core) fn stays_before(&self, other: &Header) -> bool {
        self.is_here && other.difficulty <= self.header.difficulty
    }

    pub(in crate::core) fn into_header(self) -> Header {
        self.header
    }
}
