//! A test network of kernels in one thread: instant network, instant disk, and no faults except those that a test plants. It serves tests
//! of the exchanges between kernels; random faults are left to the simulator.

mod alarms;
mod asked;
mod deeds;
mod disk;
mod files;
mod flows;
mod forgers;
mod late;
mod papers;
mod performed;
mod robbers;
mod scripted;
mod shaky;
mod swaps;
mod transactions;

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flow::{FlowId, FlowLimits};
use kernel::files::FileOffer;
use kernel::folder::{FolderContents, FolderRecord, FolderReport};
use kernel::message::{PeerMessage, Standing};
use kernel::{Event, Identity, Kernel, KernelOptions, OpenError, Reply, Start, Token, Wait};
use ledger::{
    ContractRegistry, NetworkMap, NetworkParameters, NodeInfo, NotaryInfo, Party, PartyId,
};
use notary::{NotaryKind, NotaryOptions};
use primitives::{Encode, Hash, KeyPair, Moment, Monotonic, Scheme, Seed, Timestamp};

pub use deeds::{bond_code, deed_code, deed_name};
pub use disk::Disk;
pub use files::{NodeFiles, TransferBehaviour};
pub use flows::{CODE_CHANGED, RING_MISSING, SWAPS_OF_VERSION_1, TROUBLE, Trouble, name};
pub use performed::{Crash, Last, Scheduled};
pub use robbers::{PREY, ROBBER};
pub use scripted::{part, waits};
pub use shaky::{FALL, Fall, POLLS, SHAKY};
pub use transactions::badly_signed;

/// Wall-clock time of a test network, in milliseconds, when its monotonic clocks start.
const BEGINNING_MS: u64 = 1_000_000;
/// The maximum message size, unless a test sets another one, in bytes.
const MESSAGE_BYTES: u64 = 10 << 20;

/// One node.
pub struct TestNode {
    pub id: PartyId,
    pub party: Party,
    pub kernel: Option<Kernel>,
    pub disk: Disk,
    pub view: BTreeMap<ledger::StateRef, vault::Produced>,
    /// The consumed states.
    pub gone: std::collections::BTreeSet<ledger::StateRef>,
    /// The states in quarantine, as reported to the view.
    pub quarantined: std::collections::BTreeSet<ledger::StateRef>,
    pub view_seq: u64,
    /// Commits handed out since the test network was built.
    pub commits: u64,
    /// The contents of its folder, apart from the store.
    pub contents: FolderContents,
    /// The losses that its latest start found.
    pub report: FolderReport,
    /// The epoch of its store.
    pub epoch: u64,
    /// The files on its disk, and how it deals with them.
    pub files: NodeFiles,
    /// The offset of its clock in milliseconds; negative if behind.
    pub clock_off_ms: i64,
    /// The messages sent to the node while the test scripts it.
    heard: Option<Vec<kernel::message::PeerMessage>>,
    /// Whether it answers questions for its clock with the test network's time while the test scripts it.
    pub tells_time: bool,
}

