//! Runs the pool and the model with the same random operations. Content, order and reasons must agree, and no transaction may be
//! lost.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::ledger::Ledger;
use super::model::Model;
use super::*;
use crate::forge::choose_body;
use crate::{Height, Params};

const ACCOUNTS: u8 = 4;
const CHAINS: std::ops::RangeInclusive<u8> = 1..=3;

#[derive(Clone, Debug)]
enum Step {
    Pay {
        from: u8,
        chain: u8,
        amount: u64,
        fee: u64,
        minutes: u16,
        message: usize,
    },
    Bundle {
        bundler: u8,
        chain: u8,
        fee: u64,
        mask: u16,
    },
    /// A block of a part of the ready transactions, of the child blocks if `bundled`, and of payments that the pool does not
    /// know.
    Forge {
        mask: u16,
        bundled: bool,
        foreign: Vec<(u8, u8, u64)>,
    },
    /// A block assembled by the node's own rules.
    Assemble,
    /// A rollback of a number of blocks. Other steps may follow before accounts are settled.
    Pop {
        blocks: u8,
        settled: bool,
    },
    Wait {
        seconds: u32,
    },
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let account = 0..ACCOUNTS;
    let child = 2u8..=3;
    let foreign = proptest::collection::vec((0..ACCOUNTS, CHAINS, 1u64..400), 0..3);
    prop_oneof![
        8 => (account.clone(), CHAINS, 1u64..300, 1u64..400, 1u16..4, prop_oneof![3 => Just(0usize), 1 => 1usize..300])
            .prop_map(|(from, chain, amount, fee, minutes, message)| Step::Pay { from, chain, amount, fee, minutes, message }),
        3 => (account, child, 1u64..60, any::<u16>())
            .prop_map(|(bundler, chain, fee, mask)| Step::Bundle { bundler, chain, fee, mask }),
        3 => (any::<u16>(), any::<bool>(), foreign)
            .prop_map(|(mask, bundled, foreign)| Step::Forge { mask, bundled, foreign }),
        1 => Just(Step::Assemble),
        2 => (1u8..4, any::<bool>()).prop_map(|(blocks, settled)| Step::Pop { blocks, settled }),
        2 => (1u32..80).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Clear),
    ]
}

struct Run {
    pool: Pool,
    model: Model,
    ledger: Ledger,
    now: BlockTimestamp,
    made: u32,
    /// All transactions that were accepted and whose reason for leaving was not reported.
    accepted: BTreeSet<TxId>,
    settled: bool,
}

impl Run {
    fn new() -> Self {
        let settings = PoolSettings {
            transactions_max: 9,
            bytes_max: 9 * 160,
            per_sender_max: 6,
            child_blocks_max: 3,
            per_bundler_max: 2,
            carried_max: 8,
            patience_seconds: Some(Seconds::new(50)),
        };
        let mut ledger = Ledger::default();
        for chain in CHAINS {
            for number in 0..ACCOUNTS {
                ledger.give((account(number), ChainId(chain)), 900);
            }
        }
        Self {
            pool: Pool::new(settings.clone()),
            model: Model::new(settings),
            ledger,
            now: BlockTimestamp::GENESIS,
            made: 0,
            accepted: BTreeSet::new(),
            settled: true,
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Pay {
                from,
                chain,
                amount,
                fee,
                minutes,
                message,
            } => {
                self.made += 1;
                let pay = Pay {
                    from: *from,
                    chain: *chain,
                    to: (*from + 1) % ACCOUNTS,
                    amount: *amount,
                    fee: *fee,
                    time: self.now.get(),
                    minutes: *minutes,
                    message: *message,
                    anchor: self.made,
                };
                self.submit(&pay.carried(), None);
            }
            Step::Bundle {
                bundler,
                chain,
                fee,
                mask,
            } => {
                let ids = chosen(self.pool.waiting(ChainId(*chain)), *mask);
                if !ids.is_empty() {
                    let ids: Vec<TxId> = ids.iter().map(|one| one.id).collect();
                    let list = child_block(*bundler, *chain, *fee, self.now.get(), &ids);
                    self.submit(&list.transaction().clone(), Some(list));
                }
            }
            Step::Forge {
                mask,
                bundled,
                foreign,
            } => self.forge(*mask, *bundled, foreign),
            Step::Assemble => {
                let params = Params {
                    anchor_depth_min: 0,
                    ..Params::loadtest()
                };
                let candidate = choose_body(&self.pool, &params, Height::LAST, self.now);
                let block = block(candidate.body);
                assert!(
                    !self.settled || self.ledger.is_valid(&block),
                    "what is offered is valid"
                );
                self.add(block);
            }
            Step::Pop { blocks, settled } => {
                for _ in 0..*blocks {
                    if let Some(block) = self.ledger.pop() {
                        self.pool.block_popped(&block, self.now);
                        self.model.block_popped(&block, self.now);
                    }
                }
                self.settled = false;
                if *settled {
                    self.settle();
                }
            }
            Step::Wait { seconds } => {
                // Wait second by second, because the pool chooses its own order among the ends in between.
                for _ in 0..*seconds {
                    self.now = self.now.next().unwrap();
                    self.pool.expire(self.now);
                    self.model.expire(self.now);
                }
                self.settle();
            }
            Step::Clear => {
                self.pool.clear();
                let all: Vec<TxId> = self
                    .model
                    .items
                    .iter()
                    .map(|item| item.carried.id)
                    .collect();
                for id in all {
                    self.model.leave(&id, "chain_pool.cleared");
                }
                self.settle();
            }
        }
        self.compare();
    }

