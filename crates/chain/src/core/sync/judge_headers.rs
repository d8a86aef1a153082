//! Judges the headers of a peer's branch.

use primitives::Hash;

use super::header_sync::{Candidate, Contest, Finding};
use crate::Header;
use crate::core::Core;
use crate::core::limits::points;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Branch, Fault, Judged};

impl<R: Reads<Table>> Core<R> {
    /// Checks the headers of an answer, with all signatures in one batch, and adds them to the candidate.
    pub(super) fn judge_headers(
        &mut self,
        contest: &Contest,
        candidate: &mut Candidate,
        common: Hash,
        headers: Vec<Header>,
    ) -> Result<Finding, StoreFailure> {
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
                return Ok(Finding::Good);
            }
        }
        let signed: Vec<_> = headers
            .iter()
            .map(|(header, hash)| header.signed_message(*hash))
            .collect();
        if self.checker.check_batch(&signed).contains(&false) {
            return Ok(Finding::Bad(points::BAD_SIGNATURE, "chain_block.signature"));
        }
        for (header, hash) in headers {
            if let Some(finding) = self.judge_header(candidate, header, hash)? {
                return Ok(finding);
            }
        }
        Ok(Finding::Good)
    }

    /// Finds the block at which a candidate's branch leaves our chain, and drops the headers that both chains share.
    fn place(
        &self,
        contest: &Contest,
        candidate: &mut Candidate,
        common: Hash,
        headers: &mut Vec<(Header, Hash)>,
    ) -> Result<Option<Finding>, StoreFailure> {
        if !contest.locator.contains(&common) {
            let (points, code) = (points::WRONG_ANSWER, "chain_peer.wrong_answer");
            return Ok(Some(Finding::Bad(points, code)));
        }
        let Some(mut height) = self.height_of(&common)? else {
            // The block was on our chain when we asked.
            return Ok(Some(Finding::Again));
        };
        // Both chains may share more blocks between two entries of the locator.
        let mut shared = 0;
        for (_, hash) in headers.iter() {
            if self.hash_at(height.saturating_add(1))? != Some(*hash) {
                break;
            }
            height += 1;
            shared += 1;
        }
        headers.drain(..shared);
        if headers.is_empty() {
            return Ok(Some(Finding::Good));
        }
        if !self.may_be_taken_back(height)? {
            return Ok(Some(Finding::TooDeep(height)));
        }
        match Branch::at(&self.rows, &self.genesis, height) {
            Ok(branch) => candidate.branch = Some(branch),
            Err(fault) => {
                fault.rejection()?;
                return Ok(Some(Finding::Again));
            }
        }
        Ok(None)
    }

    /// Judges one header and adds it to the candidate. A finding ends the branch before this header.
    fn judge_header(
        &mut self,
        candidate: &mut Candidate,
        header: Header,
        hash: Hash,
    ) -> Result<Option<Finding>, StoreFailure> {
        let Some(branch) = candidate.branch.as_mut() else {
            return Ok(Some(Finding::Again));
        };
        if header.time > self.now_seconds() {
            return Ok(Some(Finding::Early(header.time)));
        }
        if self.bad.contains(&hash) {
            let (points, code) = (points::EMPTY_CLAIM, "chain_peer.bad_branch");
            return Ok(Some(Finding::Bad(points, code)));
        }
        if self.is_distrusted(header.height, &hash) {
            let (points, code) = (points::EMPTY_CLAIM, "chain_block.distrusted");
            return Ok(Some(Finding::Bad(points, code)));
        }
        match branch.push(&self.rows, &self.genesis, &header, hash) {
            Ok(Judged::Counted) => {
                candidate.headers.push((header, hash));
                Ok(None)
            }
            Ok(Judged::Unbounded) => Ok(Some(Finding::Unbounded)),
            Err(Fault::NotNext(_)) => Ok(Some(Finding::Again)),
            Err(fault) => {
                let rejection = fault.rejection()?;
                self.bad.insert(hash);
                Ok(Some(Finding::Bad(points::BAD_BLOCK, rejection.code)))
            }
        }
    }
}
