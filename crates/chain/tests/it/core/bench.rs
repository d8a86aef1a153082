//! A single core under test: hand-made blocks, peers with prescribed behaviour, and a record of everything that the core emits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chain::block::{CarriedBlock, CarriedEntry, CheckedBlock, root_of};
use chain::core::{
    Action, Core, Event, Notice, OrderDone, PeerId, RequestFailure, Settings, Verdict,
};
use chain::message::{Announcement, Answer, Gossip, Listed, Question, Status};
use chain::port::{StoreFailure, Table, WriteBatch};
use chain::state::{MemoryStore, Overlay, apply_block, next_header, turn};
use chain::{
    BlockTimestamp, Carried, ChainTime, Genesis, Header, Height, Seconds, Transaction, pos,
};
use primitives::{Hash, KeyPair, PublicKey, whole_ms};

use crate::core::branches::payment;
use crate::core::kit::{ACCOUNTS, genesis, key, peer, public};

/// Makes blocks one after the other, as a part of a network would.
pub struct Maker {
    genesis: Arc<Genesis>,
    overlay: Overlay<MemoryStore>,
    pub blocks: Vec<CarriedBlock>,
}

impl Maker {
    pub fn new() -> Self {
        Self::on(genesis())
    }

    pub fn on(genesis: Arc<Genesis>) -> Self {
        let overlay = Overlay::open(MemoryStore::new(), &genesis).unwrap();
        Self {
            genesis,
            overlay,
            blocks: Vec::new(),
        }
    }

    /// Returns a copy of the chain up to a height.
    pub fn fork(&self, height: usize) -> Self {
        let mut maker = Self::on(self.genesis.clone());
        for block in &self.blocks[..height] {
            maker.apply(block);
            maker.blocks.push(block.clone());
        }
        maker
    }

    fn apply(&mut self, block: &CarriedBlock) {
        let block = CheckedBlock::from_store(block.clone());
        apply_block(&mut self.overlay, &self.genesis, &block).unwrap();
    }

    /// Adds a block that another maker made.
    pub fn append(&mut self, block: &CarriedBlock) {
        self.apply(block);
        self.blocks.push(block.clone());
    }

    /// Returns the next block by the forger at this place in the order of turns, with these parent transactions.
    pub fn make(&self, place: usize, transactions: Vec<Transaction>) -> CarriedBlock {
        let entries = transactions.into_iter().map(|transaction| CarriedEntry {
            transaction: Arc::new(Carried::new(&self.genesis.hash, transaction)),
            children: Vec::new(),
        });
        self.make_of(place, entries.collect())
    }

    /// Returns the next block by the forger at this place in the order of turns, with these entries.
    pub fn make_of(&self, place: usize, mut body: Vec<CarriedEntry>) -> CarriedBlock {
        let mut turns: Vec<(BlockTimestamp, usize)> = (0..ACCOUNTS)
            .filter_map(|n| Some((turn(&self.overlay, &self.genesis, &public(n)).unwrap()?, n)))
            .collect();
        turns.sort_unstable();
        let (time, n) = turns[place];
        let mut header = next_header(&self.overlay, &self.genesis, &public(n), time).unwrap();
        body.sort_by_key(|entry| entry.transaction.id);
        let ids: Vec<_> = body.iter().map(|entry| entry.transaction.id).collect();
        let children = || body.iter().flat_map(|entry| &entry.children);
        let parents = body.iter().map(|entry| &entry.transaction);
        header.parent_count = body.len() as u32;
        header.child_count = children().count() as u32;
        header.body_bytes = parents.chain(children()).map(|one| one.bytes).sum();
        header.root = root_of(&ids);
        header.sign(&self.genesis.hash, &key(n));
        CarriedBlock::new(&self.genesis.hash, header, body)
    }

    /// Adds the next block.
    pub fn add(&mut self, place: usize, transactions: Vec<Transaction>) -> CarriedBlock {
        let block = self.make(place, transactions);
        self.apply(&block);
        self.blocks.push(block.clone());
        block
    }

