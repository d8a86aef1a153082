//! A contest of branches. Several peers that claim a better branch are asked for its headers at once, and the branch with the
//! most work *delivered* wins.
//!
//! A claim opens the contest and decides nothing. A silent peer delays only its own place. Before a long branch is followed,
//! every peer that claims a better one has been asked (up to [`CONTESTANTS_MAX`]), because different branches have different
//! headers.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use primitives::Hash;

use super::follow::State;
use super::limits::{
    BRANCH_HEADERS_MAX, CANDIDATES_MAX, CONFIRM_BLOCKS, CONTESTANTS_MAX, DECIDE_MS, GATHER_MS,
    PATIENCE_MS, points,
};
use super::questions::Purpose;
use super::{Core, PeerId};
use crate::Header;
use crate::message::{HEADERS_MAX, Question, Status};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Branch, Fault, Judged};

/// A branch whose headers are being fetched from one peer and judged.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) peer: PeerId,
    /// The peer's claim at the time of the question.
    claim: Status,
    /// The judged branch, once the block at which it leaves our chain is known.
    pub(super) branch: Option<Branch>,
    pub(super) headers: Vec<(Header, Hash)>,
}

/// The peers that are asked for their branches, and the best branch delivered so far.
#[derive(Debug)]
pub(super) struct Contest {
    /// Our tip and blocks at doubling distances below it.
    locator: Vec<Hash>,
    /// Peers with an open question.
    asking: Vec<Candidate>,
    /// All peers that were asked, including those that have answered.
    asked: BTreeSet<PeerId>,
    best: Option<Candidate>,
    /// Peers that delivered the best branch.
    givers: BTreeSet<PeerId>,
    /// Time of the first better branch in this wave of questions.
    better_since_ms: Option<u64>,
}

/// The outcome of judging one answer.
enum Finding {
    /// All headers count.
    Good,
    /// The headers before this point count. The next header's time, given here, is ahead of our clock.
    Early(u32),
    /// The headers before this point count. No row bounds the stake of the next header's forger.
    Unbounded,
    /// Our own chain has changed below the branch.
    Again,
    /// The branch begins after this height of our chain, which is too deep to judge.
    TooDeep(u32),
    /// The peer is at fault: points and code.
    Bad(u32, &'static str),
}

impl Contest {
    fn new(locator: Vec<Hash>) -> Self {
        Self {
            locator,
            asking: Vec::new(),
            asked: BTreeSet::new(),
            best: None,
            givers: BTreeSet::new(),
            better_since_ms: None,
        }
    }

    /// Enters a branch that is better than ours.
    fn enter(&mut self, candidate: Candidate, now_ms: u64) {
        self.better_since_ms.get_or_insert(now_ms);
        let merit = |one: &Candidate| {
            let end = one.headers.last();
            end.map(|(header, hash)| (header.difficulty, Reverse(*hash)))
        };
        match self.best.as_ref().map(merit) {
            Some(best) if best > merit(&candidate) => {}
            Some(best) if best == merit(&candidate) => {
                self.givers.insert(candidate.peer);
            }
            _ => {
                self.givers = BTreeSet::from([candidate.peer]);
                self.best = Some(candidate);
            }
        }
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Asks the peers that claim a better branch, if there are any.
    pub(super) fn begin_contest(&mut self) -> Result<(), StoreFailure> {
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
                && !self.assemblies.iter().any(|one| one.hash == status.tip);
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
    pub(super) fn headers_failed(&mut self, peer: PeerId, number: u64) -> Result<(), StoreFailure> {
        let Some((contest, _)) = self.take_candidate(peer, number) else {
            return Ok(());
        };
        self.following.state = State::Headers(contest);
        self.decide()
    }

    pub(super) fn headers_came(
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
    pub(super) fn contest_due_ms(&self, contest: &Contest) -> Option<u64> {
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
    pub(super) fn continue_contest(&mut self) -> Result<(), StoreFailure> {
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

    /// Checks the headers of an answer, with all signatures in one batch, and adds them to the candidate.
    fn judge_headers(
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
