//! Following the network: the best peer's branch is judged by its headers first, then downloaded, then applied.

use std::cmp::Reverse;

use primitives::Hash;

use super::download::Download;
use super::limits::{BRANCH_HEADERS_MAX, COOL_DOWN_MS, PATIENCE_MS, points};
use super::questions::Purpose;
use super::{Action, Core, Notice, PeerId};
use crate::Header;
use crate::message::{HEADERS_MAX, LOCATOR_MAX, Question};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Branch, Fault};

/// What this node does to follow the network.
#[derive(Debug)]
pub(super) struct Following {
    pub(super) state: State,
    /// Each attempt has a number: answers to another's questions are of no use.
    pub(super) number: u64,
}

#[derive(Debug)]
pub(super) enum State {
    /// No peer that is followed stands better.
    Idle,
    /// A peer's headers are fetched and judged.
    Headers(Box<Candidate>),
    /// Bodies of a branch that its headers show to be better.
    Bodies(Box<Download>),
}

/// A branch whose headers are being judged.
#[derive(Debug)]
pub(super) struct Candidate {
    peer: PeerId,
    /// What we said we have.
    locator: Vec<Hash>,
    /// Where it leaves our chain, when that is known.
    branch: Option<Branch>,
    headers: Vec<(Header, Hash)>,
}

/// How the headers of an answer were found.
enum Finding {
    /// All good.
    Good,
    /// Good up to here: the rest is ahead of our clock.
    Early,
    /// The branch begins elsewhere: once more.
    Again,
    /// The branch begins after this height of ours, too deep to be judged.
    TooDeep(u32),
    /// The peer's fault.
    Bad(u32, &'static str),
}

impl Following {
    pub(super) fn new() -> Self {
        Self {
            state: State::Idle,
            number: 0,
        }
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Looks for somebody to follow, or goes on with it.
    pub(super) fn follow(&mut self) -> Result<(), StoreFailure> {
        if self.stuck.is_some() || self.switch.is_some() {
            return Ok(());
        }
        match self.following.state {
            State::Bodies(_) => self.step_download(),
            State::Headers(_) => Ok(()),
            State::Idle => {
                if let Some(peer) = self.best_peer()? {
                    self.following.number += 1;
                    let locator = self.locator()?;
                    self.ask_for_headers(Candidate {
                        peer,
                        locator,
                        branch: None,
                        headers: Vec::new(),
                    });
                }
                Ok(())
            }
        }
    }

    /// The peer that claims the best branch of those that may be followed now.
    fn best_peer(&self) -> Result<Option<PeerId>, StoreFailure> {
        let mut best: Option<((u128, Reverse<Hash>), PeerId)> = None;
        for (id, peer) in self.peers.iter() {
            let Some(status) = peer.status else { continue };
            let merit = (status.difficulty, Reverse(status.tip));
            let eligible = self.is_better(status.difficulty, &status.tip)
                && peer.cool_until_ms <= self.now_ms
                && best.is_none_or(|(known, _)| merit > known)
                && self.may_ask(id)
                && !self.bad.contains(&status.tip)
                && !self.is_held(&status.tip)
                && !self.assemblies.iter().any(|one| one.hash == status.tip);
            if eligible && !self.is_block(&status.tip)? {
                best = Some((merit, *id));
            }
        }
        Ok(best.map(|(_, id)| id))
    }

    /// When somebody may be followed again who may not now.
    pub(super) fn following_due_ms(&self) -> Option<u64> {
        if self.stuck.is_some() {
            return None;
        }
        match self.following.state {
            State::Idle => {}
            State::Headers(_) => return None,
            State::Bodies(_) => {
                let busy = self.peers.iter().map(|(_, peer)| peer.busy_until_ms);
                return busy.filter(|until| *until > self.now_ms).min();
            }
        }
        self.peers
            .iter()
            .filter(|(_, peer)| {
                peer.cool_until_ms > self.now_ms
                    && peer
                        .status
                        .is_some_and(|status| self.is_better(status.difficulty, &status.tip))
            })
            .map(|(_, peer)| peer.cool_until_ms)
            .min()
    }

    /// Our tip and blocks at doubling distances below it, down to genesis.
    fn locator(&self) -> Result<Vec<Hash>, StoreFailure> {
        let tip = self.rows.tip();
        let mut locator = vec![tip.hash];
        let (mut height, mut step) = (tip.height, 1);
        while height > 0 && locator.len() < LOCATOR_MAX - 1 {
            height = height.saturating_sub(step);
            step = step.saturating_mul(2);
            locator.extend(self.hash_at(height)?);
        }
        if locator.last() != Some(&self.genesis.hash) {
            locator.push(self.genesis.hash);
        }
        Ok(locator)
    }

    fn ask_for_headers(&mut self, candidate: Candidate) {
        let question = Question::Headers {
            locator: match candidate.headers.last() {
                Some((_, hash)) => vec![*hash],
                None => candidate.locator.clone(),
            },
        };
        let (peer, number) = (candidate.peer, self.following.number);
        self.following.state = State::Headers(Box::new(candidate));
        self.ask(peer, Purpose::Headers(number), &question, PATIENCE_MS);
    }

    /// Whom we followed is left alone for a while.
    pub(super) fn cool_down(&mut self, peer: PeerId) {
        let until = self.now_ms + COOL_DOWN_MS;
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.cool_until_ms = until;
            peer.status = None;
            peer.status_due_ms = until;
        }
    }

