//! Judges the headers of a peer's branch.

use primitives::Hash;

use super::header_sync::{HeaderSync, HeaderVerdict, PeerBranch};
use crate::Header;
use crate::core::Core;
use crate::core::limits::points;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Branch, Fault, Judged};

impl<R: Reads<Table>> Core<R> {
    /// Checks the headers of an answer, with all signatures in one batch, and adds them to the candidate.
    pub(super) fn check_branch_headers(
        &mut self,
        contest: &HeaderSync,
        candidate: &mut PeerBranch,
        common: Hash,
        headers: Vec<Header>,
    ) -> Result<HeaderVerdict, StoreFailure> {
        let genesis = self.genesis.clone();
        let mut headers: Vec<(Header, Hash)> = headers
            .into_iter()
            .map(|header| {
                let hash = header.hash(&genesis.hash);
                (header, hash)
            })
            .collect();
        if candidate.branch.is_none() {
            if let Some(finding) = self.place(contest, candidate, common, &mut headers)? {
                return Ok(finding);
            }
            if let Some(best) = &contest.best
                && best.headers == headers
            {
                // These headers are identical to the best ones and already judged.
                candidate.branch.clone_from(&best.branch);
                candidate.headers = headers;
                return Ok(HeaderVerdict::Good);
            }
        }
        let signed = headers
            .iter()
            .map(|(header, hash)| header.signed_message(*hash));
        let verdicts = self.checker.check_all(signed, headers.len());
        if verdicts.contains(&false) {
            return Ok(HeaderVerdict::Bad(
                points::BAD_SIGNATURE,
                "chain_block.signature",
            ));
        }
        for (header, hash) in headers {
            if let Some(finding) = self.check_branch_header(candidate, header, hash)? {
                return Ok(finding);
            }
        }
        Ok(HeaderVerdict::Good)
    }

    /// Finds the block at which a candidate's branch leaves our chain, and drops the headers that both chains share.
    fn place(
        &self,
        contest: &HeaderSync,
        candidate: &mut PeerBranch,
        common: Hash,
        headers: &mut Vec<(Header, Hash)>,
    ) -> Result<Option<HeaderVerdict>, StoreFailure> {
        if !contest.locator.contains(&common) {
            let (points, code) = (points::WRONG_ANSWER, "chain_peer.wrong_answer");
            return Ok(Some(HeaderVerdict::Bad(points, code)));
        }
        let Some(mut height) = self.height_of(&common)? else {
            // The block was on our chain when we asked.
            return Ok(Some(HeaderVerdict::Again));
        };
        // Both chains may share more blocks between two entries of the locator.
        let mut shared = 0;
        for (_, hash) in headers.iter() {
            let Some(next) = height.next() else { break };
            if self.hash_at(next)? != Some(*hash) {
                break;
            }
            height = next;
            shared += 1;
        }
        headers.drain(..shared);
        if headers.is_empty() {
            return Ok(Some(HeaderVerdict::Good));
        }
        if !self.can_roll_back_to(height)? {
            return Ok(Some(HeaderVerdict::TooDeep(height)));
        }
        match Branch::at(&self.rows, &self.genesis, height) {
            Ok(branch) => candidate.branch = Some(branch),
            Err(fault) => {
                fault.rejection()?;
                return Ok(Some(HeaderVerdict::Again));
            }
        }
        Ok(None)
    }

    /// Judges one header and adds it to the candidate. A finding ends the branch before this header.
    fn check_branch_header(
        &mut self,
        candidate: &mut PeerBranch,
        header: Header,
        hash: Hash,
    ) -> Result<Option<HeaderVerdict>, StoreFailure> {
        let Some(branch) = candidate.branch.as_mut() else {
            return Ok(Some(HeaderVerdict::Again));
        };
        if header.time > self.timestamp_now() {
            return Ok(Some(HeaderVerdict::Early(header.time)));
        }
        if self.invalid.contains(&hash) {
            let (points, code) = (points::EMPTY_CLAIM, "chain_peer.bad_branch");
            return Ok(Some(HeaderVerdict::Bad(points, code)));
        }
        if self.is_distrusted(header.height, &hash) {
            let (points, code) = (points::EMPTY_CLAIM, "chain_block.distrusted");
            return Ok(Some(HeaderVerdict::Bad(points, code)));
        }
        match branch.push(&self.rows, &self.genesis, &header, hash) {
            Ok(Judged::Counted) => {
                candidate.headers.push((header, hash));
                Ok(None)
            }
            Ok(Judged::Unbounded) => Ok(Some(HeaderVerdict::Unbounded)),
            Err(Fault::NotNext(_)) => Ok(Some(HeaderVerdict::Again)),
            Err(fault) => {
                let rejection = fault.rejection()?;
                self.invalid.insert(hash);
                Ok(Some(HeaderVerdict::Bad(points::BAD_BLOCK, rejection.code)))
            }
        }
    }
}
