//! A contest of branches. Several peers that claim a better branch are asked for its headers at once, and the branch with the
//! most work *delivered* wins.
//!
//! A claim opens the contest and decides nothing. A silent peer delays only its own place. Before a long branch is followed,
//! every peer that claims a better one has been asked (up to [`CONTESTANTS_MAX`]), because different branches have different
//! headers.

use std::collections::BTreeSet;

use primitives::Hash;

use super::header_sync::{Candidate, Contest, Finding};
use super::stage::State;
use crate::Header;
use crate::core::limits::{
    BRANCH_HEADERS_MAX, CANDIDATES_MAX, CONFIRM_BLOCKS, CONTESTANTS_MAX, DECIDE_MS, GATHER_MS,
    PATIENCE_MS, points,
};
use crate::core::peers::Purpose;
use crate::core::{Core, PeerId};
use crate::message::{HEADERS_MAX, Question, Status};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::Branch;

impl<R: Reads<Table>> Core<R> {
    /// Asks the peers that claim a better branch, if there are any.
    pub(in crate::core) fn begin_contest(&mut self) -> Result<(), StoreFailure> {
        let claimants = self.claimants(&BTreeSet::new())?;
        if claimants.is_empty() {
            return Ok(());
        }
        self.following.number += 1;
        let contest = Contest::new(self.locator()?);
        self.ask_claimants(Box::new(contest), claimants);
        Ok(())
    }

    /// Returns the peers that may be asked now and claim a better branch, without those already asked. Peers with fewer failures
    /// come first, then those that were not asked for the longest time.
    fn claimants(&self, asked: &BTreeSet<PeerId>) -> Result<Vec<(PeerId, Status)>, StoreFailure> {
        let mut found = Vec::new();
        for (id, peer) in self.peers.iter() {
            let Some(status) = peer.status else { continue };
            let eligible = self.is_better(status.difficulty, &status.tip)
                && !asked.contains(id)
                && peer.cool_until_ms <= self.now_ms
                && self.may_ask(id)
                && !self.bad.contains(&status.tip)
                && !self.tied.contains(&status.tip)
                && !self.is_held(&status.tip)
                && !self.assemblies.contains(&status.tip);
            if eligible && !self.is_block(&status.tip)? {
                found.push((peer.failures, peer.asked_last, *id, status));
            }
        }
        found.sort_unstable_by_key(|(failures, asked_last, id, _)| (*failures, *asked_last, *id));
        found.truncate(CANDIDATES_MAX);
        Ok(found
            .into_iter()
            .map(|(_, _, id, status)| (id, status))
            .collect())
    }

    fn ask_claimants(&mut self, mut contest: Box<Contest>, claimants: Vec<(PeerId, Status)>) {
        let question = Question::Headers {
            locator: contest.locator.clone(),
        };
        let purpose = Purpose::Headers(self.following.number);
        for (peer, claim) in claimants {
            if !self.questions.has_room() {
                break;
            }
            self.following.asked += 1;
            if let Some(known) = self.peers.get_mut(&peer) {
                known.asked_last = self.following.asked;
            }
            contest.asked.insert(peer);
            contest.asking.push(Candidate {
                peer,
                claim,
                branch: None,
                headers: Vec::new(),
            });
            self.ask(peer, purpose.clone(), &question, PATIENCE_MS);
        }
        self.following.state = State::Headers(contest);
    }

