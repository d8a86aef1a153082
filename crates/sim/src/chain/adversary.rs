//! Peers that lie. They send garbage, long branches without stake, blocks by a forger with stake that break rules, announcements
//! whose bodies never come, ids that belong to no transaction, and transactions whose sender cannot pay.

use std::collections::BTreeMap;
use std::sync::Arc;

use chain::block::{CarriedBlock, CarriedEntry, root_of};
use chain::core::{Event, Ticket};
use chain::message::{Announcement, Answer, Gossip, Listed, Question, Status};
use chain::state::{next_header, turn};
use chain::{Body, Carried, ChainId, Header, Height, MinorUnits, Seconds, Transaction, TxId};
use primitives::Hash;

use super::Scenario;
use super::plan::{ACCOUNTS, LITTLE, POOR, account, key, public};
use super::traffic::transaction;
use super::world::{Coming, World};
use crate::chance::Chance;

/// Number of headers in an invented branch.
const INVENTED: u32 = 30;
/// Maximum number of its own blocks that an adversary serves.
const BLOCKS_MAX: usize = 20;

/// A peer that lies.
pub(super) struct Adversary {
    n: usize,
    chance: Chance,
    blocks: BTreeMap<Hash, CarriedBlock>,
    tickets: Ticket,
}

impl Adversary {
    pub(super) fn new(n: usize, chance: &mut Chance) -> Self {
        Self {
            n,
            chance: chance.fork(),
            blocks: BTreeMap::new(),
            tickets: 0,
        }
    }

    /// Makes one attack and schedules the next one.
    pub(super) fn attack(&mut self, world: &mut World, at: usize) {
        if world.now_ms > world.plan.attacks_ms {
            return;
        }
        let again_ms = self.chance.between(300, 4_000);
        world.later(world.now_ms + again_ms, Coming::Attack(at));
        let target = self.chance.below(world.nodes.len());
        if world.nodes[target].core.is_none() || !world.network.reaches(self.n, target) {
            return;
        }
        world.tally.attacks += 1;
        let is_liar = world.plan.scenario == Scenario::Liars;
        // Liars only make false claims, because other attacks would soon end in a ban.
        let choice = match is_liar {
            true => 2,
            false => self.chance.below(7),
        };
        match choice {
            0 => {
                let bytes = self.garbage();
                world.gossip_to(self.n, target, Arc::new(bytes));
            }
            1 => {
                let bytes = self.garbage();
                self.ask(world, target, bytes);
            }
            2 => {
                let status = self.claim();
                self.ask(world, target, Question::Status(status).to_bytes());
            }
            3 => self.spam(world, target),
            4 => self.child_block_of_nothing(world, target),
            _ if at == 0 => self.bad_block(world, target),
            _ => self.invented_block(world, target),
        }
    }

    /// Answers a question, truthfully or not, or leaves it unanswered.
    pub(super) fn hear(&mut self, world: &mut World, event: Event) {
        let Event::Asked { ticket, bytes, .. } = event else {
            return;
        };
        let Ok(question) = Question::read(&bytes) else {
            return;
        };
        let is_liar = world.plan.scenario == Scenario::Liars;
        let answer = match question {
            // Every second liar never answers, but repeats its claims.
            _ if is_liar && self.n.is_multiple_of(2) => return,
            Question::Headers { .. } if is_liar => Answer::Busy,
            Question::Status(_) if !is_liar && self.chance.per_mille(700) => {
                Answer::Status(Status::default())
            }
            Question::Status(_) => Answer::Status(self.claim()),
            Question::Headers { locator } => match self.chance.below(4) {
                0 => return,
                1 => Answer::Busy,
                2 => Answer::Headers {
                    common: self.chance.one_of(&locator),
                    headers: Vec::new(),
                },
                _ => self.invent(world, &locator),
            },
            Question::Bodies(hashes) => match self.blocks.get(&hashes[0]) {
                Some(block) => Answer::Bodies(vec![block.body_bytes()]),
                None if self.chance.per_mille(500) => return,
                None => Answer::Bodies(vec![self.garbage()]),
            },
            Question::Parents { block, ids } => match self.blocks.get(&block) {
                Some(block) => Answer::Parents(
                    block
                        .body
                        .iter()
                        .filter(|entry| ids.contains(&entry.transaction.id))
                        .map(|entry| Listed {
                            transaction: entry.transaction.transaction.clone(),
                            ids: Vec::new(),
                        })
                        .collect(),
                ),
                None => return,
            },
            Question::Transactions { .. } => Answer::Transactions(Vec::new()),
            Question::PoolIds { .. } => {
                let mut ids: Vec<TxId> = (0..50).map(|_| TxId(self.chance.bytes32())).collect();
                ids.sort_unstable();
                Answer::PoolIds(ids)
            }
        };
        let mut bytes = answer.to_bytes();
        if !is_liar && self.chance.per_mille(50) {
            bytes = self.garbage();
        }
        world.answer(self.n, ticket, bytes);
    }

    fn ask(&mut self, world: &mut World, target: usize, bytes: Vec<u8>) {
        self.tickets += 1;
        world.ask(self.n, target, self.tickets, bytes, 5_000);
    }

    fn garbage(&mut self) -> Vec<u8> {
        let length = self.chance.below(400);
        let mut bytes: Vec<u8> = (0..length).map(|_| self.chance.next() as u8).collect();
        if let Some(kind) = bytes.first_mut() {
            *kind = self.chance.between(0, 9) as u8;
        }
        bytes
    }