    /// Returns the chain with further blocks, one second apart. Each is by the one of several keys without stake that has the
    /// lowest hit. They cannot be applied, and their headers satisfy all rules except that of the stake.
    pub fn throwaway(&self, count: usize) -> Vec<CarriedBlock> {
        let nobodies: Vec<KeyPair> = (0..64)
            .map(|n| chain::key_of_passphrase(&format!("holds nothing {n}")))
            .collect();
        let forger_of = |pair: &KeyPair| match pair.public() {
            PublicKey::Ed25519(key) => *key,
            _ => unreachable!("passphrases make Ed25519 keys"),
        };
        let (params, initial) = (&self.genesis.params, self.genesis.base_target);
        let mut blocks = self.blocks.clone();
        for _ in 0..count {
            let last = blocks.last().expect("a block before").header.clone();
            let hit = |pair: &&KeyPair| {
                pos::Hit::of(&pos::generation(&last.generation, &forger_of(pair)))
            };
            let nobody = nobodies.iter().min_by_key(hit).expect("some");
            let forger = forger_of(nobody);
            let height = last.height.next().expect("a height");
            let time = last.time.next().expect("a later second");
            let start = height.minus(params.base_target_span).expect("a span");
            let started = blocks[start.get() as usize - 1].header.time;
            let elapsed = time.since(started).expect("an earlier block");
            let base_target = match pos::adjusts(params, height) {
                true => pos::next_base_target(params, initial, last.base_target, elapsed),
                false => last.base_target,
            };
            let mut header = Header {
                height,
                time,
                previous: blocks.last().expect("a block before").hash,
                forger,
                generation: pos::generation(&last.generation, &forger),
                base_target,
                difficulty: last.difficulty + pos::work(params, last.base_target, Seconds::new(1)),
                parent_count: 0,
                child_count: 0,
                body_bytes: 0,
                root: Hash::ZERO,
                signature: [0; 64],
            };
            header.sign(&self.genesis.hash, nobody);
            blocks.push(CarriedBlock::new(&self.genesis.hash, header, Vec::new()));
        }
        blocks
    }

    pub fn add_many(&mut self, count: usize, place: usize) {
        for _ in 0..count {
            self.add(place, Vec::new());
        }
    }
}

/// The behaviour of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Honest,
    /// Claims the best chain possible, and delivers its own.
    Boasts,
    /// Never answers a question for bodies. The transport gives up after the timeout.
    WithholdsBodies,
    /// Does the same for questions that include its last block.
    WithholdsLastBody,
    /// Answers questions for bodies with `Busy`.
    Busy,
    /// This node's own transport has no room for questions for bodies.
    Refused,
    /// No question has any result, not even a failure.
    Silent,
    /// Answers wait for [`Bench::deliver`].
    Slow,
    /// Answers questions for parts of blocks with a valid transaction that was not requested. These answers wait for
    /// [`Bench::deliver`].
    Useless,
    /// Answers questions for parts of blocks with the first one only. These answers wait for [`Bench::deliver`].
    Drips,
}

struct Peer {
    chain: Vec<CarriedBlock>,
    manner: Manner,
}

pub struct Bench {
    pub genesis: Arc<Genesis>,
    pub core: Core<MemoryStore>,
    pub store: MemoryStore,
    settings: Settings,
    pub now_ms: u64,
    peers: BTreeMap<PeerId, Peer>,
    late: Vec<(u64, PeerId, u64)>,
    /// Answers of slow peers.
    under_way: Vec<Event>,
    pub notices: Vec<Notice>,
    pub verdicts: Vec<(u64, Verdict)>,
    pub penalties: Vec<&'static str>,
    pub disconnected: Vec<PeerId>,
    pub answers: Vec<Answer>,
    pub outcomes: Vec<Result<chain::TxId, chain::Rejection>>,
    pub orders: Vec<Result<OrderDone, chain::Rejection>>,
    pub gossip: Vec<Gossip>,
    pub asked: BTreeSet<&'static str>,
    /// Length of the largest committed batch, in bytes.
    pub batch_bytes_max: usize,
    tickets: u64,
}

impl Bench {
    pub fn new(settings: Settings) -> Self {
        Self::on(genesis(), settings)
    }

