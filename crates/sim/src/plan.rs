//! What a seed stands for: what clients start, when, and what must come of it; what breaks, and how small everything is.

use finance::flows::{ExitArgs, IssueAndPayArgs, IssueArgs, PayArgs, Payment};
use finance::{Currency, IssuedToken, Reference};
use flow::messaging::BackOff;
use kernel::{KernelOptions, Wait};
use ledger::TokenId;
use notary::NotaryOptions;
use primitives::Encode;
use vault::SelectionOptions;

use crate::chance::Chance;
use crate::converse::{ConverseArgs, expected};
use crate::links::Weather;
use crate::town::{BANKS, NODES, NOTARY, Town};
use crate::{Bug, SimOptions};

/// A change of what a node holds.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub token: usize,
    pub node: usize,
    pub by: i64,
}

/// What a flow must come to.
#[derive(Clone, Debug)]
pub enum Effect {
    /// So many transactions, which move cash; these nodes have to record them.
    Cash {
        transactions: usize,
        moves: Vec<Move>,
    },
    /// This answer.
    Answer(u64),
}

/// A flow that a client starts.
#[derive(Clone, Debug)]
pub struct PlannedFlow {
    pub node: usize,
    /// After the beginning of its phase, in microseconds.
    pub at_us: u64,
    pub name: &'static str,
    pub args: Vec<u8>,
    pub effect: Effect,
    /// What the client waits for, one after the other; the last is `Delivered`.
    pub waits: Vec<Wait>,
}

/// Something that breaks.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A node crashes after some more steps, and stays down for so long.
    Crash {
        node: usize,
        steps: u64,
        down_us: u64,
    },
    /// Two nodes can't reach each other for so long.
    Partition { pair: (usize, usize), for_us: u64 },
}

/// See the module.
pub struct Plan {
    pub tokens: Vec<IssuedToken>,
    pub funding: Vec<PlannedFlow>,
    pub work: Vec<PlannedFlow>,
    /// By time since the work began.
    pub faults: Vec<(u64, Fault)>,
    pub weather: Weather,
    /// After the beginning of the work, in microseconds.
    pub calm_us: u64,
    /// What kernels are opened with, the entropy aside.
    pub kernel: KernelOptions,
    pub notary: NotaryOptions,
    /// Reads show what is not synced yet.
    pub shows_unsynced: bool,
    pub ahead_ms: [u64; NODES],
    /// Clients that start the same flow twice at once, per mille.
    pub double_starts: u64,
}

/// Time over which clients start their flows, in microseconds.
const WORK_US: u64 = 2_000_000;

impl Plan {
    pub fn new(options: &SimOptions, town: &Town, chance: &mut Chance) -> Self {
        let mut workload = Workload::new(town, chance.fork());
        let funding = workload.funding();
        let count = chance.between(52, 70);
        let work = (0..count).map(|_| workload.any()).collect();
        let faults = faults(&mut chance.fork());
        let calm_us = WORK_US + chance.between(0, 1_500_000);
        let mut kernel = small_kernel(&mut chance.fork());
        kernel.selection.restores_locks = options.bug != Some(Bug::LockForgotten);
        Self {
            tokens: workload.tokens,
            funding,
            work,
            faults,
            weather: Weather {
                delay_us: chance.one_of(&[(50, 300), (100, 5_000), (500, 40_000)]),
                lost: chance.one_of(&[0, 0, 5, 30]),
                doubled: chance.one_of(&[0, 5, 30]),
            },
            calm_us,
            kernel,
            notary: NotaryOptions {
                batch_requests_max: chance.one_of(&[1, 3, 1_000]),
                queue_requests_max: chance.one_of(&[4, 1_000]),
                eta_unknown_ms: 50,
                ..NotaryOptions::default()
            },
            shows_unsynced: chance.per_mille(500),
            ahead_ms: [0; NODES].map(|_| chance.between(0, 2_000)),
            double_starts: chance.one_of(&[0, 100]),
        }
    }
}

/// At least one crash; they may follow each other closely, or hit a node that is just starting.
fn faults(chance: &mut Chance) -> Vec<(u64, Fault)> {
    let mut faults = Vec::new();
    for _ in 0..chance.between(1, 5) {
        let crash = Fault::Crash {
            node: chance.below(NODES),
            steps: chance.between(0, 60),
            down_us: chance.one_of(&[1_000, 30_000, 500_000, 1_500_000]),
        };
        faults.push((chance.between(0, WORK_US), crash));
    }
    for _ in 0..chance.between(0, 4) {
        let partition = Fault::Partition {
            pair: chance.one_of(&[(0, 1), (0, 2), (1, 2)]),
            for_us: chance.between(1_000, 1_500_000),
        };
        faults.push((chance.between(0, WORK_US), partition));
    }
    faults.sort_by_key(|(at, _)| *at);
    faults
}