/// A simulated network of nodes.
pub struct Testnet {
    pub nodes: Vec<TestNode>,
    /// The true time of day, in milliseconds.
    pub now: u64,
    pub replies: BTreeMap<u64, Reply>,
    /// Flows that a client starts when it gets the reply with this token: the node, the flow and its arguments. They run as far
    /// as they can before the node learns that the commit behind the reply is durable.
    pub follow_ups: BTreeMap<u64, (usize, &'static str, String)>,
    /// The node that does not learn yet of its durable commits, and their numbers.
    late_commits: Option<(usize, Vec<u64>)>,
    pub logs: Vec<String>,
    /// Flows that were started for states, and refusals of those that were not, as the nodes tell it.
    pub scheduled: Vec<Scheduled>,
    /// Crashes that will happen.
    pub crashes: Vec<Crash>,
    /// Nodes that have reported that they are drained, in order.
    pub drained: Vec<usize>,
    /// Peers that nodes cut off, and for how many milliseconds.
    pub cut_off: Vec<(usize, PartyId, u64)>,
    /// Options of the nodes.
    pub options: KernelOptions,
    /// Options of the notaries, except for their kind.
    pub notary: NotaryOptions,
    /// Nodes whose program has no contract but those that all have.
    pub plain: std::collections::BTreeSet<usize>,
    pub network: Arc<NetworkMap>,
    /// Requests for files: the requesting node, the requested node, the file.
    pub fetched: Vec<(usize, usize, Hash)>,
    /// Answers to them: the answering node, the requesting node, the file, and the offer if there is one.
    pub permits: Vec<(usize, usize, Hash, Option<FileOffer>)>,
    /// Answers of the threads beside the rounds, if a test delays them.
    pub delayed_answers: Option<Vec<(usize, Event)>>,
    mail: VecDeque<(usize, Event)>,
    next: u64,
    salt: Cell<u64>,
}

/// Returns a node's key.
pub fn key(node: usize) -> KeyPair {
    let seed = u8::try_from(node + 1).expect("few nodes");
    KeyPair::from_seed(Scheme::Ed25519, [seed; 32])
}

fn contracts() -> ContractRegistry {
    let mut contracts = ContractRegistry::new();
    finance::register_contracts(&mut contracts).expect("built-in contracts");
    deeds::register(&mut contracts);
    contracts
        .register(Arc::new(alarms::AlarmContract))
        .expect("another contract");
    contracts
}

fn plain_contracts() -> ContractRegistry {
    let mut contracts = ContractRegistry::new();
    finance::register_contracts(&mut contracts).expect("built-in contracts");
    contracts
}

impl Testnet {
    /// Builds a test network with a notary that does not validate (node 0) and this many other nodes, all running.
    pub fn new(others: u8) -> Testnet {
        Testnet::with(others, false, KernelOptions::default())
    }

    /// Like [`Testnet::with`], with a maximum message size.
    pub fn with_messages(others: u8, validating: bool, bytes_max: u64) -> Testnet {
        Testnet::assemble(
            others,
            &[0],
            validating,
            KernelOptions::default(),
            bytes_max,
        )
    }

    /// Builds a test network with two notaries (node 0 and the last one), which may validate, and this many other nodes between them, all
    /// running.
    pub fn with_two_notaries(others: u8, validating: bool, options: KernelOptions) -> Testnet {
        Testnet::assemble(
            others + 1,
            &[0, others + 1],
            validating,
            options,
            MESSAGE_BYTES,
        )
    }

    /// Builds a test network with a notary (node 0), which may validate, and this many other nodes, all running.
    pub fn with(others: u8, validating: bool, options: KernelOptions) -> Testnet {
        Testnet::assemble(others, &[0], validating, options, MESSAGE_BYTES)
    }

    fn assemble(
        others: u8,
        notaries: &[u8],
        validating: bool,
        options: KernelOptions,
        message_bytes: u64,
    ) -> Testnet {
        let mut options = options;
        if options.flow.responder_idle_ms == FlowLimits::default().responder_idle_ms {
            // The time until the test network is quiet must not count as a party's silence.
            options.flow.responder_idle_ms = u64::MAX;
        }
        let party = |node: u8| Party {
            name: flows::name(node.into()),
            key: key(node.into()).public().clone(),
        };
        let parties: Vec<Party> = (0..=others).map(party).collect();
        let infos = (0..=others).zip(&parties).map(|(i, party)| NodeInfo {
            party: party.clone(),
            addresses: vec!["localhost:1".to_owned()],
            platform_version: 1,
            serial: 1,
            notary: notaries
                .contains(&i)
                .then(|| NotaryInfo::single(validating)),
        });
        let named = notaries.iter().map(|i| parties[usize::from(*i)].clone());
        let mut parameters = NetworkParameters::new(named.collect(), Timestamp::from_ms(1));
        parameters.max_message_bytes = message_bytes;
        let network = Arc::new(NetworkMap::new(parameters, infos));
        let nodes = parties.iter().map(|party| TestNode {
            id: party.id(),
            party: party.clone(),
            kernel: None,
            disk: Disk::default(),
            view: BTreeMap::new(),
            gone: Default::default(),
            quarantined: Default::default(),
            view_seq: 0,
            commits: 0,
            contents: FolderContents::default(),
            report: FolderReport::default(),
            epoch: 0,
            files: NodeFiles::default(),
            clock_off_ms: 0,
            heard: None,
            tells_time: true,
        });
        let mut net = Testnet {
            nodes: nodes.collect(),
            now: BEGINNING_MS,
            replies: BTreeMap::new(),
            follow_ups: BTreeMap::new(),
            late_commits: None,
            logs: Vec::new(),
            scheduled: Vec::new(),
            crashes: Vec::new(),
            drained: Vec::new(),
            cut_off: Vec::new(),
            options,
            notary: NotaryOptions::default(),
            plain: Default::default(),
            network,
            fetched: Vec::new(),
            permits: Vec::new(),
            delayed_answers: None,
            mail: VecDeque::new(),
            next: 1,
            salt: Cell::new(0),
        };
        for node in 0..net.nodes.len() {
            net.up(node);
        }
        net
    }