    pub fn on(genesis: Arc<Genesis>, settings: Settings) -> Self {
        let store = MemoryStore::new();
        let core = Core::open(
            store.clone(),
            genesis.clone(),
            settings.clone(),
            ChainTime::GENESIS,
        )
        .unwrap();
        Self {
            genesis,
            core,
            store,
            settings,
            now_ms: 0,
            peers: BTreeMap::new(),
            late: Vec::new(),
            under_way: Vec::new(),
            notices: Vec::new(),
            verdicts: Vec::new(),
            penalties: Vec::new(),
            disconnected: Vec::new(),
            answers: Vec::new(),
            outcomes: Vec::new(),
            orders: Vec::new(),
            gossip: Vec::new(),
            asked: BTreeSet::new(),
            batch_bytes_max: 0,
            tickets: 0,
        }
    }

    /// Restarts the process from the durable rows.
    pub fn restart(&mut self) {
        self.reopen();
        self.rounds();
    }

    /// Restarts the process, before its first round.
    pub fn reopen(&mut self) {
        let settings = self.settings.clone();
        self.store.lose();
        self.peers.clear();
        self.core = Core::open(
            self.store.clone(),
            self.genesis.clone(),
            settings,
            ChainTime::from_ms(self.now_ms),
        )
        .unwrap();
    }

    /// Stores side blocks as a crash would leave them, and restarts the process without a round.
    pub fn reopen_with(&mut self, beside: &[CarriedBlock]) {
        let mut batch = WriteBatch::default();
        for block in beside {
            let mut value = block.header.to_bytes().to_vec();
            value.extend_from_slice(&block.body_bytes());
            batch.put(Table::Side, *block.hash.as_bytes(), value);
        }
        self.store.commit(batch);
        self.reopen();
    }

    /// Gives a peer another chain.
    pub fn has(&mut self, n: usize, chain: &[CarriedBlock]) {
        self.peers.get_mut(&peer(n)).expect("connected").chain = chain.to_vec();
    }

    pub fn connect(&mut self, n: usize, chain: &[CarriedBlock], manner: Manner) {
        let chain = chain.to_vec();
        self.peers.insert(peer(n), Peer { chain, manner });
        self.tell(Event::PeerUp(peer(n)));
    }

    /// Changes the behaviour of a peer.
    pub fn behaves(&mut self, n: usize, manner: Manner) {
        self.peers.get_mut(&peer(n)).expect("connected").manner = manner;
    }

    /// Handles an event with all rounds that follow at once.
    pub fn tell(&mut self, event: Event) {
        self.core
            .handle(ChainTime::from_ms(self.now_ms), event)
            .unwrap();
        self.rounds();
    }

    /// Handles an event without a round.
    pub fn tell_only(&mut self, event: Event) {
        self.core
            .handle(ChainTime::from_ms(self.now_ms), event)
            .unwrap();
    }

    /// Handles the answers of slow peers without a round.
    pub fn deliver(&mut self) {
        for event in std::mem::take(&mut self.under_way) {
            self.tell_only(event);
        }
    }

    /// Delivers the answers of slow peers. Returns the first failure of the store.
    pub fn deliver_failing(&mut self) -> Option<StoreFailure> {
        let now = ChainTime::from_ms(self.now_ms);
        let mut events = std::mem::take(&mut self.under_way).into_iter();
        events.find_map(|event| self.core.handle(now, event).err())
    }

    /// Lets a peer announce a block, and returns the verdict.
    pub fn announce(&mut self, n: usize, block: &CarriedBlock) -> Option<Verdict> {
        let ids = block.body.iter().map(|entry| entry.transaction.id);
        let message = Gossip::Block(Announcement {
            header: block.header.clone(),
            ids: ids.collect(),
        });
        self.gossip(n, message.to_bytes())
    }

    pub fn gossip(&mut self, n: usize, bytes: Vec<u8>) -> Option<Verdict> {
        self.tickets += 1;
        let message = self.tickets;
        self.tell(Event::Gossip {
            peer: peer(n),
            message,
            bytes,
        });
        let verdict = self.verdicts.iter().find(|(of, _)| *of == message);
        verdict.map(|(_, verdict)| *verdict)
    }

