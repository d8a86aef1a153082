//! Downloads the bodies of a better branch from several peers at once, within a budget of bytes.
//!
//! If the branch follows our tip, its blocks join as they arrive. If it forks off, bodies are stored in the table `Side` until
//! they make it better than our own blocks. No block is rolled back before that.

use std::collections::{BTreeMap, BTreeSet};

use primitives::Hash;

use super::chain_end::{BodyFault, NotJoined};
use super::follow::State;
use super::limits::{
    ANSWER_BYTES, BUSY_MS, DOWNLOAD_BYTES_MAX, DOWNLOADS_MAX, HOLD_PARTS, PATIENCE_BODIES_MS,
    ROUND_BYTES, points,
};
use super::questions::Purpose;
use super::switch::{Cause, Step};
use super::{Core, PeerId};
use crate::Header;
use crate::block::CarriedBlock;
use crate::message::{BODIES_MAX, Question};
use crate::port::{Reads, StoreFailure, Table};

/// Time without a new body after which a download no longer waits for busy peers, in milliseconds.
const PROGRESS_MS: u64 = 10_000;
/// Failed questions after which a peer is not asked again for this branch.
const FAILURES_MAX: u32 = 2;

/// The blocks of a branch that is being downloaded.
#[derive(Debug)]
pub(super) struct Download {
    number: u64,
    /// The peer that delivered the headers first.
    peer: PeerId,
    /// All peers that delivered these headers. They are asked for bodies before other peers with an equal claim.
    givers: BTreeSet<PeerId>,
    blocks: Vec<Wanted>,
    /// Number of blocks at the beginning that are on the chain.
    joined: usize,
    /// Bytes of bodies in memory or requested.
    bytes: usize,
    /// Peers that do not have the branch.
    lacking: BTreeSet<PeerId>,
    failures: BTreeMap<PeerId, u32>,
    /// Time of the last body.
    progress_ms: u64,
    /// Time until which forging on our own tip waits for the branch.
    hold_until_ms: u64,
}

#[derive(Debug)]
struct Wanted {
    header: Header,
    hash: Hash,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Missing,
    Asked,
    Here(Box<CarriedBlock>),
    /// In the table `Side`.
    Stored,
    Joined,
}

impl Download {
    pub(super) fn new(
        number: u64,
        peer: PeerId,
        givers: BTreeSet<PeerId>,
        headers: Vec<(Header, Hash)>,
        stored: impl Fn(&Hash) -> bool,
        now_ms: u64,
        hold_ms: u64,
    ) -> Self {
        let blocks = headers
            .into_iter()
            .map(|(header, hash)| Wanted {
                stage: if stored(&hash) {
                    Stage::Stored
                } else if header.body_bytes == 0 {
                    Stage::Here(Box::new(CarriedBlock {
                        header: header.clone(),
                        hash,
                        body: Vec::new(),
                    }))
                } else {
                    Stage::Missing
                },
                header,
                hash,
            })
            .collect();
        Self {
            number,
            peer,
            givers,
            blocks,
            joined: 0,
            bytes: 0,
            lacking: BTreeSet::new(),
            failures: BTreeMap::new(),
            progress_ms: now_ms,
            hold_until_ms: now_ms + hold_ms,
        }
    }

    /// Returns the height of the last block.
    pub(super) fn target(&self) -> u32 {
        self.blocks.last().map_or(0, |block| block.header.height)
    }

