//! Forgers that sign two blocks on one parent, and local keys that must not do so.

use chain::block::CarriedBlock;
use chain::core::{Equivocation, Event, Notice, Settings, Verdict, equivocations, limits};
use chain::port::{Table, WriteBatch};
use chain::pos::BaseTarget;
use chain::state::turn;
use chain::{Header, Height, Transaction};

use crate::core::bench::{Bench, Maker, Manner};
use crate::core::branches::{core_with, payment};
use crate::core::kit::{ACCOUNTS, EACH, genesis, key, public};

/// Returns two blocks by the forger at this place on one parent, the one with the smaller hash first.
fn two(maker: &Maker, place: usize) -> [CarriedBlock; 2] {
    let mut both = [1, 2].map(|amount| maker.make(place, vec![payment(2, amount)]));
    assert_eq!(both[0].header.forger, both[1].header.forger);
    both.sort_by_key(|block| block.hash);
    both
}

fn evidence(bench: &Bench) -> Vec<Equivocation> {
    let kept = equivocations(&bench.store, None, limits::EQUIVOCATIONS_MAX).expect("rows");
    assert_eq!(bench.core.figures().evidence, kept.len());
    for one in &kept {
        assert_eq!(one.verify(&genesis().hash), Ok(()));
    }
    kept
}

fn common() -> Maker {
    let mut maker = Maker::new();
    maker.add_many(3, 0);
    maker
}

#[test]
fn the_first_of_two_blocks_by_one_forger_stays() {
    for first in [0, 1] {
        let maker = common();
        let both = two(&maker, 0);
        let mut bench = core_with(&maker, Settings::default());
        bench.connect(1, &both, Manner::Honest);
        let (first, second) = (&both[first], &both[1 - first]);
        assert_eq!(bench.announce(1, first), Some(Verdict::Accept));
        assert_eq!(bench.tip(), first.hash);
        assert_eq!(bench.announce(1, second), Some(Verdict::Accept), "evidence");
        let third = maker.make(0, vec![payment(3, 9)]);
        assert_eq!(bench.announce(1, &third), Some(Verdict::Ignore));
        assert_eq!(bench.tip(), first.hash);
        let kept = evidence(&bench);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].first, first.header);
        assert_eq!(kept[0].second, second.header);
        let told = |notice: &Notice| matches!(notice, Notice::Equivocated(it) if **it == kept[0]);
        assert!(bench.notices.iter().any(told), "the operator is told");
        bench.restart();
        assert_eq!(evidence(&bench), kept, "after a restart");
        bench.connect(1, &both, Manner::Honest);
        bench.run_to(5_100);
        assert_eq!(bench.tip(), first.hash);
        assert_eq!(bench.penalties, [""; 0]);
    }
}

#[test]
fn a_branch_with_a_second_block_needs_more_work() {
    let maker = common();
    let [smaller, larger] = two(&maker, 0);
    let mut bench = core_with(&maker, Settings::default());
    bench.connect(1, std::slice::from_ref(&larger), Manner::Honest);
    bench.announce(1, &larger);
    assert_eq!(bench.tip(), larger.hash);
    let mut theirs = maker.blocks.clone();
    theirs.push(smaller.clone());
    bench.connect(2, &theirs, Manner::Honest);
    bench.run_to(5_060);
    assert_eq!(bench.tip(), larger.hash);
    assert_eq!(evidence(&bench).len(), 1, "by its headers");
    assert_eq!(bench.penalties, [""; 0]);
    let mut next = maker.fork(3);
    next.append(&smaller);
    next.add(0, Vec::new());
    bench.has(2, &next.blocks);
    bench.run_to(5_120);
    assert_eq!(bench.tip(), next.blocks[4].hash);
    assert_eq!(bench.penalties, [""; 0]);
}

#[test]
fn a_second_block_that_breaks_a_rule_is_no_evidence() {
    let maker = common();
    let [first, second] = two(&maker, 0);
    let mut unsigned = second.clone();
    unsigned.header.signature[5] ^= 1;
    let mut heavier = second.clone();
    heavier.header.base_target = BaseTarget::new(heavier.header.base_target.get() + 1);
    resign(&mut heavier.header);
    let cases = [
        (unsigned, "chain_block.signature"),
        (heavier, "chain_block.base_target"),
    ];
    for (bad, code) in cases {
        let mut bench = core_with(&maker, Settings::default());
        bench.connect(1, std::slice::from_ref(&first), Manner::Honest);
        bench.announce(1, &first);
        assert_eq!(bench.announce(1, &bad), Some(Verdict::Reject), "{code}");
        assert_eq!(bench.penalties, [code]);
        assert_eq!(evidence(&bench), []);
    }
}

