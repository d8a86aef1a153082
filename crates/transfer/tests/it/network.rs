//! Whole transfers: a few machines with disks of their own, over a network that loses, delays, cuts and lies.

use std::collections::{BTreeMap, VecDeque};

use ledger::PartyId;
use primitives::Hash;
use proptest::prelude::*;
use transfer::{Action, Event, Failure, Offer, Options, Transfers};

use crate::table::{peer, transaction};

/// Steps after which a transfer counts as stuck.
const STEPS_MAX: usize = 200_000;

#[derive(Clone, Debug)]
struct Plan {
    sizes: Vec<u16>,
    /// Messages lost of every hundred.
    losses: u8,
    /// At which steps a connection is cut.
    cuts: Vec<u16>,
    /// At which steps a node dies and comes back with its disk.
    crashes: Vec<(u8, u16)>,
    /// Which of the files a sender lies about.
    lies: Vec<u8>,
    bandwidth: u16,
    seed: u64,
}

/// A node: its machine, its files, and the parts of files that it fetches.
struct Node {
    machine: Transfers,
    has: BTreeMap<Hash, Vec<u8>>,
    parts: BTreeMap<Hash, Vec<u8>>,
    /// Answers that the disk still owes, in order.
    disk: VecDeque<Event>,
    ended: BTreeMap<Hash, Result<Vec<u8>, Failure>>,
    sent_bytes: u64,
}

struct World {
    nodes: Vec<Node>,
    links: BTreeMap<(usize, usize), VecDeque<Vec<u8>>>,
    up: BTreeMap<(usize, usize), bool>,
    options: Options,
    now: u64,
    rng: u64,
    losses: u64,
    liars: Vec<Hash>,
}

fn options(bandwidth: u16) -> Options {
    Options {
        memory_bytes: 600,
        peer_bytes: 400,
        file_bytes: 300,
        chunk_bytes: 50,
        at_once: 6,
        at_once_per_peer: 4,
        down_bytes_per_s: u64::from(bandwidth),
        up_bytes_per_s: 0,
        silence_ms: 200,
        away_ms: 100_000,
    }
}

fn content(number: usize, size: u16) -> Vec<u8> {
    (0..size)
        .map(|at| (at as usize * 31 + number * 7) as u8)
        .collect()
}

fn number(id: &PartyId) -> usize {
    usize::from(id.as_bytes()[0])
}

impl World {
    fn new(plan: &Plan) -> Self {
        let options = options(plan.bandwidth);
        let node = |_| Node {
            machine: Transfers::new(options.clone()),
            has: BTreeMap::new(),
            parts: BTreeMap::new(),
            disk: VecDeque::new(),
            ended: BTreeMap::new(),
            sent_bytes: 0,
        };
        Self {
            nodes: (0..3).map(node).collect(),
            links: BTreeMap::new(),
            up: BTreeMap::new(),
            options,
            now: 0,
            rng: plan.seed | 1,
            losses: u64::from(plan.losses),
            liars: Vec::new(),
        }
    }

    fn chance(&mut self, of: u64) -> u64 {
        // xorshift64: the world's own, so that a seed tells all.
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        self.rng % of
    }

    fn give(&mut self, to: usize, event: Event) {
        let mut actions = Vec::new();
        let node = &mut self.nodes[to];
        node.machine.handle(self.now, event, &mut actions);
        node.machine.flush(self.now, &mut actions);
        let figures = node.machine.figures();
        let heads = 64 * (self.options.memory_bytes / u64::from(self.options.chunk_bytes) + 3);
        assert!(
            figures.memory_in <= self.options.memory_bytes,
            "{figures:?}"
        );
        assert!(
            figures.memory_out <= self.options.memory_bytes + 3 * 50 + heads,
            "{figures:?}"
        );
        assert!(figures.moving <= self.options.at_once as u64);
        for action in actions {
            self.perform(to, action);
        }
    }

