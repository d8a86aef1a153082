//! The flows that clients start, with their predicted results.

use finance::flows::{
    ExitArgs, IssueAndPayArgs, IssueArgs, LockArgs, Payment, ReissueArgs, ShareArgs, TokenArgs,
};
use finance::{Currency, IssuedToken, Reference};
use kernel::Wait;
use primitives::{Encode, Hash, Timestamp};

use crate::adversary::TimedArgs;
use crate::chance::Chance;
use crate::converse::{ConverseArgs, expected};
use crate::membership::{BANKS, BEGINNING_MS, EXCHANGE, Membership, NODES, OTHER_NOTARY};
use crate::planned_flow::{Effect, Move, PlannedFlow, WORK_US, gains, loses, pay_args};
use crate::stories::StoryArgs;
use crate::swaps::SettleArgs;
use crate::swarm::{SESSIONS, SwarmArgs};

/// Makes flows that never lack funds: no bank pays more of a token than it was issued at the beginning.
pub struct Workload<'a> {
    pub(crate) membership: &'a Membership,
    pub(crate) chance: Chance,
    pub tokens: Vec<IssuedToken>,
    /// The cash that each node may still spend, by token and node.
    budget: Vec<[u64; NODES]>,
    /// Whether ordinary flows do not use the exchange.
    pub without_exchange: bool,
    /// Tokens that a silent counterparty may hold, with the quantity issued.
    pub loose: Vec<(IssuedToken, u64)>,
}

impl<'a> Workload<'a> {
    pub fn new(membership: &'a Membership, chance: Chance) -> Self {
        let token = |issuer: usize, currency: &str, mark: &[u8]| IssuedToken {
            issuer: membership.parties[issuer].clone(),
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
            membership,
            chance,
            budget: vec![[0; NODES]; tokens.len()],
            without_exchange: false,
            loose: Vec::new(),
            tokens,
        }
    }

    fn issuer(&self, token: usize) -> usize {
        self.membership
            .node_of(&self.tokens[token].issuer.id())
            .expect("each issuer is a node of the network")
    }