    pub(super) fn headers_failed(&mut self, peer: PeerId, number: u64) {
        if number == self.following.number && matches!(self.following.state, State::Headers(_)) {
            self.following.state = State::Idle;
            self.cool_down(peer);
        }
    }

    pub(super) fn headers_came(
        &mut self,
        peer: PeerId,
        number: u64,
        common: Hash,
        headers: Vec<Header>,
    ) -> Result<(), StoreFailure> {
        if number != self.following.number {
            return Ok(());
        }
        let State::Headers(mut candidate) =
            std::mem::replace(&mut self.following.state, State::Idle)
        else {
            return Ok(());
        };
        let (full, none) = (headers.len() >= HEADERS_MAX, headers.is_empty());
        match self.judge_headers(&mut candidate, common, headers)? {
            Finding::Good => {}
            Finding::Early | Finding::Again if candidate.headers.is_empty() => {
                self.cool_down(peer);
                return Ok(());
            }
            Finding::Early => {}
            Finding::Again => return Ok(()),
            Finding::TooDeep(common) => {
                self.cannot_judge(peer, common);
                self.cool_down(peer);
                return Ok(());
            }
            Finding::Bad(points, code) => {
                if points > 0 {
                    self.penalise(peer, points, code);
                }
                self.cool_down(peer);
                return Ok(());
            }
        }
        let best = candidate
            .headers
            .last()
            .map(|(header, hash)| (header.difficulty, *hash));
        if let Some((difficulty, hash)) = best
            && self.is_better(difficulty, &hash)
        {
            return self.branch_is_better(*candidate);
        }
        let room = BRANCH_HEADERS_MAX + self.genesis.params.rollback_blocks_max as usize;
        if full && candidate.headers.len() < room {
            self.ask_for_headers(*candidate);
            return Ok(());
        }
        if none || best.is_some() {
            // It claimed more than it has.
            self.penalise(peer, points::EMPTY_CLAIM, "chain_peer.empty_claim");
        }
        self.cool_down(peer);
        Ok(())
    }