/// Announces blocks of one forger on one parent, each better than the tip. Returns the verdicts and the number of rollbacks.
fn announce_all(blocks: &[CarriedBlock], has_bodies: bool) -> (Vec<Verdict>, usize, Bench) {
    let mut maker = common();
    let tip = maker.add(ACCOUNTS - 1, Vec::new());
    let mut bench = core_with(&maker, Settings::default());
    bench.tell(Event::Submit {
        ticket: 1,
        transactions: vec![payment(2, 5)],
    });
    bench.connect(1, &[], Manner::Honest);
    if has_bodies {
        // The last block is the one that its status names. It has less work than our tip.
        let mut chain = blocks.to_vec();
        chain.push(maker.blocks[0].clone());
        bench.has(1, &chain);
    }
    let announced = blocks.iter().map(|block| bench.announce(1, block));
    let verdicts: Option<Vec<Verdict>> = announced.collect();
    assert_eq!(bench.tip(), tip.hash);
    let popped = |notice: &&Notice| matches!(notice, Notice::Popped { .. });
    let rolled_back = bench.notices.iter().filter(popped).count();
    (verdicts.expect("all are judged"), rolled_back, bench)
}

#[test]
fn one_turn_has_one_block_tried_and_two_headers_forwarded() {
    type Pay = fn(u64) -> Vec<Transaction>;
    type Change = fn(&mut Header, u32);
    let nothing: Pay = |_| Vec::new();
    let pooled: Pay = |_| vec![payment(2, 5)];
    let unknown: Pay = |n| vec![payment(3, n)];
    let overdrawn: Pay = |n| vec![payment(2, 50 * EACH + n)];
    let same: Change = |_, _| {};
    let length: Change = |header, n| header.body_bytes += n;
    let children: Change = |header, n| header.child_count += n;
    let rejected = [Verdict::Reject; 5];
    let ignored = Verdict::Ignore;
    let twice = [Verdict::Accept, Verdict::Accept, ignored, ignored, ignored];
    // The transactions and the change of the header, whether the bodies are delivered, the verdicts and the rollbacks.
    type Case = (&'static str, Pay, Change, bool, [Verdict; 5], usize);
    let cases: [Case; 5] = [
        ("empty, with a length", nothing, length, true, rejected, 0),
        ("empty, with children", nothing, children, true, rejected, 0),
        ("another length", pooled, length, true, twice, 0),
        ("overdrawn", overdrawn, same, true, twice, 1),
        ("withheld", unknown, same, false, twice, 0),
    ];
    let parent = common();
    for (name, transactions, change, has_bodies, expected, rollbacks) in cases {
        let blocks = (1..=5).map(|n| {
            let mut block = parent.make(0, transactions(n));
            change(&mut block.header, n as u32);
            resign(&mut block.header);
            CarriedBlock::new(&genesis().hash, block.header, block.body)
        });
        let blocks: Vec<CarriedBlock> = blocks.collect();
        let (verdicts, rolled_back, bench) = announce_all(&blocks, has_bodies);
        assert_eq!(verdicts, expected, "{name}");
        assert_eq!(rolled_back, rollbacks, "{name}");
        // The header alone shows only what is rejected, and no such header is evidence.
        let (blamed, kept) = if expected == rejected { (5, 0) } else { (0, 1) };
        let penalties = vec!["chain_block.counts"; blamed];
        assert_eq!(bench.penalties, penalties, "{name}");
        assert_eq!(evidence(&bench).len(), kept, "{name}");
    }
}

fn resign(header: &mut Header) {
    let forger = (0..ACCOUNTS).find(|n| public(*n) == header.forger);
    header.sign(&genesis().hash, &key(forger.expect("an account")));
}

#[test]
fn one_assembly_for_each_forger_and_parent() {
    let maker = common();
    let mut bench = core_with(&maker, Settings::default());
    bench.connect(1, &[], Manner::WithholdsBodies);
    let honest = maker.make(1, vec![payment(4, 1)]);
    assert_eq!(bench.announce(1, &honest), Some(Verdict::Accept));
    for amount in 1..=2 * limits::ASSEMBLIES_MAX as u64 {
        let rival = maker.make(0, vec![payment(2, amount)]);
        bench.announce(1, &rival);
    }
    assert_eq!(bench.core.figures().assemblies, 2);
    let again = bench.announce(1, &honest);
    assert_eq!(again, Some(Verdict::Ignore), "still put together");
    assert_eq!(evidence(&bench).len(), 1);
}

#[test]
fn the_assembly_with_the_least_work_is_evicted() {
    let mut maker = common();
    // By the last forger in the order of turns, so that all others beat it at the same height.
    maker.add(ACCOUNTS - 1, Vec::new());
    let before = maker.fork(3);
    let mut bench = core_with(&maker, Settings::default());
    bench.connect(1, &[], Manner::WithholdsBodies);
    let unknown = |maker: &Maker, place: usize| maker.make(place, vec![payment(2, 7)]);
    let best = unknown(&maker, 0);
    bench.announce(1, &best);
    let others = (1..ACCOUNTS).map(|place| unknown(&maker, place));
    let beside = (0..ACCOUNTS - 1).map(|place| unknown(&before, place));
    let mut all: Vec<CarriedBlock> = others.chain(beside).collect();
    for block in &all {
        assert_eq!(bench.announce(1, block), Some(Verdict::Accept));
    }
    assert!(all.len() > limits::ASSEMBLIES_MAX);
    assert_eq!(bench.core.figures().assemblies, limits::ASSEMBLIES_MAX);
    all.push(best);
    all.sort_by_key(|block| std::cmp::Reverse(block.header.difficulty));
    for block in &all[..limits::ASSEMBLIES_MAX] {
        assert_eq!(bench.announce(1, block), Some(Verdict::Ignore), "it stays");
    }
}

/// Returns a core that has forged some blocks alone.
fn forged(count: u32) -> Bench {
    let settings = Settings {
        forgers: vec![key(0)],
        ..Settings::default()
    };
    let mut bench = Bench::new(settings);
    let mut second = 0;
    while bench.height() < count {
        second += 1;
        bench.run_to(second);
    }
    bench
}

#[test]
fn blocks_forged_here_join_again_after_they_were_taken_back() {
    let mut bench = forged(6);
    let tip = bench.tip();
    let (ticket, height) = (1, 2);
    bench.tell(Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    assert!(bench.orders.pop().is_some_and(|done| done.is_ok()));
    assert_eq!(bench.tip(), tip);
    let figures = bench.core.figures();
    assert_eq!((figures.forged, figures.forged_again), (6, 4));
}

#[test]
fn a_key_signs_no_second_block_on_a_parent() {
    let mut bench = forged(6);
    let (ticket, height) = (1, 2);
    bench.tell_only(Event::StopForging(public(0)));
    bench.tell(Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    assert_eq!(bench.height(), 2);
    // The blocks are deleted, but the record of them remains.
    let mut batch = WriteBatch::default();
    for (hash, _) in bench.store.rows(Table::Side) {
        batch.delete(Table::Side, hash);
    }
    bench.store.commit(batch);
    bench.restart();
    let now = (bench.now_ms / 1_000) as u32;
    bench.run_to(now + 60);
    assert_eq!(bench.height(), 2);
    assert_eq!(bench.core.figures().turns_refused, 1);
    // The network continues after a standstill of an hour.
    bench.run_to(now + genesis().params.standstill_seconds.get() + 60);
    assert!(bench.height() > 2);
}

#[test]
fn an_old_copy_meets_peers_before_it_uses_a_missed_turn() {
    let mut maker = common();
    let old = maker.fork(3);
    maker.add(0, vec![payment(2, 5)]);
    let forger = (0..ACCOUNTS).find(|n| public(*n) == maker.blocks[3].header.forger);
    let forger = forger.expect("an account");
    for meets in [true, false] {
        let mut bench = core_with(&old, Settings::default());
        bench.reopen();
        bench.tell(Event::StartForging(key(forger)));
        let turn = turn(bench.core.overlay(), &genesis(), &public(forger));
        assert!(turn.expect("rows").is_some_and(|turn| turn.get() < 5_000));
        assert_eq!(bench.height(), 3, "it waits");
        bench.run_to(5_002);
        if meets {
            bench.connect(1, &maker.blocks, Manner::Honest);
        }
        bench.run_to(5_004);
        let here = bench.core.figures().forged_again + bench.core.figures().forged;
        match meets {
            true => assert_eq!(
                bench.core.overlay().hash_at(Height::new(4)),
                Ok(Some(maker.blocks[3].hash))
            ),
            false => assert!(here > 0, "it goes on alone"),
        }
        assert_eq!(evidence(&bench), []);
    }
}
