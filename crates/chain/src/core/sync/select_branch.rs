//! A contest of branches. Several peers that claim a better branch are asked for its headers at once, and the branch with the
//! most work *delivered* wins.
//!
//! A claim opens the contest and decides nothing. A silent peer delays only its own answer. Before a long branch is followed,
//! every peer that claims a better one has been asked (up to [`HEADER_PEERS_MAX`]), because different branches have different
//! headers.

use std::collections::BTreeSet;
use std::time::Duration;

use primitives::Hash;

use super::header_sync::{HeaderSync, HeaderVerdict, PeerBranch};
use super::stage::SyncStage;
use crate::core::limits::{
    BRANCH_HEADERS_MAX, HEADER_PEERS_MAX, HEADER_REQUESTS_MAX, HEADER_REQUESTS_OF_PROVEN,
    LONG_BRANCH_BLOCKS, PATIENCE, PEER_GATHERING, SHORT_BRANCH_WAIT, points,
};
use crate::core::peers::Purpose;
use crate::core::{Core, PeerId};
use crate::message::{HEADERS_MAX, Question, Status};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::Branch;
use crate::{ChainTime, Header, Height};

/// A peer that claims a better branch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Claimant {
    failures: u32,
    last_header_request: u64,
    has_delivered: bool,
    peer: PeerId,
    status: Status,
}

/// Returns the claimants that are asked at once. Up to [`HEADER_REQUESTS_OF_PROVEN`] peers that have delivered blocks come first, so that
/// any number of new peers cannot crowd them out. Then come peers with fewer failures, and then those that were not asked for
/// the longest time.
fn in_turn(mut found: Vec<Claimant>) -> Vec<Claimant> {
    found.sort_unstable_by_key(|one| (one.last_header_request, one.peer));
    let mut proven_left = HEADER_REQUESTS_OF_PROVEN;
    let (mut chosen, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| {
        let is_reserved = one.has_delivered && proven_left > 0;
        proven_left -= usize::from(is_reserved);
        is_reserved
    });
    others.sort_by_key(|one| one.failures);
    chosen.extend(others);
    chosen.truncate(HEADER_REQUESTS_MAX);
    chosen
}

impl<R: Reads<Table>> Core<R> {
    /// Asks the peers that claim a better branch, if there are any.
    pub(in crate::core) fn begin_header_sync(&mut self) -> Result<(), StoreFailure> {
        let claimants = self.claimants(&BTreeSet::new())?;
        if claimants.is_empty() {
            return Ok(());
        }
        self.sync.number += 1;
        let contest = HeaderSync::new(self.locator()?);
        self.ask_claimants(Box::new(contest), claimants);
        Ok(())
    }

    /// Returns the peers that may be asked now and claim a better branch, without those already asked, in the order of [`in_turn`].
    fn claimants(&self, asked: &BTreeSet<PeerId>) -> Result<Vec<(PeerId, Status)>, StoreFailure> {
        let mut found = Vec::new();
        for (id, peer) in self.peers.iter() {
            let Some(status) = peer.status else { continue };
            let eligible = self.is_better(status.difficulty, &status.tip)
                && !asked.contains(id)
                && peer.back_off_until <= self.now
                && self.can_ask(id)
                && !self.invalid.contains(&status.tip)
                && !self.tied_tips.contains(&status.tip)
                && !self.is_pending(&status.tip)
                && !self.assemblies.contains(&status.tip);
            if eligible && !self.is_block(&status.tip)? {
                found.push(Claimant {
                    failures: peer.failures,
                    last_header_request: peer.last_header_request,
                    has_delivered: peer.has_delivered,
                    peer: *id,
                    status,
                });
            }
        }
        let found = in_turn(found).into_iter();
        Ok(found.map(|one| (one.peer, one.status)).collect())
    }

    fn ask_claimants(&mut self, mut contest: Box<HeaderSync>, claimants: Vec<(PeerId, Status)>) {
        let question = Question::Headers {
            locator: contest.locator.clone(),
        };
        let purpose = Purpose::Headers(self.sync.number);
        for (peer, claim) in claimants {
            if !self.requests.has_room() {
                break;
            }
            self.sync.asked += 1;
            if let Some(known) = self.peers.get_mut(&peer) {
                known.last_header_request = self.sync.asked;
            }
            contest.asked.insert(peer);
            contest.asking.push(PeerBranch {
                peer,
                claim,
                branch: None,
                headers: Vec::new(),
                has_more: false,
            });
            self.ask(peer, purpose.clone(), &question, PATIENCE);
        }
        self.sync.state = SyncStage::Headers(contest);
    }

