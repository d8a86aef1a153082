//! A forger that signs several blocks at each of its turns. It announces different blocks to different nodes, announces the one
//! with the smallest hash late, and withholds some bodies.

use std::collections::VecDeque;
use std::sync::Arc;

use chain::block::{CarriedBlock, CarriedEntry, root_of};
use chain::core::{Event, Ticket};
use chain::message::{Announcement, Answer, Gossip, Listed, Question, Status};
use chain::state::{next_header, turn};
use chain::{Body, Carried, ChainId, Header, MinorUnits};
use primitives::Hash;

use super::plan::{ACCOUNTS, account, key, public};
use super::traffic::transaction;
use super::world::{Coming, World};
use crate::chance::Chance;

/// Time between two looks at the network, in milliseconds.
const LOOK_MS: u64 = 250;
/// Number of blocks on one parent.
const RIVALS: usize = 3;
/// Turns whose blocks it still serves and announces again.
const TURNS_MAX: usize = 4;

/// The blocks of one turn.
struct Turn {
    parent: Hash,
    /// Sorted by hash, the smallest first.
    blocks: Vec<CarriedBlock>,
    /// Whether the body of the first block is withheld from all nodes.
    withheld: bool,
    /// The time at which the first block is announced to all nodes.
    late_ms: u64,
}

/// A peer with stake that equivocates.
pub(super) struct Equivocator {
    n: usize,
    chance: Chance,
    turns: VecDeque<Turn>,
    tickets: Ticket,
}

impl Equivocator {
    pub(super) fn new(n: usize, chance: &mut Chance) -> Self {
        Self {
            n,
            chance: chance.fork(),
            turns: VecDeque::new(),
            tickets: 0,
        }
    }

    /// Signs blocks if it is its turn, and announces the late block of an earlier turn.
    pub(super) fn attack(&mut self, world: &mut World, at: usize) {
        if world.now_ms > world.plan.attacks_ms {
            return;
        }
        world.later(world.now_ms + LOOK_MS, Coming::Attack(at));
        let target = self.chance.below(world.nodes.len());
        if let Some(turn) = self.sign(world, target) {
            world.tally.attacks += 1;
            for node in 0..world.nodes.len() {
                let shown = 1 + (node + at) % (RIVALS - 1);
                self.announce(world, node, &turn.blocks[shown]);
            }
            self.turns.push_back(turn);
            if self.turns.len() > TURNS_MAX {
                self.turns.pop_front();
            }
        }
        let late = |turn: &&mut Turn| turn.late_ms <= world.now_ms;
        let Some(turn) = self.turns.iter_mut().find(late) else {
            return;
        };
        turn.late_ms = u64::MAX;
        let first = turn.blocks[0].clone();
        let status = Question::Status(Status {
            height: first.header.height,
            tip: first.hash,
            difficulty: first.header.difficulty,
        });
        for node in 0..world.nodes.len() {
            self.announce(world, node, &first);
            self.tickets += 1;
            world.ask(self.n, node, self.tickets, status.to_bytes(), 5_000);
        }
    }

    fn announce(&self, world: &mut World, node: usize, block: &CarriedBlock) {
        let ids = block.body.iter().map(|entry| entry.transaction.id);
        let gossip = Gossip::Block(Announcement {
            header: block.header.clone(),
            ids: ids.collect(),
        });
        world.gossip_to(self.n, node, Arc::new(gossip.to_bytes()));
    }

    /// Signs rival blocks on the tip of a node, if it is the attackers' turn and they have signed none on that tip.
    fn sign(&mut self, world: &mut World, target: usize) -> Option<Turn> {
        let header = self.next(world, target)?;
        let genesis = world.plan.genesis.clone();
        let mut blocks = Vec::with_capacity(RIVALS);
        for amount in 1..=RIVALS as u64 {
            let body = Body::Payment {
                to: account(1),
                amount: MinorUnits::new(amount),
                message: Vec::new(),
            };
            let paid = transaction(world, target, ACCOUNTS - 1, ChainId::PARENT, 1_000, body);
            if paid.time > header.time {
                // A payment later than the block would make the block invalid.
                return None;
            }
            let transaction = Arc::new(Carried::new(&genesis.hash, paid));
            let mut header = header.clone();
            header.parent_count = 1;
            header.body_bytes = transaction.bytes;
            header.root = root_of(&[transaction.id]);
            header.sign(&genesis.hash, &key(ACCOUNTS - 1));
            let children = Vec::new();
            let entry = CarriedEntry {
                transaction,
                children,
            };
            blocks.push(CarriedBlock::new(&genesis.hash, header, vec![entry]));
        }
        blocks.sort_by_key(|block| block.hash);
        Some(Turn {
            parent: header.previous,
            blocks,
            withheld: self.chance.per_mille(500),
            late_ms: world.now_ms + self.chance.between(500, 8_000),
        })
    }

    fn next(&self, world: &World, target: usize) -> Option<Header> {
        let genesis = &world.plan.genesis;
        let node = &world.nodes[target];
        let overlay = node.core.as_ref()?.overlay();
        let parent = overlay.tip().hash;
        if self.turns.iter().any(|turn| turn.parent == parent) {
            return None;
        }
        let forger = public(&key(ACCOUNTS - 1));
        let time = turn(overlay, genesis, &forger).ok()??;
        if time.chain_time().as_ms() > node.clock_ms(world.now_ms) {
            return None;
        }
        next_header(overlay, genesis, &forger, time).ok()
    }

    /// Answers questions about its blocks, except for the bodies that it withholds.
    pub(super) fn hear(&mut self, world: &mut World, event: Event) {
        let Event::Asked { ticket, bytes, .. } = event else {
            return;
        };
        let answer = match Question::read(&bytes) {
            Ok(Question::Status(_)) => Answer::Status(Status::default()),
            Ok(Question::Headers { locator }) => self.headers(&locator),
            Ok(Question::Bodies(hashes)) => match self.given(&hashes[0]) {
                Some(block) => Answer::Bodies(vec![block.body_bytes()]),
                None => return,
            },
            Ok(Question::Parents { block, .. }) => match self.given(&block) {
                Some(block) => Answer::Parents(listed(block)),
                None => return,
            },
            Ok(Question::PoolIds { .. }) => Answer::PoolIds(Vec::new()),
            _ => Answer::Busy,
        };
        world.answer(self.n, ticket, answer.to_bytes());
    }

    /// Returns a block whose body it does not withhold.
    fn given(&self, hash: &Hash) -> Option<&CarriedBlock> {
        let all = self.turns.iter().flat_map(|turn| {
            let hidden = usize::from(turn.withheld);
            turn.blocks.iter().skip(hidden)
        });
        let mut found = all.filter(|block| block.hash == *hash);
        found.next()
    }

    /// Returns the header with the smallest hash of the newest turn whose parent is in the locator.
    fn headers(&self, locator: &[Hash]) -> Answer {
        let newest = self.turns.iter().rev();
        let mut known = newest.filter(|turn| locator.contains(&turn.parent));
        match known.next() {
            Some(turn) => Answer::Headers {
                common: turn.parent,
                headers: vec![turn.blocks[0].header.clone()],
            },
            None => Answer::Busy,
        }
    }
}

fn listed(block: &CarriedBlock) -> Vec<Listed> {
    let entries = block.body.iter().map(|entry| Listed {
        transaction: entry.transaction.transaction.clone(),
        ids: Vec::new(),
    });
    entries.collect()
}
