//! A forger with many accounts that looks for the best secret branch: at each block it tries all its accounts and keeps the best
//! branches. Trying costs hashes only.

use chain::pos::{self, BaseTarget};
use chain::{BlockTimestamp, Height, Params, WholeTokens};
use primitives::Hash;

/// Accounts of each side.
const ACCOUNTS: u32 = 100;
/// Whole parent tokens of both sides.
const TOKENS: u64 = 1_000_000_000;
/// Branches kept at each height.
const KEPT: usize = 60;
/// Height of the branches.
const BLOCKS: u32 = 150;

/// The end of a branch.
#[derive(Clone)]
struct Tip {
    generation: Hash,
    time: BlockTimestamp,
    base_target: BaseTarget,
    /// Time of the block that began the span of the base target.
    span_began: BlockTimestamp,
    work: u128,
}

struct Side {
    forgers: Vec<([u8; 32], WholeTokens)>,
}

impl Side {
    fn new(name: u8, stake_percent: u64) -> Self {
        let tokens = WholeTokens::new(TOKENS / 100 * stake_percent / u64::from(ACCOUNTS));
        let key =
            |number: u32| *Hash::plain(&[&[name], &number.to_be_bytes()[..]].concat()).as_bytes();
        Self {
            forgers: (0..ACCOUNTS).map(|number| (key(number), tokens)).collect(),
        }
    }

    /// Returns the blocks that this side can forge on a tip, the earliest first.
    fn next(&self, params: &Params, tip: &Tip, height: u32) -> Vec<Tip> {
        let turns = pos::next_forgers(tip.time, &tip.generation, tip.base_target, &self.forgers);
        let next = |turn: &pos::Turn| {
            let elapsed = turn.time.since(tip.time).expect("a later block");
            let mut next = Tip {
                generation: pos::generation(&tip.generation, &turn.forger),
                time: turn.time,
                work: tip.work + pos::work(params, tip.base_target, elapsed),
                ..tip.clone()
            };
            if pos::adjusts(params, Height::new(height)) {
                let initial = first(params).base_target;
                let elapsed = next.time.since(tip.span_began).expect("a later block");
                next.base_target = pos::next_base_target(params, initial, tip.base_target, elapsed);
                next.span_began = next.time;
            }
            next
        };
        turns.iter().map(next).collect()
    }
}

fn first(params: &Params) -> Tip {
    Tip {
        generation: Hash::plain(b"genesis"),
        time: BlockTimestamp::GENESIS,
        base_target: pos::initial_base_target(params, WholeTokens::new(TOKENS))
            .expect("a base target"),
        span_began: BlockTimestamp::GENESIS,
        work: 0,
    }
}

/// Returns whether a forger with this share of the stake can make a branch with more work than the others make in the same time.
fn outgrows(params: &Params, stake_percent: u64) -> bool {
    let honest = Side::new(b'h', 100 - stake_percent);
    let mut tip = first(params);
    for height in 1..=BLOCKS {
        tip = honest.next(params, &tip, height).swap_remove(0);
    }
    let (work, time) = (tip.work as i128, i128::from(tip.time.get()));
    // Positive for more work than the honest branch has made after the same time.
    let lead = |tip: &Tip| tip.work as i128 * time - work * i128::from(tip.time.get());
    let attacker = Side::new(b'a', stake_percent);
    let mut branches = vec![first(params)];
    for height in 1..=BLOCKS {
        let next = branches
            .iter()
            .flat_map(|tip| attacker.next(params, tip, height));
        let mut next: Vec<Tip> = next.collect();
        next.sort_by_key(|tip| std::cmp::Reverse(lead(tip)));
        next.truncate(KEPT);
        branches = next;
    }
    branches.iter().any(|tip| lead(tip) > 0)
}

#[test]
fn a_fifth_of_the_stake_cannot_outgrow_the_rest_by_choosing_accounts() {
    let params = Params::production();
    for stake_percent in [5, 11, 20] {
        assert!(!outgrows(&params, stake_percent), "{stake_percent} %");
    }
    // The limit of this rule, and the earlier one.
    assert!(outgrows(&params, 35));
    let earlier = Params {
        work_elapsed_min_percent: 0,
        ..params
    };
    assert!(outgrows(&earlier, 20));
}
