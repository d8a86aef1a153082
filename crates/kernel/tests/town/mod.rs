//! A town of kernels in one thread: instant network, instant disk, no faults. For tests of what kernels do with each other
//! when nothing goes wrong; the simulator is for everything else.

#![allow(dead_code)] // each test uses its part

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flow::{FlowId, FlowRegistry};
use kernel::port::{Reads, StoreFailure, Table, WriteBatch};
use kernel::{Action, Event, Identity, Kernel, KernelOptions, Reply, Start, Token, Wait};
use ledger::{
    ContractRegistry, NetworkMap, NetworkParameters, NodeInfo, NotaryInfo, Party, PartyId,
};
use primitives::{KeyPair, Scheme, Timestamp};
use vault::{CoinRow, RefillRequest, ViewChange};

type Rows = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// A disk of rows.
#[derive(Default)]
pub struct Disk {
    rows: RefCell<Rows>,
}

impl Disk {
    fn write(&self, batch: WriteBatch) {
        let mut rows = self.rows.borrow_mut();
        for write in batch.writes {
            match write.value {
                Some(value) => drop(rows.insert((write.table, write.key), value)),
                None => drop(rows.remove(&(write.table, write.key))),
            }
        }
    }

    /// How many rows a table has.
    pub fn count(&self, table: Table) -> usize {
        self.rows
            .borrow()
            .keys()
            .filter(|(t, _)| *t == table)
            .count()
    }
}

impl Reads for Disk {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        Ok(self.rows.borrow().get(&(table, key.to_vec())).cloned())
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        let rows = self.rows.borrow();
        let found = rows
            .range((table, from.to_vec())..)
            .take_while(|((t, key), _)| *t == table && to.is_none_or(|to| key.as_slice() < to));
        Ok(found
            .take(limit)
            .map(|((_, k), v)| (k.clone(), v.clone()))
            .collect())
    }

    fn last(&self, table: Table) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        let rows = self.rows.borrow();
        let mut found = rows
            .range((table, Vec::new())..)
            .take_while(|((t, _), _)| *t == table);
        Ok(found
            .by_ref()
            .last()
            .map(|((_, k), v)| (k.clone(), v.clone())))
    }
}

/// One node.
pub struct Citizen {
    pub id: PartyId,
    pub party: Party,
    pub kernel: Option<Kernel>,
    pub disk: Disk,
    pub view: BTreeMap<ledger::StateRef, vault::Produced>,
    pub view_seq: u64,
    seed: u8,
}

/// All of them.
pub struct Town {
    pub nodes: Vec<Citizen>,
    pub now: u64,
    pub replies: BTreeMap<u64, Reply>,
    pub logs: Vec<String>,
    mail: VecDeque<(usize, Event)>,
    next: u64,
    pub network: Arc<NetworkMap>,
}

fn key(seed: u8) -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [seed; 32])
}

impl Town {
    /// A notary (node 0) and so many others, all up.
    pub fn new(others: u8) -> Town {
        let parties: Vec<Party> = (0..=others)
            .map(|seed| {
                let name = format!("O=Node {seed}, L=London, C=GB")
                    .parse()
                    .expect("a legal name");
                Party {
                    name,
                    key: key(seed + 1).public().clone(),
                }
            })
            .collect();
        let infos = parties.iter().enumerate().map(|(i, party)| NodeInfo {
            party: party.clone(),
            addresses: vec!["localhost:1".to_owned()],
            platform_version: 1,
            serial: 1,
            notary: (i == 0).then_some(NotaryInfo { validating: false }),
        });
        let parameters = NetworkParameters::new(vec![parties[0].clone()], Timestamp::from_ms(1));
        let network = Arc::new(NetworkMap::new(parameters, infos));
        let nodes = parties.iter().zip(0u8..).map(|(party, seed)| Citizen {
            id: party.id(),
            party: party.clone(),
            kernel: None,
            disk: Disk::default(),
            view: BTreeMap::new(),
            view_seq: 0,
            seed,
        });
        let mut town = Town {
            nodes: nodes.collect(),
            now: 1_000_000,
            replies: BTreeMap::new(),
            logs: Vec::new(),
            mail: VecDeque::new(),
            next: 1,
            network,
        };
        for node in 0..town.nodes.len() {
            town.up(node);
        }
        town
    }