    /// Returns a status that claims more work than any chain has.
    fn claim(&mut self) -> Status {
        Status {
            height: Height::new(10_000),
            tip: Hash::from_bytes(self.chance.bytes32()),
            difficulty: u128::MAX / 2,
        }
    }

    /// Invents a branch of headers, forged by a key without stake.
    fn invent(&mut self, world: &World, locator: &[Hash]) -> Answer {
        let genesis = &world.plan.genesis;
        let nobody = chain::key_of_passphrase(&self.chance.next().to_string());
        let common = self.chance.one_of(locator);
        let point = world
            .nodes
            .iter()
            .filter_map(|node| node.core.as_ref())
            .find(|core| core.overlay().tip().hash == common)
            .map(|core| core.overlay().tip().clone());
        let Some(mut point) = point else {
            return Answer::Headers {
                common,
                headers: Vec::new(),
            };
        };
        let mut headers = Vec::new();
        for _ in 0..INVENTED {
            let mut header = Header {
                height: point.next_height(),
                time: point.time.next().expect("a second of the simulation"),
                previous: point.hash,
                forger: public(&nobody),
                generation: chain::pos::generation(&point.generation, &public(&nobody)),
                base_target: point.base_target,
                difficulty: point.difficulty
                    + chain::pos::work(&genesis.params, point.base_target, Seconds::new(1)),
                parent_count: 0,
                child_count: 0,
                body_bytes: 0,
                root: Hash::ZERO,
                signature: [0; 64],
            };
            header.sign(&genesis.hash, &nobody);
            point = chain::state::Point::of(&header, header.hash(&genesis.hash));
            headers.push(header);
        }
        Answer::Headers { common, headers }
    }

    /// Announces a block on the target's tip, forged by a key without stake.
    fn invented_block(&mut self, world: &mut World, target: usize) {
        let Some(core) = &world.nodes[target].core else {
            return;
        };
        let tip = core.overlay().tip().hash;
        if let Answer::Headers { headers, .. } = self.invent(world, &[tip])
            && let Some(header) = headers.into_iter().next()
        {
            let bytes = Gossip::Block(Announcement {
                header,
                ids: Vec::new(),
            })
            .to_bytes();
            world.gossip_to(self.n, target, Arc::new(bytes));
        }
    }

    /// Sends transactions whose sender cannot pay, some with a bad signature.
    fn spam(&mut self, world: &mut World, target: usize) {
        let badly_signed = self.chance.per_mille(300);
        let transactions: Vec<Transaction> = (0..20)
            .map(|n| {
                let body = Body::Payment {
                    to: account(1),
                    amount: MinorUnits::new(LITTLE * 10 + n),
                    message: Vec::new(),
                };
                let mut spam = transaction(world, target, POOR, ChainId(2), 100, body);
                if badly_signed {
                    spam.signature[40] ^= 1;
                }
                spam
            })
            .collect();
        let bytes = Gossip::Transactions(transactions).to_bytes();
        world.gossip_to(self.n, target, Arc::new(bytes));
    }

    /// Sends a child block of transactions that do not exist, signed by a bundler with enough tokens.
    fn child_block_of_nothing(&mut self, world: &mut World, target: usize) {
        let mut ids: Vec<TxId> = (0..10).map(|_| TxId(self.chance.bytes32())).collect();
        ids.sort_unstable();
        let body = Body::ChildBlock {
            child: ChainId(2),
            count: 10,
            root: root_of(&ids),
        };
        let who = ACCOUNTS - 1;
        let transaction = transaction(world, target, who, ChainId::PARENT, 1_000_000, body);
        let bytes = Gossip::ChildBlock { transaction, ids }.to_bytes();
        world.gossip_to(self.n, target, Arc::new(bytes));
    }

    /// Announces a block by a forger with stake whose payment is not covered. In half of the cases its body is never served.
    fn bad_block(&mut self, world: &mut World, target: usize) {
        let forger = key(ACCOUNTS - 1);
        let genesis = world.plan.genesis.clone();
        let body = Body::Payment {
            to: account(2),
            amount: MinorUnits::new(LITTLE * 100),
            message: Vec::new(),
        };
        let payment = transaction(world, target, POOR, ChainId::PARENT, 1_000, body);
        let node = &world.nodes[target];
        let clock = node.clock_ms(world.now_ms) / 1_000;
        let Some(core) = &node.core else { return };
        let Ok(Some(time)) = turn(core.overlay(), &genesis, &public(&forger)) else {
            return;
        };
        if u64::from(time.get()) > clock + 3 || payment.time > time {
            return;
        }
        let Ok(mut header) = next_header(core.overlay(), &genesis, &public(&forger), time) else {
            return;
        };
        let carried = Arc::new(Carried::new(&genesis.hash, payment));
        header.parent_count = 1;
        header.body_bytes = carried.bytes;
        header.root = root_of(&[carried.id]);
        header.sign(&genesis.hash, &forger);
        let ids = vec![carried.id];
        let block = CarriedBlock::new(
            &genesis.hash,
            header.clone(),
            vec![CarriedEntry {
                transaction: carried,
                children: Vec::new(),
            }],
        );
        if self.chance.per_mille(500) && self.blocks.len() < BLOCKS_MAX {
            self.blocks.insert(block.hash, block);
        }
        let bytes = Arc::new(Gossip::Block(Announcement { header, ids }).to_bytes());
        for other in 0..world.nodes.len() {
            world.gossip_to(self.n, other, bytes.clone());
        }
    }
}