/// Kernels with little room and little patience: what is rare in a large node is common in them.
fn small_kernel(chance: &mut Chance) -> KernelOptions {
    let soon = BackOff {
        first_ms: 300,
        max_ms: 2_000,
    };
    let mut options = KernelOptions {
        live_flows_max: chance.one_of(&[3, 20, 1_000]),
        start_queue_max: chance.one_of(&[2, 1_000]),
        selection: SelectionOptions {
            coins_per_pool_max: chance.one_of(&[60, 20_000]),
            low_water: chance.one_of(&[0, 5]),
            refill_rows: chance.one_of(&[3, 2_000]),
            states_per_selection_max: 50,
            ..SelectionOptions::default()
        },
        transactions_bytes: chance.one_of(&[4_000, 16 << 20]),
        outcomes_bytes: chance.one_of(&[1_000, 4 << 20]),
        unshared_bytes: chance.one_of(&[0, 4_000, 4 << 20]),
        ..KernelOptions::default()
    };
    options.outbox.resend = soon;
    options.deliveries.resend = soon;
    options.requests.resend = soon;
    options
}

/// Makes flows that never lack funds: nobody pays more of a token than was issued to them at the beginning.
struct Workload<'a> {
    town: &'a Town,
    chance: Chance,
    tokens: Vec<IssuedToken>,
    /// By token and node.
    budget: Vec<[u64; NODES]>,
}

impl<'a> Workload<'a> {
    fn new(town: &'a Town, chance: Chance) -> Self {
        let token = |issuer: usize, currency: &str, mark: &[u8]| IssuedToken {
            issuer: town.parties[issuer].clone(),
            reference: Reference::new(mark.to_vec()).expect("a short reference"),
            currency: currency.parse::<Currency>().expect("a currency"),
        };
        let tokens = vec![
            token(1, "GBP", &[]),
            token(1, "EUR", &[7]),
            token(2, "USD", &[]),
            token(2, "GBP", &[9, 9]),
        ];
        Self {
            town,
            chance,
            budget: vec![[0; NODES]; tokens.len()],
            tokens,
        }
    }

    fn issuer(&self, token: usize) -> usize {
        self.town
            .node_of(&self.tokens[token].issuer.id())
            .unwrap_or(NOTARY)
    }

    fn funding(&mut self) -> Vec<PlannedFlow> {
        let mut flows = Vec::new();
        for token in 0..self.tokens.len() {
            for node in BANKS {
                let quantity = self.chance.between(500, 5_000);
                let outputs = self.chance.one_of(&[1, 1, 2, 12]);
                flows.push(self.issue(token, node, quantity, outputs));
                self.budget[token][node] += quantity;
            }
        }
        flows
    }

    fn issue(&mut self, token: usize, to: usize, quantity: u64, outputs: u32) -> PlannedFlow {
        let of = self.tokens[token].clone();
        let args = IssueArgs {
            currency: of.currency,
            quantity,
            reference: Some(of.reference),
            outputs: Some(outputs),
            recipient: Some(self.town.parties[to].name.clone()),
            notary: None,
        };
        let moves = vec![gains(token, to, quantity)];
        self.flow(self.issuer(token), "cash.issue", args.to_bytes(), 1, moves)
    }

    fn flow(
        &mut self,
        node: usize,
        name: &'static str,
        args: Vec<u8>,
        transactions: usize,
        moves: Vec<Move>,
    ) -> PlannedFlow {
        let effect = Effect::Cash {
            transactions,
            moves,
        };
        self.planned(node, name, args, effect)
    }

    fn planned(
        &mut self,
        node: usize,
        name: &'static str,
        args: Vec<u8>,
        effect: Effect,
    ) -> PlannedFlow {
        let waits = match self.chance.below(4) {
            0 => vec![Wait::Accepted, Wait::Delivered],
            1 => vec![Wait::Finalised, Wait::Delivered],
            2 => vec![Wait::Accepted, Wait::Finalised, Wait::Delivered],
            _ => vec![Wait::Delivered],
        };
        PlannedFlow {
            node,
            at_us: self.chance.between(0, WORK_US),
            name,
            args,
            effect,
            waits,
        }
    }