    pub fn funding(&mut self) -> Vec<PlannedFlow> {
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
            recipient: Some(self.membership.parties[to].name.clone()),
            notary: None,
            anonymous: Some(self.hides()),
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
            cancelled_after_us: None,
            upload: None,
            is_repeatable: true,
            stays: Vec::new(),
        }
    }

    /// Returns a random flow. Its client may cancel it if a killed flow of its kind leaves no transaction.
    pub fn any_perhaps_cancelled(&mut self) -> PlannedFlow {
        let mut flow = self.any();
        let parts = ["cash.issue_and_pay", "cash.reissue"].contains(&flow.name);
        let whole = !parts && (!flow.name.starts_with("sim.") || flow.name == "sim.converse");
        if whole && flow.waits[0] == Wait::Accepted && self.chance.per_mille(150) {
            flow.cancelled_after_us = Some(self.chance.between(0, 30_000));
        }
        flow
    }

    fn any(&mut self) -> PlannedFlow {
        let node = self.chance.one_of(&BANKS);
        let other = BANKS[0] + BANKS[1] - node;
        let token = self.chance.below(self.tokens.len());
        let quantity = self.chance.between(1, 40);
        match self.chance.below(25) {
            12 | 13 if self.spend(token, node, quantity) => self.lock(token, node, quantity),
            14 if self.spend(token, node, quantity) => self.reissue(token, node, quantity),
            15 if self.spend(token, node, quantity + 1) => {
                let moves = vec![
                    loses(token, node, quantity + 1),
                    gains(token, other, quantity + 1),
                ];
                self.story("sim.owe", token, node, (quantity + 1, quantity), 3, moves)
            }
            16 if self.spend(token, node, quantity) => {
                let moves = vec![loses(token, node, quantity), gains(token, other, quantity)];
                let owed = quantity + self.chance.between(1, 40);
                let back = owed - quantity;
                self.story("sim.net", token, node, (owed, back), 4, moves)
            }
            17 | 18 if self.spend(token, other, quantity) => {
                let moves = vec![loses(token, other, quantity), gains(token, node, quantity)];
                self.story("sim.trade", token, node, (quantity + 5, quantity), 3, moves)
            }
            19 => self.shift(node, quantity),
            20 | 21 if !self.without_exchange && self.spend(token, node, quantity) => {
                self.settle(token, node, quantity)
            }
            22.. => self.share(node, other),
            0 => self.issue(token, other, quantity, 1),
            1 => self.issue_and_pay(token, quantity),
            2 => self.converse(node, other),
            3 if self.issuer(token) == node && self.spend(token, node, quantity) => {
                self.exit(token, node, quantity)
            }
            _ => {
                // A large payment from time to time, so that coins must be combined.
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

    /// Lets a bank share a file with the other bank or the exchange. There are five files, so each is shared often.
    fn share(&mut self, node: usize, other: usize) -> PlannedFlow {
        let mut to = self.chance.one_of(&[other, other, EXCHANGE]);
        if self.without_exchange {
            to = other;
        }
        let number = self.chance.between(1, 6);
        let attachment = Hash::plain(&number.to_be_bytes());
        let args = ShareArgs {
            to: self.membership.parties[to].name.clone(),
            attachment,
            title: format!("file {number}"),
            notary: None,
        };
        let mut flow = self.flow(node, "document.share", args.to_bytes(), 1, Vec::new());
        flow.upload = Some((attachment, number * 1_000));
        flow
    }

    /// Returns whether outputs go to fresh keys, at random.
    fn hides(&mut self) -> bool {
        self.chance.per_mille(300)
    }

    fn lock(&mut self, token: usize, from: usize, quantity: u64) -> PlannedFlow {
        let of = self.tokens[token].clone();
        let to = self.chance.one_of(&BANKS);
        let until = BEGINNING_MS + self.chance.between(500, 9_000);
        let args = LockArgs {
            currency: of.currency,
            quantity,
            until: Timestamp::from_ms(until),
            to: Some(self.membership.parties[to].name.clone()),
            issuer: Some(of.issuer.name),
            reference: Some(of.reference),
            notary: None,
            anonymous: Some(self.hides()),
        };
        let moves = vec![loses(token, from, quantity), gains(token, to, quantity)];
        self.flow(from, "cash.lock", args.to_bytes(), 1, moves)
    }

    fn reissue(&mut self, token: usize, node: usize, quantity: u64) -> PlannedFlow {
        let of = self.tokens[token].clone();
        let args = ReissueArgs {
            currency: of.currency,
            quantity,
            issuer: Some(of.issuer.name),
            reference: Some(of.reference),
            outputs: None,
            notary: None,
            deadline_ms: Some(600_000),
            anonymous: Some(self.hides()),
        };
        self.flow(node, "cash.reissue", args.to_bytes(), 2, Vec::new())
    }

    fn story(
        &mut self,
        name: &'static str,
        token: usize,
        node: usize,
        (quantity, part): (u64, u64),
        transactions: usize,
        moves: Vec<Move>,
    ) -> PlannedFlow {
        let of = self.tokens[token].clone();
        let other = BANKS[0] + BANKS[1] - node;
        let args = StoryArgs {
            with: self.membership.parties[other].name.clone(),
            token: TokenArgs {
                currency: of.currency,
                issuer: Some(of.issuer.name),
                reference: Some(of.reference),
            },
            quantity,
            part,
            // Claims of fresh keys are moved by their owner before they are netted. This flow does not do that.
            anonymous: self.hides() && name != "sim.net",
        };
        self.flow(node, name, args.to_bytes(), transactions, moves)
    }

    /// Lets the exchange settle a swap of a bank's cash for stock of the other bank.
    fn settle(&mut self, token: usize, buyer: usize, price: u64) -> PlannedFlow {
        let of = self.tokens[token].clone();
        let seller = BANKS[0] + BANKS[1] - buyer;
        let mark: String = self.chance.bytes32()[..6]
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        let args = SettleArgs {
            buyer: self.membership.parties[buyer].name.clone(),
            seller: self.membership.parties[seller].name.clone(),
            token: TokenArgs {
                currency: of.currency,
                issuer: Some(of.issuer.name),
                reference: Some(of.reference),
            },
            price,
            symbol: format!("S{mark}").parse().expect("a symbol"),
            quantity: self.chance.between(1, 9).min(price),
            anonymous: self.hides(),
            sequential: self.chance.per_mille(300),
            single: self.chance.per_mille(300),
        };
        let moves = vec![loses(token, buyer, price), gains(token, seller, price)];
        self.flow(EXCHANGE, "sim.settle", args.to_bytes(), 4, moves)
    }

    fn shift(&mut self, node: usize, quantity: u64) -> PlannedFlow {
        let mark = self.chance.bytes32()[..8].to_vec();
        let args = StoryArgs {
            with: self.membership.parties[OTHER_NOTARY].name.clone(),
            token: TokenArgs {
                currency: "XAU".parse().expect("a currency"),
                issuer: None,
                reference: Some(Reference::new(mark).expect("a short reference")),
            },
            quantity,
            part: 0,
            anonymous: self.hides(),
        };
        self.flow(node, "sim.shift", args.to_bytes(), 3, Vec::new())
    }

    /// Spends from the budget, if it suffices.
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
        let hidden = self.hides();
        let args = pay_args(&self.tokens[token], payments, hidden);
        let paid = quantity - to_myself;
        let moves = vec![loses(token, from, paid), gains(token, to, paid)];
        self.flow(from, "cash.pay", args.to_bytes(), 1, moves)
    }

    fn payment(&mut self, to: usize, quantity: u64) -> Payment {
        let states = self.chance.between(1, 4).min(quantity);
        Payment {
            to: self.membership.parties[to].name.clone(),
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
            recipient: self.membership.parties[to].name.clone(),
            states: None,
            notary: None,
            anonymous: Some(self.hides()),
            window_ms: None,
        };
        let moves = vec![gains(token, to, quantity)];
        PlannedFlow {
            stays: vec![gains(token, issuer, quantity)],
            ..self.flow(issuer, "cash.issue_and_pay", args.to_bytes(), 2, moves)
        }
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
            anonymous: Some(self.hides()),
        };
        let moves = vec![loses(token, node, quantity)];
        self.flow(node, "cash.exit", args.to_bytes(), 1, moves)
    }

    /// Returns swarms by the other notary, which needs no sessions for its own work. It opens more sessions with each bank than
    /// its share, and some swarms overlap.
    pub fn swarms(&mut self) -> Vec<PlannedFlow> {
        let mut swarms = Vec::new();
        for _ in 0..2 {
            for bank in BANKS {
                let args = SwarmArgs {
                    around: self.membership.parties[bank].name.clone(),
                    sessions: SESSIONS,
                    ms: self.chance.between(1, 3_000),
                };
                let effect = Effect::Answer(SESSIONS);
                swarms.push(self.planned(OTHER_NOTARY, "sim.swarm", args.to_bytes(), effect));
            }
        }
        swarms
    }

    /// Returns exchanges of cash with its issuer. Each is evidence that can be replayed.
    pub fn reissues(&mut self) -> Vec<PlannedFlow> {
        let mut flows = Vec::new();
        for token in 0..self.tokens.len() {
            let holder = BANKS[0] + BANKS[1] - self.issuer(token);
            for _ in 0..2 {
                let quantity = self.chance.between(1, 40);
                if self.spend(token, holder, quantity) {
                    flows.push(self.reissue(token, holder, quantity));
                }
            }
        }
        flows
    }

    /// Returns payments of banks to themselves within time windows: windows that are open, that ended long ago, and that open
    /// long after the end of the run.
    pub fn timed(&mut self) -> Vec<PlannedFlow> {
        let over = Timestamp::from_ms(BEGINNING_MS - 80_000);
        let later = Timestamp::from_ms(BEGINNING_MS + 24 * 3_600_000);
        let windows = [
            (None, None, 1),
            (None, None, 1),
            (None, Some(over), 0),
            (Some(later), None, 0),
        ];
        let mut flows = Vec::new();
        for (from, until, transactions) in windows.into_iter().cycle().take(24) {
            let node = self.chance.one_of(&BANKS);
            let of = self.tokens[self.chance.below(self.tokens.len())].clone();
            let token = TokenArgs {
                currency: of.currency,
                issuer: Some(of.issuer.name),
                reference: Some(of.reference),
            };
            let args = TimedArgs { token, from, until };
            flows.push(self.flow(node, "sim.timed", args.to_bytes(), transactions, Vec::new()));
        }
        flows
    }

    fn converse(&mut self, node: usize, with: usize) -> PlannedFlow {
        let rounds = self.chance.between(1, 12);
        let with = self.membership.parties[with].name.clone();
        let args = ConverseArgs { with, rounds };
        let effect = Effect::Answer(expected(rounds));
        self.planned(node, "sim.converse", args.to_bytes(), effect)
    }
}
