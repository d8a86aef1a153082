//! Claims against deliveries: peers that claim much, silent peers, branches that cannot be judged, and clocks that are ahead.

use chain::block::CarriedBlock;
use chain::core::{Core, Event, Notice, Settings, Verdict, limits};
use chain::message::{Question, Status};
use chain::state::Fault;
use chain::{ChainTime, Height};
use primitives::Hash;

use crate::core::bench::{Bench, Maker, Manner};
use crate::core::branches::{core_with, payment};
use crate::core::kit::{ACCOUNTS, genesis, key, peer, public, slow};

/// Returns a claim of the best chain possible.
fn boast(n: usize) -> Vec<u8> {
    let tip = Hash::plain(&[n as u8]);
    let (height, difficulty) = (10_000, u128::MAX / 2);
    Question::Status(Status {
        height: Height::new(height),
        tip,
        difficulty,
    })
    .to_bytes()
}

fn joined(bench: &Bench, blocks: &[CarriedBlock]) -> usize {
    let is_one = |notice: &&Notice| matches!(notice, Notice::Added { hash, .. } if blocks.iter().any(|block| block.hash == *hash));
    bench.notices.iter().filter(is_one).count()
}

#[test]
fn silent_claimants_hold_up_nothing_and_lose_their_connections() {
    let mut maker = Maker::new();
    maker.add_many(6, 0);
    let mut bench = Bench::new(Settings::default());
    bench.run_to(5_000);
    let silent = 1..20;
    bench.connect(0, &maker.blocks, Manner::Honest);
    for n in silent.clone() {
        bench.connect(n, &[], Manner::Silent);
        bench.tell(Event::Asked {
            peer: peer(n),
            ticket: n as u64,
            bytes: boast(n),
        });
    }
    bench.run_to(5_010);
    assert_eq!(bench.tip(), maker.blocks[5].hash);
    for second in 5_011..5_120 {
        for n in silent.clone() {
            if !bench.disconnected.contains(&peer(n)) {
                bench.ask(n, boast(n));
            }
        }
        if second == 5_060 {
            maker.add_many(3, 0);
            bench.has(0, &maker.blocks);
        }
        bench.run_to(second);
        if second == 5_075 {
            assert_eq!(bench.tip(), maker.blocks[8].hash, "claims outlast patience");
        }
    }
    for n in silent {
        assert!(bench.disconnected.contains(&peer(n)), "peer {n}");
    }
    assert!(!bench.disconnected.contains(&peer(0)));
}

#[test]
fn a_new_node_follows_the_most_work_delivered_not_the_highest_claim() {
    let mut honest = Maker::new();
    honest.add_many(18, 0);
    let mut poor = Maker::new();
    poor.add_many(18, 5);
    let work = |maker: &Maker| maker.blocks[17].header.difficulty;
    assert!(work(&poor) < work(&honest));
    let mut bench = Bench::new(Settings::default());
    bench.run_to(50_000);
    for n in 0..12 {
        bench.connect(n, &poor.blocks, Manner::Boasts);
    }
    // The only honest peer connects last.
    bench.connect(12, &honest.blocks, Manner::Honest);
    bench.run_to(50_030);
    assert_eq!(bench.tip(), honest.blocks[17].hash);
    assert_eq!(
        joined(&bench, &poor.blocks),
        0,
        "it never had another branch"
    );
    let told = bench
        .penalties
        .iter()
        .filter(|code| **code == "chain_peer.empty_claim");
    assert!(told.count() > 0, "{:?}", bench.penalties);
}

#[test]
fn headers_beyond_known_stake_carry_no_weight() {
    // Our blocks after the common one: within and beyond the rollback limit of twelve.
    for ours in [8, 20] {
        let mut maker = Maker::new();
        maker.add_many(ours, 0);
        let mut theirs = Maker::new();
        // As many blocks as the stake age, each by the last forger in the order of turns.
        theirs.add_many(20, 5);
        let branch = theirs.throwaway(60);
        let mut bench = core_with(&maker, Settings::default());
        let tip = bench.core.overlay().tip().difficulty;
        assert!(theirs.blocks[19].header.difficulty < tip);
        assert!(branch[79].header.difficulty > tip);
        bench.run_to(20_000);
        bench.connect(1, &branch, Manner::Honest);
        bench.run_to(20_100);
        assert_eq!(bench.tip(), maker.blocks[ours - 1].hash, "{ours}");
        assert_eq!(bench.core.figures().deep_fork, None, "{ours}");
        let popped = |notice: &Notice| matches!(notice, Notice::Popped { .. });
        assert!(!bench.notices.iter().any(popped), "{ours}");
        let deep = |notice: &Notice| {
            matches!(
                notice,
                Notice::TooDeep {
                    common: Height::GENESIS,
                    ..
                }
            )
        };
        assert!(bench.notices.iter().any(deep), "{ours}: it is reported");
        let next = maker.make(0, Vec::new());
        assert_eq!(bench.announce(0, &next), Some(Verdict::Accept), "{ours}");
        assert_eq!(bench.tip(), next.hash, "{ours}: it goes on");
    }
}