    /// Starts a node on its disk.
    pub fn up(&mut self, node: usize) {
        self.try_up(node).expect("opens");
    }

    /// The same, for a node that may not start.
    pub fn try_up(&mut self, node: usize) -> Result<(), OpenError> {
        self.rebuild_view(node);
        let one = &self.nodes[node];
        let identity = Identity {
            me: one.party.clone(),
            keys: vec![key(node)],
            service: None,
            network: Arc::clone(&self.network),
            contracts: Arc::new(match self.plain.contains(&node) {
                true => plain_contracts(),
                false => contracts(),
            }),
            flows: Arc::new(match (ROBBER.get(), SHAKY.get()) {
                (true, _) => robbers::registry(),
                (_, true) => shaky::registry(),
                _ => flows::registry(),
            }),
        };
        let entropy = Hash::plain(&[self.next.to_be_bytes(), one.commits.to_be_bytes()].concat());
        let options = KernelOptions {
            entropy: Seed::new(*entropy.as_bytes()),
            notary: self
                .network
                .is_notary(&one.id)
                .then(|| self.notary_options()),
            ..self.options.clone()
        };
        let mut out = Vec::new();
        let now = self.moment(node);
        let folder = FolderRecord::compare(&one.contents, &identity, &options.entropy, &one.disk);
        let (folder, rows) = folder?;
        one.disk.write(rows);
        self.nodes[node].epoch = folder.epoch();
        self.nodes[node].report = folder.report().clone();
        let disk = &self.nodes[node].disk;
        let kernel = Kernel::open(options, identity, folder, disk, now, &mut out)?;
        self.nodes[node].heard = None;
        self.nodes[node].kernel = Some(kernel);
        self.perform(node, out);
        for other in 0..self.nodes.len() {
            if other != node && self.nodes[other].kernel.is_some() {
                self.link(node, other);
                self.link(other, node);
            }
        }
        Ok(())
    }

    fn notary_options(&self) -> NotaryOptions {
        let info = self.network.node(&self.nodes[0].id);
        let validates = info
            .and_then(|info| info.notary.as_ref())
            .is_some_and(|n| n.validating);
        NotaryOptions {
            kind: match validates {
                true => NotaryKind::Validating,
                false => NotaryKind::NonValidating,
            },
            ..self.notary
        }
    }

    /// Connects a node to another one.
    pub fn link(&mut self, node: usize, other: usize) {
        let (peer, epoch) = (self.nodes[other].id, self.nodes[other].epoch);
        self.mail.push_back((node, Event::PeerUp { peer, epoch }));
        if self.nodes[other].heard.is_some() {
            // A scripted node agrees with everything, unless a test says otherwise.
            let bytes = PeerMessage::Standing(Standing::default()).to_bytes();
            self.mail.push_back((node, Event::Message { peer, bytes }));
        }
    }

    /// Stops a node as a crash does.
    pub fn down(&mut self, node: usize) {
        self.nodes[node].kernel = None;
        let me = self.nodes[node].id;
        self.mail.retain(|(to, _)| *to != node);
        for other in 0..self.nodes.len() {
            if other != node {
                self.mail.push_back((other, Event::PeerDown { peer: me }));
            }
        }
    }

    /// Starts a flow with JSON arguments. The reply arrives under the returned number. If there is a client id, the flow's
    /// randomness depends on it.
    pub fn start(&mut self, node: usize, flow: &str, args: &str, client_id: Option<&str>) -> u64 {
        self.start_and_wait(node, flow, args, client_id, Wait::Delivered)
    }