    fn perform(&mut self, of: usize, action: Action) {
        let up = |world: &Self, to: usize| world.up.get(&(of, to)).copied().unwrap_or(false);
        let node = &mut self.nodes[of];
        match action {
            Action::Send { peer, bytes } => {
                let to = number(&peer);
                let lost = self.chance(100) < self.losses;
                if up(self, to) && !lost {
                    self.nodes[of].sent_bytes += bytes.len() as u64;
                    self.links.entry((of, to)).or_default().push_back(bytes);
                }
            }
            Action::Permit { peer, hash, .. } => {
                let offer = node.has.get(&hash).map(|bytes| Offer {
                    size: bytes.len() as u64,
                    name: None,
                    media_type: None,
                });
                node.disk.push_back(Event::Permitted { peer, hash, offer });
            }
            Action::Open { hash } => {
                let have = node.parts.entry(hash).or_default().len() as u64;
                node.disk.push_back(Event::Opened { hash, have });
            }
            Action::Write {
                hash,
                offset,
                bytes,
            } => {
                let part = node.parts.get_mut(&hash).expect("it is open");
                assert_eq!(part.len() as u64, offset, "no gaps, nothing twice");
                part.extend_from_slice(&bytes);
                let (upto, bytes) = (part.len() as u64, bytes.len() as u64);
                node.disk.push_back(Event::Wrote { hash, upto, bytes });
            }
            Action::Close { hash, discard } => {
                if discard {
                    node.parts.remove(&hash);
                }
            }
            Action::Publish { hash, size } => {
                let part = node.parts.remove(&hash).expect("it is open");
                assert_eq!(part.len() as u64, size);
                let event = if Hash::plain(&part) == hash {
                    node.has.insert(hash, part);
                    Event::Published { hash, size }
                } else {
                    Event::Mismatched { hash }
                };
                node.disk.push_back(event);
            }
            Action::Read {
                peer,
                hash,
                offset,
                length,
                head,
            } => {
                let bytes = &node.has[&hash];
                let (from, count) = (offset as usize, length as usize);
                let mut message = head;
                message.extend_from_slice(&bytes[from..from + count]);
                let length = u64::from(length);
                node.disk.push_back(Event::Read {
                    peer,
                    hash,
                    length,
                    message,
                });
            }
            Action::Gauge { peer } => {
                let waiting = self.links.get(&(of, number(&peer)));
                let bytes = waiting.map_or(0, |link| link.iter().map(Vec::len).sum::<usize>());
                let bytes = bytes as u64;
                self.nodes[of].disk.push_back(Event::Queued { peer, bytes });
            }
            Action::Arrived { hash, size, .. } => {
                let bytes = node.has[&hash].clone();
                assert_eq!(bytes.len() as u64, size);
                node.ended.insert(hash, Ok(bytes));
            }
            Action::Failed {
                hash,
                peer,
                failure,
            } => {
                if failure == Failure::Gone {
                    // As a kernel does that still needs it.
                    node.disk.push_back(wish(hash, peer));
                } else {
                    node.ended.insert(hash, Err(failure));
                }
            }
            Action::Offered { .. } => {}
            Action::Fault { peer, fault } => panic!("{peer} is honest in form: {fault:?}"),
        }
    }

    fn connect(&mut self, a: usize, b: usize, up: bool) {
        for (from, to) in [(a, b), (b, a)] {
            self.links.remove(&(from, to));
            self.up.insert((from, to), up);
        }
        for (of, other) in [(a, b), (b, a)] {
            let peer = peer(other as u8);
            let event = if up {
                Event::PeerUp { peer }
            } else {
                Event::PeerDown { peer }
            };
            self.give(of, event);
        }
    }

    /// Crashes a node: its machine forgets everything, its disk only the operations that it has not answered.
    fn crash(&mut self, of: usize) {
        for other in 0..3 {
            if other != of && self.up.get(&(of, other)).copied().unwrap_or(false) {
                self.connect(of, other, false);
            }
        }
        let node = &mut self.nodes[of];
        node.machine = Transfers::new(self.options.clone());
        node.disk.clear();
    }

    /// One thing happens. False if nothing is left but to wait.
    fn step(&mut self) -> bool {
        let links: Vec<(usize, usize)> = self
            .links
            .iter()
            .filter_map(|(link, queue)| (!queue.is_empty()).then_some(*link))
            .collect();
        let disks: Vec<usize> = (0..3).filter(|n| !self.nodes[*n].disk.is_empty()).collect();
        let choices = (links.len() + disks.len()) as u64;
        if choices == 0 {
            return false;
        }
        let choice = self.chance(choices) as usize;
        if let Some((from, to)) = links.get(choice).copied() {
            let queue = self.links.get_mut(&(from, to)).expect("chosen");
            let bytes = queue.pop_front().expect("not empty");
            let peer = peer(from as u8);
            self.give(to, Event::Message { peer, bytes });
        } else {
            let of = disks[choice - links.len()];
            let event = self.nodes[of].disk.pop_front().expect("not empty");
            self.give(of, event);
        }
        true
    }

    fn wait(&mut self) {
        let wakeups = self
            .nodes
            .iter()
            .filter_map(|node| node.machine.next_wakeup());
        let at = wakeups.min().unwrap_or(self.now).max(self.now + 1);
        self.now = at;
        for of in 0..3 {
            self.give(of, Event::Tick);
        }
    }
}

fn wish(hash: Hash, peer: PartyId) -> Event {
    Event::Fetch {
        hash,
        peer,
        transaction: transaction(),
        size_max: 1 << 20,
    }
}

/// Nodes 1 and 2 fetch everything from node 0. Returns the bytes that node 0 sent, and those of the files.
fn play(plan: &Plan) -> (u64, u64) {
    let bytes: u64 = plan.sizes.iter().map(|size| u64::from(*size)).sum();
    (played(plan).nodes[0].sent_bytes, bytes)
}