#[test]
fn a_followed_branch_joins_no_block_before_its_time() {
    let mut maker = Maker::on(slow());
    maker.add_many(6, 0);
    let last = maker.blocks[5].header.time.get();
    let before = maker.blocks[4].header.time.get();
    let mut bench = Bench::on(slow(), Settings::default());
    bench.run_to(before.max(last - 3));
    bench.connect(0, &maker.blocks, Manner::Honest);
    bench.run_to(last - 1);
    assert_eq!(bench.tip(), maker.blocks[4].hash);
    bench.run_to(last);
    assert_eq!(bench.tip(), maker.blocks[5].hash, "and at once then");
    assert_eq!(bench.penalties, [""; 0]);
}

#[test]
fn a_checkpoint_that_the_stored_chain_contradicts_is_refused_at_start() {
    let mut ours = Maker::new();
    ours.add_many(4, 2);
    let mut theirs = Maker::new();
    theirs.add_many(4, 0);
    let bench = core_with(&ours, Settings::default());
    let open = |height: u32, hash: Hash| {
        let settings = Settings {
            trusted: vec![(Height::new(height), hash)],
            ..Settings::default()
        };
        Core::open(
            bench.store.clone(),
            genesis(),
            settings,
            ChainTime::from_ms(5_000_000),
        )
        .map(|_| ())
    };
    assert!(open(2, ours.blocks[1].hash).is_ok());
    assert!(open(9, theirs.blocks[1].hash).is_ok(), "not reached yet");
    assert!(open(0, genesis().hash).is_ok());
    for (height, hash) in [(2, theirs.blocks[1].hash), (0, theirs.blocks[0].hash)] {
        match open(height, hash) {
            Err(Fault::Refused(rejection)) => {
                assert_eq!(rejection.code, "chain.checkpoint_mismatch");
                assert!(rejection.detail.contains(&hash.to_string()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_contest_asks_a_bounded_number_of_peers_at_once() {
    let mut bench = Bench::new(Settings::default());
    bench.run_to(100);
    for n in 0..60 {
        bench.connect(n, &[], Manner::Silent);
        bench.tell(Event::Asked {
            peer: peer(n),
            ticket: n as u64,
            bytes: boast(n),
        });
    }
    assert_eq!(
        bench.core.figures().headers_asked,
        limits::HEADER_REQUESTS_MAX
    );
}

#[test]
fn withheld_bodies_delay_forging_by_a_quarter_of_the_block_time() {
    let mut common = Maker::new();
    common.add_many(6, 0);
    // Each of these peers has a better block than our tip at the same height, and withholds its body.
    let better = [0, 1, 2].map(|place| {
        let mut maker = common.fork(6);
        maker.add(place, vec![payment(2, 7)]);
        maker
    });
    let mut ours = common.fork(6);
    ours.add(ACCOUNTS - 1, Vec::new());
    let next = ours.make(0, Vec::new());
    let forger = (0..ACCOUNTS).find(|n| public(*n) == next.header.forger);
    let mut bench = Bench::new(Settings::default());
    bench.run_to(ours.blocks[6].header.time.get());
    bench.connect(0, &ours.blocks, Manner::Honest);
    bench.run_to(next.header.time.get() - 1);
    assert_eq!(bench.tip(), ours.blocks[6].hash);
    bench.tell(Event::StartForging(key(forger.expect("an account"))));
    for (n, maker) in better.iter().enumerate() {
        bench.connect(1 + n, &maker.blocks, Manner::WithholdsBodies);
    }
    bench.run_to(next.header.time.get());
    assert!(bench.core.figures().catching_up_to.is_some(), "it is asked");
    bench.run_to(next.header.time.get() + 1);
    assert_eq!(bench.core.figures().forged, 1);
    assert_eq!(
        bench.core.overlay().hash_at(Height::new(8)),
        Ok(Some(next.hash))
    );
}

/// Returns a chain after which two forgers have their turns in the same second, before all others.
fn before_a_draw() -> Maker {
    for place in 0..ACCOUNTS {
        let mut maker = Maker::new();
        for _ in 0..limits::LONG_BRANCH_BLOCKS {
            let [first, second] = [0, 1].map(|place| maker.make(place, Vec::new()).header);
            if first.time == second.time {
                return maker;
            }
            maker.add(place, Vec::new());
        }
    }
    panic!("there is such a chain");
}

#[test]
fn a_block_announced_early_wins_no_draw() {
    let maker = before_a_draw();
    let blocks = [0, 1].map(|place| maker.make(place, Vec::new()));
    let time = blocks[0].header.time.get();
    for (own, other) in [(0, 1), (1, 0)] {
        let mut bench = Bench::new(Settings::default());
        bench.run_to(time - 1);
        bench.connect(0, &maker.blocks, Manner::Honest);
        assert_eq!(bench.height() as usize, maker.blocks.len());
        let forger = (0..ACCOUNTS).find(|n| public(*n) == blocks[own].header.forger);
        bench.tell(Event::StartForging(key(forger.expect("an account"))));
        assert_eq!(bench.announce(0, &blocks[other]), Some(Verdict::Accept));
        bench.run_to(time);
        assert_eq!(bench.core.figures().forged, 1, "it forges its own block");
        let smaller = blocks.iter().map(|block| block.hash).min();
        assert_eq!(Some(bench.tip()), smaller, "the hash decides");
    }
}