    /// Starts a flow and waits for the stage `wait`.
    pub fn start_and_wait(
        &mut self,
        node: usize,
        flow: &str,
        args: &str,
        client_id: Option<&str>,
        wait: Wait,
    ) -> u64 {
        self.start_version(node, flow, None, args, client_id, wait)
    }

    /// Starts a flow in a version, the newest if none is named.
    pub fn start_version(
        &mut self,
        node: usize,
        flow: &str,
        version: Option<u32>,
        args: &str,
        client_id: Option<&str>,
        wait: Wait,
    ) -> u64 {
        let token = self.token();
        let newest = flows::registry().current_version(flow).expect("a flow");
        let encoded_for = version.unwrap_or(newest);
        let args = flows::registry()
            .args_from_json(flow, encoded_for, args.as_bytes())
            .expect("arguments");
        let seed = match client_id {
            Some(client_id) => Hash::plain(client_id.as_bytes()),
            None => Hash::plain(&token.to_be_bytes()),
        };
        let start = Start {
            flow: Testnet::flow_id(token),
            seed: Seed::new(*seed.as_bytes()),
            name: flow.to_owned(),
            version,
            args,
            user: "tester".to_owned(),
            client_id: client_id.map(str::to_owned),
            wait,
            token: Token(token),
        };
        self.tell(node, Event::Start(Box::new(start)));
        token
    }

    /// Returns the id of the flow that was started under a token.
    pub fn flow_id(token: u64) -> FlowId {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&token.to_be_bytes());
        FlowId(id)
    }

    /// Returns a new token for a reply.
    pub fn token(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Queues an event for a node.
    pub fn tell(&mut self, node: usize, event: Event) {
        self.mail.push_back((node, event));
    }

    /// Runs until no event is left.
    pub fn settle(&mut self) {
        loop {
            let mut rounds = BTreeMap::<usize, Vec<Event>>::new();
            while let Some((node, event)) = self.mail.pop_front() {
                rounds.entry(node).or_default().push(event);
            }
            for node in 0..self.nodes.len() {
                if self.wakeup(node).is_some_and(|at| at <= self.now) {
                    rounds.entry(node).or_default().push(Event::Tick);
                }
            }
            if rounds.is_empty() {
                return;
            }
            for (node, events) in rounds {
                self.round(node, events);
            }
        }
    }

    /// Lets time pass until no work and no timer is pending.
    pub fn quiet(&mut self) {
        for _ in 0..1_000 {
            self.settle();
            let next = (0..self.nodes.len()).filter_map(|node| self.wakeup(node));
            match next.min() {
                Some(at) => self.now = self.now.max(at),
                None => return,
            }
        }
        panic!("the net never rests; logs: {:#?}", self.logs);
    }

    /// Lets `ms` milliseconds pass and performs the work that becomes due meanwhile.
    pub fn quiet_for(&mut self, ms: u64) {
        let end = self.now + ms;
        loop {
            self.settle();
            let next = (0..self.nodes.len()).filter_map(|node| self.wakeup(node));
            match next.min().filter(|at| *at <= end) {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
        }
        self.now = end;
        self.settle();
    }

    fn wakeup(&self, node: usize) -> Option<u64> {
        let kernel = self.nodes[node].kernel.as_ref()?;
        let at = kernel.next_wakeup()?;
        Some(BEGINNING_MS.saturating_add(at.as_ms()))
    }

    /// Returns the time on a node's clocks.
    pub fn moment(&self, node: usize) -> Moment {
        let wall = self.now.checked_add_signed(self.nodes[node].clock_off_ms);
        Moment::new(
            Monotonic::from_ms(self.now - BEGINNING_MS),
            Timestamp::from_ms(wall.expect("a time")),
        )
    }

    fn round(&mut self, node: usize, events: Vec<Event>) {
        let now = self.moment(node);
        let mut out = Vec::new();
        let one = &mut self.nodes[node];
        let Some(kernel) = &mut one.kernel else {
            return;
        };
        for event in events {
            kernel
                .handle(event, now, &one.disk)
                .expect("the disk reads");
        }
        kernel
            .flush(now, &one.disk, &mut out)
            .expect("the disk reads");
        self.perform(node, out);
    }
}