/// The same; the world as it is when everything has ended.
fn played(plan: &Plan) -> World {
    let mut world = World::new(plan);
    let mut wanted = BTreeMap::new();
    for (at, size) in plan.sizes.iter().enumerate() {
        let bytes = content(at, *size);
        let hash = Hash::plain(&bytes);
        let mut stored = bytes.clone();
        // A sender that lies: other bytes, or fewer, or more.
        if plan.lies.contains(&(at as u8)) {
            match at % 3 {
                0 => stored.iter_mut().for_each(|byte| *byte ^= 1),
                1 => stored.truncate(stored.len() / 2),
                _ => stored.push(0),
            }
            if stored != bytes {
                world.liars.push(hash);
            }
        }
        world.nodes[0].has.insert(hash, stored);
        wanted.insert(hash, bytes);
    }
    world.connect(0, 1, true);
    world.connect(0, 2, true);
    for of in [1, 2] {
        for hash in wanted.keys() {
            world.give(of, wish(*hash, peer(0)));
        }
    }
    let mut steps = 0;
    let mut back: Vec<(usize, usize)> = Vec::new();
    while world.nodes[1..]
        .iter()
        .any(|node| node.ended.len() < wanted.len())
    {
        steps += 1;
        assert!(steps < STEPS_MAX, "stuck: {plan:?}");
        for (a, b) in std::mem::take(&mut back) {
            world.connect(a, b, true);
        }
        if plan.cuts.iter().any(|at| usize::from(*at) == steps) {
            let other = 1 + steps % 2;
            world.connect(0, other, false);
            back.push((0, other));
        }
        for (which, _) in plan
            .crashes
            .iter()
            .filter(|(_, at)| usize::from(*at) == steps)
        {
            let which = usize::from(*which % 3);
            world.crash(which);
            for other in 1..3 {
                back.push((0, other));
            }
            if which > 0 {
                let left: Vec<Hash> = wanted
                    .keys()
                    .filter(|hash| !world.nodes[which].ended.contains_key(hash))
                    .copied()
                    .collect();
                for hash in left {
                    // A file that was published but not reported is found when it is opened again.
                    match world.nodes[which].has.get(&hash).cloned() {
                        Some(bytes) => drop(world.nodes[which].ended.insert(hash, Ok(bytes))),
                        None => world.give(which, wish(hash, peer(0))),
                    }
                }
            }
        }
        if !world.step() {
            world.wait();
        }
    }
    for node in &world.nodes[1..] {
        for (hash, ended) in &node.ended {
            let lied = world.liars.contains(hash);
            match ended {
                Ok(bytes) => assert!(!lied && *bytes == wanted[hash]),
                Err(failure) => assert!(lied && *failure == Failure::Mismatch, "{failure:?}"),
            }
        }
        assert_eq!(node.machine.figures().fetches, 0);
    }
    world
}

fn plans() -> impl Strategy<Value = Plan> {
    (
        prop::collection::vec(0..2_000u16, 1..9),
        0..20u8,
        prop::collection::vec(1..3_000u16, 0..6),
        prop::collection::vec((0..3u8, 1..3_000u16), 0..4),
        prop::collection::vec(0..8u8, 0..3),
        prop_oneof![Just(0u16), 2_000..20_000u16],
        any::<u64>(),
    )
        .prop_map(
            |(sizes, losses, cuts, crashes, lies, bandwidth, seed)| Plan {
                sizes,
                losses,
                cuts,
                crashes,
                lies,
                bandwidth,
                seed,
            },
        )
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn what_arrives_is_right_budgets_hold_and_nothing_is_stuck(plan in plans()) {
        play(&plan);
    }
}

#[test]
fn over_a_network_without_faults_every_byte_goes_once() {
    let plan = Plan {
        sizes: vec![1_999, 1_000, 700, 5, 0, 1_500],
        losses: 0,
        cuts: Vec::new(),
        crashes: Vec::new(),
        lies: Vec::new(),
        bandwidth: 0,
        seed: 42,
    };
    let (sent, bytes) = play(&plan);
    // Two nodes fetch. A message of 50 bytes has a head of at most 64 bytes more; an offer has at most 64.
    let chunks = 2 * bytes.div_ceil(50) + 2 * 6;
    assert!(
        sent >= 2 * bytes && sent <= 2 * bytes + (chunks + 12) * 64,
        "{sent} of {bytes}"
    );
}

#[test]
fn many_files_at_once_wait_for_no_timer() {
    let plan = Plan {
        sizes: (1..=200).collect(),
        losses: 0,
        cuts: Vec::new(),
        crashes: Vec::new(),
        lies: Vec::new(),
        bandwidth: 0,
        seed: 11,
    };
    let world = played(&plan);
    for node in &world.nodes {
        let figures = node.machine.figures();
        assert_eq!((figures.asked_again, figures.refused), (0, 0));
    }
}

#[test]
fn after_a_cut_only_what_is_missing_goes_again() {
    let plan = Plan {
        sizes: vec![2_000],
        losses: 0,
        cuts: vec![100, 150, 200],
        crashes: vec![(1, 120)],
        lies: Vec::new(),
        bandwidth: 0,
        seed: 7,
    };
    let (sent, bytes) = play(&plan);
    assert!(sent < 2 * (bytes + bytes) + 8_000, "{sent} of {bytes}");
}