    /// Takes the contest and one of its candidates out of the state, if the answer belongs to one of its questions.
    fn take_candidate(&mut self, peer: PeerId, number: u64) -> Option<(Box<Contest>, Candidate)> {
        if number != self.following.number {
            return None;
        }
        let State::Headers(contest) = &mut self.following.state else {
            return None;
        };
        let at = contest.asking.iter().position(|one| one.peer == peer)?;
        let candidate = contest.asking.remove(at);
        match std::mem::replace(&mut self.following.state, State::Idle) {
            State::Headers(contest) => Some((contest, candidate)),
            // Checked above.
            State::Idle | State::Bodies(_) => None,
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
        self.following.state = State::Headers(contest);
        self.decide()
    }

    pub(in crate::core) fn headers_came(
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
        let finding = self.judge_headers(&contest, &mut candidate, common, headers)?;
        if let Some(candidate) = self.weigh(&mut contest, candidate, &finding, full)? {
            self.ask_on(&mut contest, candidate);
        }
        self.following.state = State::Headers(contest);
        self.decide()
    }

    /// Asks a candidate for the headers after those that it delivered.
    fn ask_on(&mut self, contest: &mut Contest, candidate: Candidate) {
        let Some((_, hash)) = candidate.headers.last() else {
            return;
        };
        let question = Question::Headers {
            locator: vec![*hash],
        };
        let purpose = Purpose::Headers(self.following.number);
        self.ask(candidate.peer, purpose, &question, PATIENCE_MS);
        contest.asking.push(candidate);
    }

    /// Enters a candidate's branch if it is better than ours, and compares the delivery with the claim. Returns the candidate if
    /// it must be asked for more.
    fn weigh(
        &mut self,
        contest: &mut Contest,
        candidate: Candidate,
        finding: &Finding,
        full: bool,
    ) -> Result<Option<Candidate>, StoreFailure> {
        let peer = candidate.peer;
        match finding {
            Finding::Good | Finding::Early(_) | Finding::Unbounded => {}
            Finding::Again => {
                self.cool_down(peer);
                return Ok(None);
            }
            Finding::TooDeep(common) => {
                self.cannot_judge(peer, *common);
                self.failed(peer);
                return Ok(None);
            }
            Finding::Bad(points, code) => {
                self.penalise(peer, *points, code);
                self.failed(peer);
                return Ok(None);
            }
        }
        let end = candidate
            .headers
            .last()
            .map(|(header, hash)| (header.difficulty, *hash));
        let better = self.weigh_branch(&candidate)?;
        let is_all = matches!(finding, Finding::Good) && !full;
        let delivered = end.map_or(0, |(difficulty, _)| difficulty);
        let is_empty_claim = is_all
            && delivered < candidate.claim.difficulty
            && self.is_better(candidate.claim.difficulty, &candidate.claim.tip);
        if is_empty_claim {
            self.penalise(peer, points::EMPTY_CLAIM, "chain_peer.empty_claim");
            self.failed(peer);
        }
        if better {
            if !self.is_too_deep(&candidate) {
                contest.enter(candidate, self.now_ms);
            }
            return Ok(None);
        }
        match finding {
            Finding::Early(time) => self.wait_for(peer, *time),
            Finding::Unbounded => {
                let common = candidate.branch.as_ref().map_or(0, Branch::common);
                self.cannot_judge(peer, common);
                self.failed(peer);
            }
            _ if full && candidate.headers.len() < self.headers_max() => {
                return Ok(Some(candidate));
            }
            _ if is_empty_claim => {}
            _ => self.cool_down(peer),
        }
        Ok(None)
    }

    /// Returns the maximum number of headers of one branch that are held while it is judged.
    fn headers_max(&self) -> usize {
        BRANCH_HEADERS_MAX + self.genesis.params.rollback_blocks_max as usize
    }

    /// Returns whether a branch is so long, or forks off so deep, that all peers claiming a better one are asked before it is
    /// followed.
    fn is_long(&self, best: &Candidate) -> bool {
        let common = best.branch.as_ref().map_or(0, Branch::common);
        let depth = self.rows.tip().height.saturating_sub(common) as usize;
        best.headers.len().max(depth) > CONFIRM_BLOCKS
    }

    /// Returns the time at which the best branch delivered so far wins, if this does not depend on answers alone. A short branch
    /// waits briefly for open answers. A long branch waits longer, and also until this node has had time to connect to peers.
    pub(in crate::core) fn contest_due_ms(&self, contest: &Contest) -> Option<u64> {
        let best = contest.best.as_ref()?;
        let is_long = self.is_long(best);
        let wait_ms = match (contest.asking.is_empty(), is_long) {
            (true, _) => 0,
            (false, true) => PATIENCE_MS,
            (false, false) => DECIDE_MS,
        };
        let answers = contest.better_since_ms.map(|since| since + wait_ms);
        let gathered = is_long.then(|| self.peers.since_ms() + GATHER_MS);
        answers.max(gathered)
    }

    /// Asks more peers while none has delivered a better branch, and ends the contest if it is over.
    pub(in crate::core) fn continue_contest(&mut self) -> Result<(), StoreFailure> {
        if let State::Headers(contest) = &self.following.state
            && contest.best.is_none()
            && contest.asking.len() < CANDIDATES_MAX
            && contest.asked.len() < CONTESTANTS_MAX
        {
            let room = CANDIDATES_MAX - contest.asking.len();
            let mut more = self.claimants(&contest.asked)?;
            more.truncate(room);
            if let State::Headers(contest) =
                std::mem::replace(&mut self.following.state, State::Idle)
            {
                self.ask_claimants(contest, more);
            }
        }
        self.decide()
    }

    /// Ends the contest if it is over, and follows the best delivered branch.
    fn decide(&mut self) -> Result<(), StoreFailure> {
        let State::Headers(contest) = &self.following.state else {
            return Ok(());
        };
        let is_over = match self.contest_due_ms(contest) {
            Some(due) => due <= self.now_ms,
            None => contest.asking.is_empty(),
        };
        if !is_over {
            return Ok(());
        }
        let State::Headers(mut contest) = std::mem::replace(&mut self.following.state, State::Idle)
        else {
            return Ok(());
        };
        let Some(best) = contest.best.take() else {
            return Ok(());
        };
        let is_long = self.is_long(&best);
        if is_long && contest.asked.len() < CONTESTANTS_MAX {
            let more = self.claimants(&contest.asked)?;
            if !more.is_empty() {
                contest.best = Some(best);
                contest.better_since_ms = Some(self.now_ms);
                self.ask_claimants(contest, more);
                return Ok(());
            }
        }
        self.follow_branch(best, contest.givers)
    }
}