    fn any(&mut self) -> PlannedFlow {
        let node = self.chance.one_of(&BANKS);
        let other = BANKS[0] + BANKS[1] - node;
        let token = self.chance.below(self.tokens.len());
        let quantity = self.chance.between(1, 40);
        match self.chance.below(12) {
            0 => self.issue(token, other, quantity, 1),
            1 => self.issue_and_pay(token, quantity),
            2 => self.converse(node, other),
            3 if self.issuer(token) == node && self.spend(token, node, quantity) => {
                self.exit(token, node, quantity)
            }
            _ => {
                // A large payment now and then, so that coins have to be put together.
                let large = self.budget[token][node] / 3;
                let quantity = if self.chance.per_mille(60) {
                    quantity.max(large)
                } else {
                    quantity
                };
                if self.spend(token, node, quantity) {
                    self.pay(token, node, other, quantity)
                } else {
                    self.converse(node, other)
                }
            }
        }
    }

    /// Whether the budget allows it; then it is spent.
    fn spend(&mut self, token: usize, node: usize, quantity: u64) -> bool {
        let left = &mut self.budget[token][node];
        match left.checked_sub(quantity) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        }
    }

    fn pay(&mut self, token: usize, from: usize, to: usize, quantity: u64) -> PlannedFlow {
        let to_myself = if quantity > 3 && self.chance.per_mille(200) {
            quantity / 3
        } else {
            0
        };
        let mut payments = vec![self.payment(to, quantity - to_myself)];
        if to_myself > 0 {
            payments.push(self.payment(from, to_myself));
        }
        let args = pay_args(&self.tokens[token], payments);
        let paid = quantity - to_myself;
        let moves = vec![loses(token, from, paid), gains(token, to, paid)];
        self.flow(from, "cash.pay", args.to_bytes(), 1, moves)
    }

    fn payment(&mut self, to: usize, quantity: u64) -> Payment {
        let states = self.chance.between(1, 4).min(quantity);
        Payment {
            to: self.town.parties[to].name.clone(),
            quantity,
            states: u32::try_from(states).ok(),
        }
    }

    fn issue_and_pay(&mut self, token: usize, quantity: u64) -> PlannedFlow {
        let issuer = self.issuer(token);
        let to = BANKS[0] + BANKS[1] - issuer;
        let of = self.tokens[token].clone();
        let args = IssueAndPayArgs {
            currency: of.currency,
            quantity,
            reference: Some(of.reference),
            recipient: self.town.parties[to].name.clone(),
            states: None,
            notary: None,
        };
        let moves = vec![gains(token, to, quantity)];
        self.flow(issuer, "cash.issue_and_pay", args.to_bytes(), 2, moves)
    }

    fn exit(&mut self, token: usize, node: usize, quantity: u64) -> PlannedFlow {
        let of = self.tokens[token].clone();
        let args = ExitArgs {
            currency: of.currency,
            quantity,
            issuer: None,
            reference: Some(of.reference),
            notary: None,
            deadline_ms: Some(600_000),
        };
        let moves = vec![loses(token, node, quantity)];
        self.flow(node, "cash.exit", args.to_bytes(), 1, moves)
    }

    fn converse(&mut self, node: usize, with: usize) -> PlannedFlow {
        let rounds = self.chance.between(1, 12);
        let with = self.town.parties[with].name.clone();
        let args = ConverseArgs { with, rounds };
        let effect = Effect::Answer(expected(rounds));
        self.planned(node, "sim.converse", args.to_bytes(), effect)
    }
}

/// Everything that a node holds of a token, paid to somebody: what is locked for ever could not be.
pub fn sweep(
    town: &Town,
    tokens: &[IssuedToken],
    token: usize,
    from: usize,
    to: usize,
    quantity: u64,
) -> PlannedFlow {
    let payment = Payment {
        to: town.parties[to].name.clone(),
        quantity,
        states: None,
    };
    PlannedFlow {
        node: from,
        at_us: 0,
        name: "cash.pay",
        args: pay_args(&tokens[token], vec![payment]).to_bytes(),
        effect: Effect::Cash {
            transactions: 1,
            moves: vec![loses(token, from, quantity), gains(token, to, quantity)],
        },
        waits: vec![Wait::Delivered],
    }
}

fn pay_args(token: &IssuedToken, payments: Vec<Payment>) -> PayArgs {
    PayArgs {
        token: Some(token_id(token)),
        currency: None,
        issuer: None,
        reference: None,
        payments,
        notary: None,
        deadline_ms: Some(600_000),
    }
}

/// A token's id.
pub fn token_id(token: &IssuedToken) -> TokenId {
    token.id()
}

fn gains(token: usize, node: usize, quantity: u64) -> Move {
    Move {
        token,
        node,
        by: quantity as i64,
    }
}

fn loses(token: usize, node: usize, quantity: u64) -> Move {
    Move {
        token,
        node,
        by: -(quantity as i64),
    }
}