    /// Returns the next blocks to request: from the first missing one, up to the size of one answer.
    fn next_part(&self) -> Option<(usize, usize, usize)> {
        let first = self
            .blocks
            .iter()
            .position(|block| matches!(block.stage, Stage::Missing))?;
        let (mut count, mut bytes) = (0, 0);
        for block in &self.blocks[first..] {
            let more = block.header.body_bytes as usize;
            let fits = count == 0 || bytes + more <= ANSWER_BYTES;
            if !matches!(block.stage, Stage::Missing) || count == BODIES_MAX || !fits {
                break;
            }
            bytes += more;
            count += 1;
        }
        // The first missing block may always be requested. Otherwise the download could stall.
        let blocked = self.blocks[self.joined..first]
            .iter()
            .any(|block| matches!(block.stage, Stage::Asked | Stage::Here(_)));
        (!blocked || self.bytes + bytes <= DOWNLOAD_BYTES_MAX).then_some((first, count, bytes))
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Returns the time until which forging on our own tip waits for a better branch that is being downloaded. Headers alone
    /// delay forging once for each tip of ours, and each new body delays it again. A branch whose bodies are withheld costs a
    /// quarter of the block time.
    pub(super) fn held_back_until_ms(&self) -> u64 {
        match &self.following.state {
            State::Bodies(download) => download.hold_until_ms,
            State::Idle | State::Headers(_) => 0,
        }
    }

    /// Returns a quarter of the block time.
    pub(super) fn hold_ms(&self) -> u64 {
        u64::from(self.genesis.params.block_seconds) * 1_000 / HOLD_PARTS
    }

    /// Lets blocks join, and requests more bodies.
    pub(super) fn step_download(&mut self) -> Result<(), StoreFailure> {
        let state = std::mem::replace(&mut self.following.state, State::Idle);
        let State::Bodies(mut download) = state else {
            self.following.state = state;
            return Ok(());
        };
        if !self.join_downloaded(&mut download)? {
            return Ok(());
        }
        if self.switch.is_none() && download.joined == download.blocks.len() {
            for peer in &download.givers {
                self.delivered(*peer);
            }
            self.tell_where_we_stand();
            return Ok(());
        }
        if self.ask_for_bodies(&mut download) || self.switch.is_some() || self.more {
            self.following.state = State::Bodies(download);
        } else {
            // No peer delivers it now. It may be tried again later.
            for peer in &download.givers {
                self.failed(*peer);
            }
        }
        Ok(())
    }

    /// Lets blocks join that follow the tip, or begins a reorg. Returns false if the branch is no longer useful.
    fn join_downloaded(&mut self, download: &mut Download) -> Result<bool, StoreFailure> {
        let mut bytes = 0;
        while self.switch.is_none() && download.joined < download.blocks.len() {
            let wanted = &mut download.blocks[download.joined];
            if self.bad.contains(&wanted.hash) {
                return Ok(false);
            }
            if matches!(wanted.stage, Stage::Joined) || self.is_block(&wanted.hash)? {
                if let Stage::Here(block) = std::mem::replace(&mut wanted.stage, Stage::Joined) {
                    download.bytes = download
                        .bytes
                        .saturating_sub(block.header.body_bytes as usize);
                }
                download.joined += 1;
                continue;
            }
            if wanted.header.previous != self.rows.tip().hash {
                return self.switch_if_better(download);
            }
            if bytes >= ROUND_BYTES {
                self.more = true;
                return Ok(true);
            }
            let block = match std::mem::replace(&mut wanted.stage, Stage::Joined) {
                Stage::Here(block) => {
                    download.bytes = download
                        .bytes
                        .saturating_sub(block.header.body_bytes as usize);
                    *block
                }
                Stage::Stored => {
                    let stored = self.side.get(&self.rows, &self.genesis, &wanted.hash)?;
                    let Some(block) = stored else {
                        wanted.stage = Stage::Missing;
                        return Ok(true);
                    };
                    self.side.remove(&mut self.rows, &wanted.hash);
                    block
                }
                stage => {
                    wanted.stage = stage;
                    return Ok(true);
                }
            };
            bytes += block.header.body_bytes as usize + 4_096;
            let hash = block.hash;
            if let Err(reason) = self.join(block, false)? {
                if matches!(reason, NotJoined::Invalid(_)) {
                    let rest = &download.blocks[download.joined..];
                    for after in rest.iter().skip_while(|block| block.hash != hash) {
                        self.bad.insert(after.hash);
                    }
                }
                self.blame(Some(download.peer), reason);
                return Ok(false);
            }
            download.joined += 1;
        }
        Ok(true)
    }

    /// Begins a reorg if the branch forks off and its available bodies make it better than ours.
    fn switch_if_better(&mut self, download: &mut Download) -> Result<bool, StoreFailure> {
        let from = download.joined;
        let Some(common) = self.height_of(&download.blocks[from].header.previous)? else {
            // Our own chain has changed below the branch. Begin again.
            return Ok(false);
        };
        let tip = self.rows.tip();
        let depth = tip.height.saturating_sub(common);
        if depth > self.genesis.params.rollback_blocks_max || !self.may_be_taken_back(common)? {
            return Ok(false);
        }
        let there = download.blocks[from..]
            .iter()
            .take_while(|block| matches!(block.stage, Stage::Here(_) | Stage::Stored))
            .count();
        // At equal work the branch can win only if it does not begin with a second block by the forger of ours.
        let is_rival = self.rival_of(&download.blocks[from].header)?.is_some();
        let better = |block: &Wanted| {
            let has_more = block.header.difficulty > self.rows.tip().difficulty;
            has_more || (!is_rival && self.is_better(block.header.difficulty, &block.hash))
        };
        if !download.blocks.last().is_some_and(better) {
            // In the meantime our chain has become better than the whole branch.
            return Ok(false);
        }
        let usable = download.blocks[from..from + there]
            .last()
            .is_some_and(better);
        if !usable {
            self.store_fork(download, from + there);
            return Ok(true);
        }
        let mut steps = Vec::with_capacity(there);
        for wanted in &mut download.blocks[from..from + there] {
            match std::mem::replace(&mut wanted.stage, Stage::Joined) {
                Stage::Here(block) => {
                    download.bytes = download
                        .bytes
                        .saturating_sub(block.header.body_bytes as usize);
                    steps.push(Step::Here(block));
                }
                _ => steps.push(Step::Side(wanted.hash)),
            }
        }
        self.begin_switch(common, steps, Cause::Better(Some(download.peer)));
        self.step_switch()?;
        // A block that did not join is bad, and the next step finds it.
        Ok(true)
    }

    /// Stores the bodies of a fork. Memory is reserved for blocks that join at once.
    fn store_fork(&mut self, download: &mut Download, to: usize) {
        for wanted in &mut download.blocks[download.joined..to] {
            if let Stage::Here(block) = &wanted.stage
                && block.header.body_bytes > 0
            {
                download.bytes = download
                    .bytes
                    .saturating_sub(block.header.body_bytes as usize);
                self.side.put(&mut self.rows, block);
                wanted.stage = Stage::Stored;
            }
        }
    }

    /// Requests bodies as far as the budget allows. Returns false if bodies are missing and no peer can be asked.
    fn ask_for_bodies(&mut self, download: &mut Download) -> bool {
        let number = download.number;
        loop {
            let under_way = self
                .questions
                .count(|purpose| matches!(purpose, Purpose::Bodies { download, .. } if *download == number));
            if under_way >= DOWNLOADS_MAX {
                return true;
            }
            let Some((first, count, bytes)) = download.next_part() else {
                return true;
            };
            let Some(peer) = self.who_has(download) else {
                return under_way > 0 || self.is_a_peer_busy(download);
            };
            let part = &mut download.blocks[first..first + count];
            for block in part.iter_mut() {
                block.stage = Stage::Asked;
            }
            let question = Question::Bodies(part.iter().map(|block| block.hash).collect());
            download.bytes += bytes;
            let purpose = Purpose::Bodies {
                download: number,
                first,
                count,
            };
            self.ask(peer, purpose, &question, PATIENCE_BODIES_MS);
        }
    }

    /// Returns the least busy peer that may have the branch.
    fn who_has(&self, download: &Download) -> Option<PeerId> {
        let difficulty = download.blocks.last()?.header.difficulty;
        self.peers
            .iter()
            .filter(|(id, peer)| {
                let far_enough = peer
                    .status
                    .is_some_and(|status| status.difficulty >= difficulty);
                (far_enough || download.givers.contains(id))
                    && !download.lacking.contains(id)
                    && peer.busy_until_ms <= self.now_ms
                    && self.may_ask(id)
            })
            .min_by_key(|(id, peer)| {
                let gave = download.givers.contains(id);
                (!gave, peer.failures, peer.asked)
            })
            .map(|(id, _)| *id)
    }

    /// Returns whether a busy peer that may have the branch will have room again soon. Returns false if no body has arrived for
    /// too long.
    fn is_a_peer_busy(&self, download: &Download) -> bool {
        self.now_ms.saturating_sub(download.progress_ms) < PROGRESS_MS
            && self.peers.iter().any(|(id, peer)| {
                peer.busy_until_ms > self.now_ms && !download.lacking.contains(id)
            })
    }

    fn take_download(&mut self, number: u64) -> Option<Box<Download>> {
        match std::mem::replace(&mut self.following.state, State::Idle) {
            State::Bodies(download) if download.number == number => Some(download),
            state => {
                self.following.state = state;
                None
            }
        }
    }

    pub(super) fn bodies_came(
        &mut self,
        peer: PeerId,
        number: u64,
        first: usize,
        count: usize,
        bodies: Vec<Vec<u8>>,
    ) -> Result<(), StoreFailure> {
        let Some(mut download) = self.take_download(number) else {
            return Ok(());
        };
        if bodies.is_empty() {
            download.lacking.insert(peer);
        }
        let came = bodies.len().min(count);
        let mut blame = None;
        for (at, bytes) in (first..first + came).zip(bodies) {
            let wanted = &download.blocks[at];
            if !matches!(wanted.stage, Stage::Asked) {
                continue;
            }
            match self.read_body(wanted.header.clone(), wanted.hash, &bytes) {
                Ok(block) => {
                    download.blocks[at].stage = Stage::Here(Box::new(block));
                    download.progress_ms = self.now_ms;
                    download.hold_until_ms = self.now_ms + self.hold_ms();
                }
                Err(BodyFault::Sender(code)) => {
                    blame = Some((points::BAD_SIGNATURE, code));
                    break;
                }
                Err(BodyFault::Block(code)) => {
                    blame = Some((points::BAD_BLOCK, code));
                    break;
                }
            }
        }
        give_back(&mut download, first, count);
        if let Some((points, code)) = blame {
            self.penalise(peer, points, code);
            download.lacking.insert(peer);
        } else if came > 0 {
            self.delivered(peer);
        }
        self.following.state = State::Bodies(download);
        self.step_download()
    }

    /// Postpones a question that a peer has no room to answer now. The bodies are requested again, and the peer is not penalised.
    pub(super) fn bodies_put_off(&mut self, peer: PeerId, number: u64, first: usize, count: usize) {
        let until = self.now_ms.saturating_add(BUSY_MS);
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.busy_until_ms = until;
        }
        let Some(mut download) = self.take_download(number) else {
            return;
        };
        give_back(&mut download, first, count);
        self.following.state = State::Bodies(download);
    }

    pub(super) fn bodies_failed(&mut self, peer: PeerId, number: u64, first: usize, count: usize) {
        let Some(mut download) = self.take_download(number) else {
            return;
        };
        let failures = download.failures.entry(peer).or_default();
        *failures += 1;
        if *failures >= FAILURES_MAX {
            download.lacking.insert(peer);
        }
        give_back(&mut download, first, count);
        self.following.state = State::Bodies(download);
    }
}

/// Marks requested bodies that did not come as missing again.
fn give_back(download: &mut Download, first: usize, count: usize) {
    for block in &mut download.blocks[first..first + count] {
        if matches!(block.stage, Stage::Asked) {
            block.stage = Stage::Missing;
            download.bytes = download
                .bytes
                .saturating_sub(block.header.body_bytes as usize);
        }
    }
}