    /// Takes the contest and one of its candidates out of the state, if the answer belongs to one of its questions.
    fn take_candidate(
        &mut self,
        peer: PeerId,
        number: u64,
    ) -> Option<(Box<HeaderSync>, PeerBranch)> {
        if number != self.sync.number {
            return None;
        }
        let SyncStage::Headers(contest) = &mut self.sync.state else {
            return None;
        };
        let at = contest.asking.iter().position(|one| one.peer == peer)?;
        let candidate = contest.asking.remove(at);
        match std::mem::replace(&mut self.sync.state, SyncStage::Idle) {
            SyncStage::Headers(contest) => Some((contest, candidate)),
            // Checked above.
            SyncStage::Idle | SyncStage::Bodies(_) => None,
        }
    }

    /// Handles a candidate that did not deliver.
    pub(in crate::core) fn headers_failed(
        &mut self,
        peer: PeerId,
        number: u64,
    ) -> Result<(), StoreFailure> {
        let Some((contest, _)) = self.take_candidate(peer, number) else {
            return Ok(());
        };
        self.sync.state = SyncStage::Headers(contest);
        self.end_header_sync_if_over()
    }

    pub(in crate::core) fn headers_received(
        &mut self,
        peer: PeerId,
        number: u64,
        common: Hash,
        headers: Vec<Header>,
    ) -> Result<(), StoreFailure> {
        let Some((mut contest, mut candidate)) = self.take_candidate(peer, number) else {
            return Ok(());
        };
        let full = headers.len() >= HEADERS_MAX;
        let finding = self.check_branch_headers(&contest, &mut candidate, common, headers)?;
        if let Some(candidate) = self.compare_with_ours(&mut contest, candidate, &finding, full)? {
            self.ask_for_more_headers(&mut contest, candidate);
        }
        self.sync.state = SyncStage::Headers(contest);
        self.end_header_sync_if_over()
    }

    /// Asks a candidate for the headers after those that it delivered.
    fn ask_for_more_headers(&mut self, contest: &mut HeaderSync, candidate: PeerBranch) {
        let Some((_, hash)) = candidate.headers.last() else {
            return;
        };
        let question = Question::Headers {
            locator: vec![*hash],
        };
        let purpose = Purpose::Headers(self.sync.number);
        self.ask(candidate.peer, purpose, &question, PATIENCE);
        contest.asking.push(candidate);
    }

    /// Enters a candidate's branch if it is better than ours, and compares the delivery with the claim. Returns the candidate if
    /// it must be asked for more.
    fn compare_with_ours(
        &mut self,
        contest: &mut HeaderSync,
        mut candidate: PeerBranch,
        finding: &HeaderVerdict,
        full: bool,
    ) -> Result<Option<PeerBranch>, StoreFailure> {
        let peer = candidate.peer;
        match finding {
            HeaderVerdict::Good | HeaderVerdict::Early(_) | HeaderVerdict::Unbounded => {}
            HeaderVerdict::Again => {
                self.back_off(peer);
                return Ok(None);
            }
            HeaderVerdict::TooDeep(common) => {
                self.report_unverifiable(peer, *common);
                self.branch_failed(peer);
                return Ok(None);
            }
            HeaderVerdict::Bad(points, code) => {
                self.penalise(peer, *points, code);
                self.branch_failed(peer);
                return Ok(None);
            }
        }
        candidate.has_more = full || !matches!(finding, HeaderVerdict::Good);
        let end = candidate
            .headers
            .last()
            .map(|(header, hash)| (header.difficulty, *hash));
        let better = self.beats_ours_with_evidence(&candidate)?;
        let is_all = matches!(finding, HeaderVerdict::Good) && !full;
        let delivered = end.map_or(0, |(difficulty, _)| difficulty);
        let is_empty_claim = is_all
            && delivered < candidate.claim.difficulty
            && self.is_better(candidate.claim.difficulty, &candidate.claim.tip);
        if is_empty_claim {
            self.penalise(peer, points::EMPTY_CLAIM, "chain_peer.empty_claim");
            self.branch_failed(peer);
        }
        if better {
            if !self.is_too_deep(&candidate) {
                contest.enter(candidate, self.now);
            }
            return Ok(None);
        }
        match finding {
            HeaderVerdict::Early(time) => self.retry_at(peer, *time),
            HeaderVerdict::Unbounded => {
                let common = candidate
                    .branch
                    .as_ref()
                    .map_or(Height::GENESIS, Branch::common);
                self.report_unverifiable(peer, common);
                self.branch_failed(peer);
            }
            _ if full && candidate.headers.len() < self.headers_max() => {
                return Ok(Some(candidate));
            }
            _ if is_empty_claim => {}
            _ => self.back_off(peer),
        }
        Ok(None)
    }