    /// Checks the headers of an answer, all signatures in one batch, and adds them to the candidate.
    fn judge_headers(
        &mut self,
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
            if !candidate.locator.contains(&common) {
                return Ok(Finding::Bad(
                    points::WRONG_ANSWER,
                    "chain_peer.wrong_answer",
                ));
            }
            let Some(mut height) = self.height_of(&common)? else {
                // It was ours when we asked.
                return Ok(Finding::Again);
            };
            // Between two blocks of the locator there are more that both have.
            let mut shared = 0;
            for (_, hash) in &headers {
                if self.hash_at(height.saturating_add(1))? != Some(*hash) {
                    break;
                }
                height += 1;
                shared += 1;
            }
            headers.drain(..shared);
            if headers.is_empty() {
                return Ok(Finding::Good);
            }
            if !self.may_be_taken_back(height)? {
                return Ok(Finding::TooDeep(height));
            }
            candidate.branch = match Branch::at(&self.rows, &genesis, height) {
                Ok(branch) => Some(branch),
                Err(Fault::Refused(_)) => return Ok(Finding::Again),
                Err(Fault::Store(failure)) => return Err(failure),
            };
        }
        let Some(branch) = candidate.branch.as_mut() else {
            return Ok(Finding::Again);
        };
        let signed: Vec<_> = headers
            .iter()
            .map(|(header, hash)| header.signed_message(*hash))
            .collect();
        if self.checker.check_batch(&signed).contains(&false) {
            return Ok(Finding::Bad(points::BAD_SIGNATURE, "chain_block.signature"));
        }
        for (header, hash) in headers {
            let drift = genesis.params.clock_drift_seconds;
            let now = u32::try_from(self.now_ms / 1_000).unwrap_or(u32::MAX);
            if header.time > now.saturating_add(drift) {
                return Ok(Finding::Early);
            }
            if self.bad.contains(&hash) {
                return Ok(Finding::Bad(points::EMPTY_CLAIM, "chain_peer.bad_branch"));
            }
            let trusted = self.trusted.get(&header.height);
            if trusted.is_some_and(|trusted| *trusted != hash) {
                return Ok(Finding::Bad(points::EMPTY_CLAIM, "chain_block.distrusted"));
            }
            match branch.push(&self.rows, &genesis, &header, hash) {
                Ok(()) => candidate.headers.push((header, hash)),
                Err(Fault::Refused(rejection)) if rejection.code == "chain_block.not_next" => {
                    return Ok(Finding::Again);
                }
                Err(Fault::Refused(rejection)) => {
                    self.bad.insert(hash);
                    return Ok(Finding::Bad(points::BAD_BLOCK, rejection.code));
                }
                Err(Fault::Store(failure)) => return Err(failure),
            }
        }
        Ok(Finding::Good)
    }

    /// Whether the chain could be taken back to a height: whether what undoes the blocks above it is there. A branch from further
    /// below can't even be judged, and is not followed.
    pub(super) fn may_be_taken_back(&self, height: u32) -> Result<bool, StoreFailure> {
        if height >= self.rows.tip().height {
            return Ok(true);
        }
        let first = height.saturating_add(1).to_be_bytes();
        Ok(self.rows.get(Table::Undo, &first)?.is_some())
    }

    /// A peer claims a better branch from so far below that nothing here bounds what its forgers hold: whoever says so may lie, so the node
    /// goes on with its own, and tells its operator, once for each peer while it is connected.
    fn cannot_judge(&mut self, peer: PeerId, common: u32) {
        self.counters.deep_branches += 1;
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        let other = known.status.map_or(Hash::ZERO, |status| status.tip);
        if std::mem::replace(&mut known.too_deep_said, true) {
            return;
        }
        self.actions.push(Action::Notice(Box::new(Notice::TooDeep {
            peer,
            common,
            other,
        })));
    }

    /// Its headers show that the branch is better than ours: it is downloaded, or it forks too deep.
    fn branch_is_better(&mut self, candidate: Candidate) -> Result<(), StoreFailure> {
        let Some(branch) = candidate.branch else {
            return Ok(());
        };
        let common = branch.common();
        let depth = self.rows.tip().height.saturating_sub(common);
        if depth > self.genesis.params.rollback_blocks_max {
            let other = candidate
                .headers
                .last()
                .map_or(Hash::ZERO, |(_, hash)| *hash);
            self.become_stuck(common, other);
            return Ok(());
        }
        let stored = |hash: &Hash| self.side.contains(hash);
        let download = Download::new(
            self.following.number,
            candidate.peer,
            candidate.headers,
            stored,
            self.now_ms,
        );
        self.following.state = State::Bodies(Box::new(download));
        self.step_download()
    }
}
