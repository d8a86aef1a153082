//! Flows with a counterparty that may fall silent: issues of loose tokens, trades, swaps, exchanges of cash and payments.

use finance::flows::{IssueArgs, ReissueArgs, TokenArgs};
use finance::{IssuedToken, Reference};
use kernel::Wait;
use primitives::Encode;

use super::silence::SILENT;
use crate::membership::BANKS;
use crate::planned_flow::{Effect, PlannedFlow, WORK_US, perhaps, sweep};
use crate::stories::StoryArgs;
use crate::swaps::SettleArgs;
use crate::workload::Workload;

/// Initial cash of each holder, for each loose token.
const FUNDS: u64 = 1_000;
/// Payments of loose tokens among banks, spread over the time below. They need states that the silence keeps locked.
const PAYMENTS: usize = 12;
const PAYMENTS_US: u64 = 20_000_000;

impl Workload<'_> {
    /// Issues loose tokens of a bank and of the silent member to both banks and to the silent member.
    pub(crate) fn loose_funding(&mut self) -> Vec<PlannedFlow> {
        let mut flows = Vec::new();
        for (issuer, currency) in [(BANKS[0], "SEK"), (SILENT, "NOK")] {
            let token = IssuedToken {
                issuer: self.membership.parties[issuer].clone(),
                reference: Reference::default(),
                currency: currency.parse().expect("a currency"),
            };
            let holders = [BANKS[0], BANKS[1], SILENT];
            for holder in holders {
                let args = IssueArgs {
                    currency: token.currency,
                    quantity: FUNDS,
                    reference: None,
                    outputs: Some(8),
                    recipient: Some(self.membership.parties[holder].name.clone()),
                    notary: None,
                    anonymous: Some(false),
                };
                let effect = Effect::Cash {
                    transactions: 1,
                    moves: Vec::new(),
                };
                flows.push(planned(issuer, 0, "cash.issue", args.to_bytes(), effect));
            }
            self.loose.push((token, FUNDS * holders.len() as u64));
        }
        flows
    }

    /// Returns flows that trust the silent member, in both directions.
    pub(crate) fn trusting(&mut self) -> Vec<PlannedFlow> {
        let tokens: Vec<IssuedToken> = self.loose.iter().map(|(token, _)| token.clone()).collect();
        let mut flows = Vec::new();
        for bank in BANKS {
            for token in &tokens {
                flows.push(self.trusting_trade(bank, SILENT, token));
                flows.push(self.trusting_trade(SILENT, bank, token));
            }
        }
        for (buyer, seller) in [(BANKS[0], BANKS[1]), (BANKS[1], BANKS[0])] {
            flows.push(self.trusting_swap(buyer, seller, &tokens[0]));
        }
        let exchanges = [(BANKS[0], 1), (BANKS[1], 1), (BANKS[1], 0), (SILENT, 0)];
        for (holder, token) in exchanges {
            flows.push(self.trusting_reissue(holder, &tokens[token]));
        }
        for at in 0..PAYMENTS {
            let bank = BANKS[at % 2];
            let to = self
                .chance
                .one_of(&[BANKS[1 - at % 2], BANKS[1 - at % 2], SILENT]);
            let quantity = self.chance.between(1, 300);
            let payment = sweep(self.membership, &tokens, at / 2 % 2, bank, to, quantity);
            let at_us = self.chance.between(0, PAYMENTS_US);
            flows.push(PlannedFlow { at_us, ..payment });
        }
        flows.into_iter().map(perhaps).collect()
    }

    fn soon(&mut self) -> u64 {
        self.chance.between(0, WORK_US / 2)
    }

    fn token_args(token: &IssuedToken) -> TokenArgs {
        TokenArgs {
            currency: token.currency,
            issuer: Some(token.issuer.name.clone()),
            reference: Some(token.reference.clone()),
        }
    }

    fn trusting_trade(&mut self, seller: usize, buyer: usize, token: &IssuedToken) -> PlannedFlow {
        let part = self.chance.between(1, 90);
        let args = StoryArgs {
            with: self.membership.parties[buyer].name.clone(),
            token: Self::token_args(token),
            quantity: part + 5,
            part,
            anonymous: self.chance.per_mille(300),
        };
        planned(
            seller,
            self.soon(),
            "sim.trade",
            args.to_bytes(),
            Effect::Perhaps,
        )
    }

    fn trusting_swap(&mut self, buyer: usize, seller: usize, token: &IssuedToken) -> PlannedFlow {
        let price = self.chance.between(1, 90);
        let args = SettleArgs {
            buyer: self.membership.parties[buyer].name.clone(),
            seller: self.membership.parties[seller].name.clone(),
            token: Self::token_args(token),
            price,
            symbol: format!("Q{buyer}").parse().expect("a symbol"),
            quantity: self.chance.between(1, 9).min(price),
            anonymous: self.chance.per_mille(300),
            sequential: self.chance.per_mille(300),
            single: self.chance.per_mille(300),
        };
        planned(
            SILENT,
            self.soon(),
            "sim.settle",
            args.to_bytes(),
            Effect::Perhaps,
        )
    }

    fn trusting_reissue(&mut self, holder: usize, token: &IssuedToken) -> PlannedFlow {
        let args = ReissueArgs {
            currency: token.currency,
            quantity: self.chance.between(1, 90),
            issuer: Some(token.issuer.name.clone()),
            reference: Some(token.reference.clone()),
            outputs: None,
            notary: None,
            deadline_ms: Some(600_000),
            anonymous: Some(self.chance.per_mille(300)),
        };
        planned(
            holder,
            self.soon(),
            "cash.reissue",
            args.to_bytes(),
            Effect::Perhaps,
        )
    }
}

fn planned(
    node: usize,
    at_us: u64,
    name: &'static str,
    args: Vec<u8>,
    effect: Effect,
) -> PlannedFlow {
    PlannedFlow {
        node,
        at_us,
        name,
        args,
        effect,
        waits: vec![Wait::Delivered],
        cancelled_after_us: None,
        upload: None,
        is_repeatable: false,
        stays: Vec::new(),
    }
}