    pub fn ask(&mut self, n: usize, bytes: Vec<u8>) -> Answer {
        self.tickets += 1;
        self.tell(Event::Asked {
            peer: peer(n),
            ticket: self.tickets,
            bytes,
        });
        self.answers.pop().expect("every question is answered")
    }

    /// Runs and commits one round. Returns whether it had no actions.
    pub fn round(&mut self) -> bool {
        let round = self.core.flush(ChainTime::from_ms(self.now_ms)).unwrap();
        self.batch_bytes_max = self.batch_bytes_max.max(round.batch.size_bytes());
        self.store.commit(round.batch);
        self.core.committed();
        let idle = round.actions.is_empty();
        for action in round.actions {
            self.perform(action);
        }
        idle
    }

    pub fn rounds(&mut self) {
        for _ in 0..1_000 {
            if self.round()
                && self
                    .core
                    .next_wake()
                    .is_none_or(|wake| wake.as_ms() > self.now_ms)
            {
                return;
            }
        }
        panic!("it never rests");
    }

    /// Lets time pass until a second since genesis.
    pub fn run_to(&mut self, second: u32) {
        let until = u64::from(second) * 1_000;
        loop {
            let late = self.late.iter().map(|(at, ..)| *at).min();
            let wake = self.core.next_wake().map(ChainTime::as_ms);
            let wake = wake.into_iter().chain(late).min();
            let Some(next) = wake.filter(|next| *next <= until) else {
                break;
            };
            self.now_ms = next.max(self.now_ms);
            let due: Vec<_> = self.late.extract_if(.., |(at, ..)| *at <= next).collect();
            for (_, peer, ticket) in due {
                let result = Err(RequestFailure::Late);
                let event = Event::Answered {
                    peer,
                    ticket,
                    result,
                };
                self.core
                    .handle(ChainTime::from_ms(self.now_ms), event)
                    .unwrap();
            }
            self.rounds();
        }
        self.now_ms = self.now_ms.max(until);
        self.rounds();
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Ask {
                peer,
                ticket,
                bytes,
                patience,
            } => {
                let question = Question::read(&bytes).unwrap();
                let (name, answer) = self
                    .peers
                    .get(&peer)
                    .map_or(("", None), |one| answer_of(one, &self.genesis, &question));
                self.asked.insert(name);
                let manner = self.peers.get(&peer).map(|peer| peer.manner);
                if manner == Some(Manner::Silent) {
                    return;
                }
                let (bodies, refused) = (name == "bodies", manner == Some(Manner::Refused));
                if bodies && refused {
                    let event = Event::Answered {
                        peer,
                        ticket,
                        result: Err(RequestFailure::NoRoom),
                    };
                    self.core
                        .handle(ChainTime::from_ms(self.now_ms), event)
                        .unwrap();
                    return;
                }
                let Some(answer) = answer else {
                    let late_ms = self.now_ms + whole_ms(patience);
                    self.late.push((late_ms, peer, ticket));
                    return;
                };
                let event = Event::Answered {
                    peer,
                    ticket,
                    result: Ok(answer.to_bytes()),
                };
                let is_part = name == "parents" || name == "transactions";
                let waits = match manner {
                    Some(Manner::Slow) => true,
                    Some(Manner::Useless | Manner::Drips) => is_part,
                    _ => false,
                };
                if waits {
                    self.under_way.push(event);
                    return;
                }
                self.core
                    .handle(ChainTime::from_ms(self.now_ms), event)
                    .unwrap();
            }
            Action::Answer { bytes, .. } => self.answers.push(Answer::read(&bytes).unwrap()),
            Action::Verdict { message, verdict } => self.verdicts.push((message, verdict)),
            Action::Penalise { reason, .. } => self.penalties.push(reason),
            Action::Disconnect { peer, .. } => self.disconnected.push(peer),
            Action::Notice(notice) => self.notices.push(*notice),
            Action::Submitted { outcomes, .. } => self.outcomes.extend(outcomes),
            Action::Done { outcome, .. } => self.orders.push(outcome),
            Action::Gossip(bytes) => self.gossip.push(Gossip::read(&bytes).unwrap()),
        }
    }

    pub fn tip(&self) -> Hash {
        self.core.overlay().tip().hash
    }

    pub fn height(&self) -> u32 {
        self.core.overlay().tip().height.get()
    }
}