    /// Returns the maximum number of headers of one branch that are held while it is judged.
    fn headers_max(&self) -> usize {
        BRANCH_HEADERS_MAX + self.genesis.params.rollback_blocks_max as usize
    }

    /// Returns whether a branch is so long, or forks off so deep, that all peers claiming a better one are asked before it is
    /// followed.
    fn is_long(&self, best: &PeerBranch) -> bool {
        let common = best.branch.as_ref().map_or(Height::GENESIS, Branch::common);
        // A branch that begins above our tip rolls no block back.
        let depth = self.rows.tip().height.blocks_since(common).unwrap_or(0);
        best.headers.len().max(depth as usize) > LONG_BRANCH_BLOCKS
    }

    /// Returns the time at which the best branch delivered so far wins, if this does not depend on answers alone. A short branch
    /// waits briefly for open answers. A long branch waits longer, and also until this node has had time to connect to peers.
    pub(in crate::core) fn header_sync_due(&self, contest: &HeaderSync) -> Option<ChainTime> {
        let best = contest.best.as_ref()?;
        let is_long = self.is_long(best);
        let wait = match (contest.asking.is_empty(), is_long) {
            (true, _) => Duration::ZERO,
            (false, true) => PATIENCE,
            (false, false) => SHORT_BRANCH_WAIT,
        };
        let answers = contest.better_since.map(|since| since.plus_or_last(wait));
        let gathered = is_long.then(|| self.peers.connected_since().plus_or_last(PEER_GATHERING));
        answers.max(gathered)
    }

    /// Asks more peers while none has delivered a better branch, and ends the contest if it is over.
    pub(in crate::core) fn continue_header_sync(&mut self) -> Result<(), StoreFailure> {
        if let SyncStage::Headers(contest) = &self.sync.state
            && contest.best.is_none()
            && contest.asking.len() < HEADER_REQUESTS_MAX
            && contest.asked.len() < HEADER_PEERS_MAX
        {
            let room = HEADER_REQUESTS_MAX - contest.asking.len();
            let mut more = self.claimants(&contest.asked)?;
            more.truncate(room);
            if let SyncStage::Headers(contest) =
                std::mem::replace(&mut self.sync.state, SyncStage::Idle)
            {
                self.ask_claimants(contest, more);
            }
        }
        self.end_header_sync_if_over()
    }

    /// Ends the contest if it is over, and follows the best delivered branch.
    fn end_header_sync_if_over(&mut self) -> Result<(), StoreFailure> {
        let SyncStage::Headers(contest) = &self.sync.state else {
            return Ok(());
        };
        let is_over = match self.header_sync_due(contest) {
            Some(due) => due <= self.now,
            None => contest.asking.is_empty(),
        };
        if !is_over {
            return Ok(());
        }
        let SyncStage::Headers(mut contest) =
            std::mem::replace(&mut self.sync.state, SyncStage::Idle)
        else {
            return Ok(());
        };
        let Some(best) = contest.best.take() else {
            return Ok(());
        };
        let is_long = self.is_long(&best);
        if is_long && contest.asked.len() < HEADER_PEERS_MAX {
            let more = self.claimants(&contest.asked)?;
            if !more.is_empty() {
                contest.best = Some(best);
                contest.better_since = Some(self.now);
                self.ask_claimants(contest, more);
                return Ok(());
            }
        }
        self.begin_download(best, contest.sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the order in which claimants are asked, as peer keys. Each is given as `(failures, last header request, has delivered)`,
    /// in the order of the keys.
    fn order(claimants: &[(u32, u64, bool)]) -> Vec<u8> {
        let claimant =
            |(peer, (failures, last_header_request, has_delivered)): (u8, &_)| Claimant {
                failures: *failures,
                last_header_request: *last_header_request,
                has_delivered: *has_delivered,
                peer: PeerId([peer; 32]),
                status: Status {
                    difficulty: 1,
                    height: Height::FIRST,
                    tip: Hash::ZERO,
                },
            };
        let chosen = in_turn((0..).zip(claimants).map(claimant).collect());
        chosen.iter().map(|one| one.peer.0[0]).collect()
    }

    #[test]
    fn peers_take_turns_and_those_that_fail_come_last() {
        let claimants = [(1, 0, false), (0, 9, false), (0, 3, false), (2, 1, false)];
        assert_eq!(order(&claimants), [2, 1, 0, 3]);
    }

    #[test]
    fn peers_that_delivered_are_asked_beside_any_number_of_others() {
        let mut claimants = vec![(0, 1, false); 30];
        claimants.extend([(5, 8, true), (7, 6, true), (0, 7, true)]);
        // Two of the three that delivered, which were not asked for the longest time.
        assert_eq!(order(&claimants), [31, 32, 0, 1, 2, 3, 4, 5]);
    }
}