    /// Starts a node on its disk.
    pub fn up(&mut self, node: usize) {
        let citizen = &self.nodes[node];
        let mut contracts = ContractRegistry::new();
        finance::register_contracts(&mut contracts).expect("built-in contracts");
        let mut flows = FlowRegistry::new();
        finance::register_flows(&mut flows);
        let identity = Identity {
            me: citizen.party.clone(),
            keys: vec![key(citizen.seed + 1)],
            network: Arc::clone(&self.network),
            contracts: Arc::new(contracts),
            flows: Arc::new(flows),
        };
        let options = KernelOptions {
            entropy: [citizen.seed; 32],
            notary: (node == 0).then(notary::NotaryOptions::default),
            ..KernelOptions::default()
        };
        let mut out = Vec::new();
        let now = Timestamp::from_ms(self.now);
        let kernel = Kernel::open(options, identity, &citizen.disk, now, &mut out).expect("opens");
        self.nodes[node].kernel = Some(kernel);
        self.perform(node, out);
        for other in 0..self.nodes.len() {
            if other != node && self.nodes[other].kernel.is_some() {
                let (me, you) = (self.nodes[node].id, self.nodes[other].id);
                self.mail.push_back((
                    node,
                    Event::PeerUp {
                        peer: you,
                        epoch: 1,
                    },
                ));
                self.mail
                    .push_back((other, Event::PeerUp { peer: me, epoch: 1 }));
            }
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

    /// Starts a flow by its JSON; the reply comes under the number returned.
    pub fn start(&mut self, node: usize, flow: &str, args: &str, client_id: Option<&str>) -> u64 {
        let token = self.next;
        self.next += 1;
        let mut id = [0; 16];
        id[..8].copy_from_slice(&token.to_be_bytes());
        let mut flows = FlowRegistry::new();
        finance::register_flows(&mut flows);
        let args = flows
            .args_from_json(flow, 1, args.as_bytes())
            .expect("arguments");
        let start = Start {
            flow: FlowId(id),
            seed: [token as u8; 32],
            name: flow.to_owned(),
            version: None,
            args,
            user: "tester".to_owned(),
            client_id: client_id.map(str::to_owned),
            wait: Wait::Delivered,
            token: Token(token),
        };
        self.mail.push_back((node, Event::Start(Box::new(start))));
        token
    }

    /// Runs until nothing more happens by itself.
    pub fn settle(&mut self) {
        loop {
            let mut rounds = BTreeMap::<usize, Vec<Event>>::new();
            while let Some((node, event)) = self.mail.pop_front() {
                rounds.entry(node).or_default().push(event);
            }
            for node in 0..self.nodes.len() {
                let now = Timestamp::from_ms(self.now);
                let due = |kernel: &Kernel| kernel.next_wakeup().is_some_and(|at| at <= now);
                let wanted = self.nodes[node].kernel.as_ref().is_some_and(due);
                if wanted {
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

    fn round(&mut self, node: usize, events: Vec<Event>) {
        let now = Timestamp::from_ms(self.now);
        let mut out = Vec::new();
        let citizen = &mut self.nodes[node];
        let Some(kernel) = &mut citizen.kernel else {
            return;
        };
        for event in events {
            kernel
                .handle(event, now, &citizen.disk)
                .expect("the disk reads");
        }
        kernel
            .flush(now, &citizen.disk, &mut out)
            .expect("the disk reads");
        self.perform(node, out);
    }

    fn perform(&mut self, node: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Commit {
                    number,
                    batch,
                    then,
                } => {
                    self.nodes[node].disk.write(batch);
                    self.perform(node, then);
                    self.mail.push_back((node, Event::Committed { number }));
                }
                Action::Send { peer, bytes, .. } => {
                    let from = self.nodes[node].id;
                    let to = self.nodes.iter().position(|other| other.id == peer);
                    let to = to.expect("a known peer");
                    if self.nodes[to].kernel.is_some() {
                        self.mail
                            .push_back((to, Event::Message { peer: from, bytes }));
                    }
                }
                Action::Reply { token, reply } => {
                    let before = self.replies.insert(token.0, reply);
                    assert!(before.is_none(), "two replies to {token:?}");
                }
                Action::View { seq, changes, .. } => {
                    let citizen = &mut self.nodes[node];
                    citizen.view_seq = seq;
                    for change in changes {
                        match change {
                            ViewChange::Produced(produced) => {
                                citizen.view.insert(produced.state.reference, *produced);
                            }
                            ViewChange::Consumed(consumed) => {
                                citizen.view.remove(&consumed.reference);
                            }
                        }
                    }
                }
                Action::Refill(request) => {
                    let event = self.refill(node, request);
                    self.mail.push_back((node, event));
                }
                Action::Drained => {}
                Action::Log { code, message, .. } => {
                    self.logs.push(format!("{node}: {code}: {message}"));
                }
            }
        }
    }

    fn refill(&self, node: usize, request: RefillRequest) -> Event {
        let citizen = &self.nodes[node];
        let mut rows: Vec<CoinRow> = Vec::new();
        let mut total = 0;
        for produced in citizen.view.values() {
            if let Some(fungible) = &produced.facts.fungible
                && fungible.token == request.token
            {
                total += u128::from(fungible.quantity);
                let coin = produced.state.clone();
                rows.push(CoinRow {
                    coin,
                    quantity: fungible.quantity,
                    seq: produced.seq,
                });
            }
        }
        rows.retain(|row| request.from.is_none_or(|from| row.position() <= from));
        rows.sort_by_key(|row| std::cmp::Reverse(row.position()));
        let more = rows.len() > request.limit;
        rows.truncate(request.limit);
        Event::Refilled {
            token: request.token,
            rows,
            view_seq: citizen.view_seq,
            total,
            more,
        }
    }

    /// What a node holds, over all tokens.
    pub fn balance(&self, node: usize) -> u64 {
        let fungible = |produced: &vault::Produced| {
            produced
                .facts
                .fungible
                .as_ref()
                .map_or(0, |fungible| fungible.quantity)
        };
        self.nodes[node].view.values().map(fungible).sum()
    }

    /// The end of a flow, or a panic with the logs.
    pub fn ended(&mut self, token: u64) -> Result<bool, String> {
        match self.replies.remove(&token) {
            Some(Reply::Ended { outcome, delivered }) => match outcome.result {
                Ok(_) => Ok(delivered),
                Err(rejection) => Err(rejection.code),
            },
            Some(Reply::Rejected(rejection)) => Err(rejection.code),
            other => panic!("flow {token}: {other:?}; logs: {:#?}", self.logs),
        }
    }
}