/// Returns the answer of a peer with this chain, or `None` if it does not answer.
fn answer_of(
    peer: &Peer,
    genesis: &Genesis,
    question: &Question,
) -> (&'static str, Option<Answer>) {
    let find = |hash: &Hash| peer.chain.iter().find(|block| block.hash == *hash);
    let parts_max = match peer.manner {
        Manner::Drips => 1,
        _ => usize::MAX,
    };
    match question {
        Question::Status(_) if peer.manner == Manner::Boasts => {
            let status = Status {
                height: Height::new(10_000),
                tip: Hash::plain(b"best"),
                difficulty: u128::MAX / 2,
            };
            ("status", Some(Answer::Status(status)))
        }
        Question::Status(_) => {
            let nothing = Status {
                height: Height::GENESIS,
                tip: genesis.hash,
                difficulty: 0,
            };
            let status = peer.chain.last().map_or(nothing, |tip| Status {
                height: tip.header.height,
                tip: tip.hash,
                difficulty: tip.header.difficulty,
            });
            ("status", Some(Answer::Status(status)))
        }
        Question::Headers { locator } => {
            let place = |hash: &Hash| {
                if *hash == genesis.hash {
                    return Some(0);
                }
                let at = peer.chain.iter().position(|block| block.hash == *hash)?;
                Some(at + 1)
            };
            let found = locator.iter().find_map(|hash| Some((*hash, place(hash)?)));
            let (common, from) = found.unwrap_or((Hash::ZERO, peer.chain.len()));
            let headers = peer.chain[from..].iter().map(|block| block.header.clone());
            let headers = headers.collect();
            ("headers", Some(Answer::Headers { common, headers }))
        }
        Question::Bodies(_) if peer.manner == Manner::WithholdsBodies => ("bodies", None),
        Question::Bodies(hashes)
            if peer.manner == Manner::WithholdsLastBody
                && peer
                    .chain
                    .last()
                    .is_some_and(|last| hashes.contains(&last.hash)) =>
        {
            ("bodies", None)
        }
        Question::Bodies(_) if peer.manner == Manner::Busy => ("bodies", Some(Answer::Busy)),
        Question::Bodies(hashes) => {
            let bodies = hashes.iter().map_while(find);
            let bodies = bodies.map(CarriedBlock::body_bytes).collect();
            ("bodies", Some(Answer::Bodies(bodies)))
        }
        Question::Parents { .. } if peer.manner == Manner::WithholdsBodies => ("parents", None),
        Question::Parents { .. } if peer.manner == Manner::Useless => {
            let (transaction, ids) = (payment(5, 77), Vec::new());
            let listed = vec![Listed { transaction, ids }];
            ("parents", Some(Answer::Parents(listed)))
        }
        Question::Parents { block, ids } => {
            let body = find(block).map(|block| block.body.clone());
            let listed = body.unwrap_or_default().into_iter().filter_map(|entry| {
                ids.contains(&entry.transaction.id).then(|| Listed {
                    transaction: entry.transaction.transaction.clone(),
                    ids: entry.children.iter().map(|child| child.id).collect(),
                })
            });
            let listed = listed.take(parts_max).collect();
            ("parents", Some(Answer::Parents(listed)))
        }
        Question::Transactions { .. } if peer.manner == Manner::Useless => {
            let useless = vec![payment(5, 77)];
            ("transactions", Some(Answer::Transactions(useless)))
        }
        Question::Transactions { block, ids } => {
            let all = find(block)
                .into_iter()
                .flat_map(|block| block.transactions());
            let found = all.filter(|carried| ids.contains(&carried.id));
            let found = found.map(|carried| carried.transaction.clone());
            let found = found.take(parts_max).collect();
            ("transactions", Some(Answer::Transactions(found)))
        }
        Question::PoolIds { .. } => ("pool ids", Some(Answer::PoolIds(Vec::new()))),
    }
}