    fn submit(&mut self, carried: &Arc<Carried>, list: Option<Arc<ChildBlock>>) {
        if self.ledger.holds(&carried.id) {
            return;
        }
        // Settle first: the core inserts no transaction before accounts are settled.
        self.settle();
        let ledger = &self.ledger;
        let mut balances = |who, chain| Ok(MinorUnits::new(ledger.balance((who, chain))));
        let outcome = match list.clone() {
            Some(list) => self.pool.insert_child_block(list, self.now, &mut balances),
            None => self.pool.insert(carried.clone(), self.now, &mut balances),
        };
        let outcome = outcome.unwrap().map_err(|rejection| rejection.code);
        assert_eq!(outcome, self.model.insert(carried, list, self.now, ledger));
        if outcome.is_ok() {
            self.accepted.insert(carried.id);
        }
        self.settle();
    }

    fn forge(&mut self, mask: u16, bundled: bool, foreign: &[(u8, u8, u64)]) {
        let mut body: Vec<CarriedEntry> = chosen(self.pool.waiting(ChainId::PARENT), mask)
            .iter()
            .map(plain)
            .collect();
        for chain in [2, 3] {
            let offer = self
                .pool
                .child_blocks(ChainId(chain))
                .find(|offer| bundled && offer.complete);
            if let Some(offer) = offer {
                let ids = offer.block.ids().iter();
                let children: Vec<_> = ids.map(|id| self.pool.get(id).unwrap().clone()).collect();
                body.push(carrying(offer.block, &children));
                continue;
            }
            // A child block that the pool does not know.
            let children = chosen(self.pool.waiting(ChainId(chain)), mask.rotate_left(5));
            if !children.is_empty() && mask.is_multiple_of(3) {
                let ids: Vec<TxId> = children.iter().map(|one| one.id).collect();
                body.push(carrying(
                    &child_block(3, chain, 1, self.now.get(), &ids),
                    &children,
                ));
            }
        }
        for (from, chain, amount) in foreign.iter().filter(|(_, chain, _)| *chain == 1) {
            self.made += 1;
            let pay = Pay {
                from: *from,
                to: (*from + 2) % ACCOUNTS,
                chain: *chain,
                amount: *amount,
                fee: 1,
                time: self.now.get(),
                minutes: 2,
                anchor: self.made,
                ..Pay::default()
            };
            body.push(plain(&pay.carried()));
        }
        self.add(block(body));
    }

    /// Adds a block if it is valid.
    fn add(&mut self, block: CarriedBlock) {
        if !self.ledger.is_valid(&block) {
            return;
        }
        self.ledger.push(block.clone());
        self.pool.block_added(&block);
        self.model.block_added(&block);
        self.settle();
    }

    fn settle(&mut self) {
        let ledger = &self.ledger;
        let mut balances = |who, chain| Ok(MinorUnits::new(ledger.balance((who, chain))));
        self.pool.settle(self.now, &mut balances).unwrap();
        self.model.settle(self.now, ledger);
        self.settled = true;
    }

    fn compare(&mut self) {
        for left in self.pool.take_removals() {
            let reason = self.model.left.remove(&left.carried.id);
            let child_block = matches!(left.carried.transaction.body, Body::ChildBlock { .. });
            // A child block has two valid reasons if its patience ends in the same second as one of its transactions expires.
            assert!(
                reason == Some(left.reason)
                    || (child_block && reason == Some("chain_pool.expired"))
            );
            assert!(!self.pool.contains(&left.carried.id));
            // Its reason was reported. It may be accepted again from now on.
            self.accepted.remove(&left.carried.id);
        }
        assert!(self.model.left.is_empty(), "{:?}", self.model.left);
        let mut ids: Vec<TxId> = self.pool.ids().collect();
        let mut expected: Vec<TxId> = self
            .model
            .items
            .iter()
            .map(|item| item.carried.id)
            .collect();
        ids.sort_unstable();
        expected.sort_unstable();
        assert_eq!(ids, expected);
        ids.retain(|id| self.pool.child_block(id).is_none());
        let pages: Vec<TxId> = self.pool.after(None).map(|one| one.id).collect();
        assert_eq!(pages, ids);
        let lost = self
            .accepted
            .iter()
            .find(|id| !self.pool.contains(id) && !self.ledger.holds(id));
        assert_eq!(
            lost, None,
            "every accepted transaction is here, in a block, or has a reason"
        );
        if !self.settled {
            return;
        }
        for item in &self.model.items {
            let status = self.model.status(item);
            assert_eq!(self.pool.status(&item.carried.id), Some(status));
        }
        for chain in CHAINS {
            assert_eq!(order(&self.pool, chain), self.model.ready(chain));
            let offers = self.pool.child_blocks(ChainId(chain));
            let offers: Vec<_> = offers
                .map(|offer| (offer.block.id(), offer.complete))
                .collect();
            assert_eq!(offers, self.model.offers(chain));
            for number in 0..ACCOUNTS {
                let owner = (account(number), ChainId(chain));
                let pending = self.pool.pending_debit(owner.0, owner.1);
                assert!(
                    pending.get() <= self.ledger.balance(owner),
                    "what is ready is covered"
                );
            }
        }
        let figures = self.pool.figures();
        assert!(figures.transactions <= 9 && figures.bytes <= 9 * 160);
    }
}

/// Returns the transactions whose bit is set.
fn chosen<'a>(all: impl Iterator<Item = &'a Arc<Carried>>, mask: u16) -> Vec<Arc<Carried>> {
    let mut mask = mask;
    all.filter(|_| {
        mask = mask.rotate_right(1);
        mask & 1 == 1
    })
    .cloned()
    .collect()
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn the_pool_does_what_a_list_would_do(steps in proptest::collection::vec(step(), 1..60)) {
        let mut run = Run::new();
        for step in &steps {
            run.step(step);
        }
    }
}
