//! Tests of the choice between branches, and of the core's invariants.

use chain::block::CarriedBlock;
use chain::core::{Core, Event, Notice, OrderDone, Settings, Verdict, limits, removal_reason};
use chain::message::{Answer, Question, Status};
use chain::port::{Table, WriteBatch};
use chain::state::{Fault, Pruned};
use chain::{
    AccountId, Anchor, BlockTimestamp, Body, ChainId, ChainTime, Height, MinorUnits, Minutes,
    Transaction,
};
use primitives::{Hash, KeyPair};

use crate::core::bench::{Bench, Maker, Manner};
use crate::core::kit::{EACH, account, forgetful, genesis, key, peer, public};

/// Returns a payment on the parent chain by an account, made at genesis.
pub fn payment(from: usize, amount: u64) -> Transaction {
    pay(&key(from), public(from), account(1), amount)
}

fn pay(pair: &KeyPair, sender: [u8; 32], to: AccountId, amount: u64) -> Transaction {
    let genesis = genesis();
    let mut transaction = Transaction {
        chain: ChainId::PARENT,
        time: BlockTimestamp::new(1),
        deadline_minutes: Minutes::new(1_440),
        sender,
        fee: MinorUnits::new(100),
        anchor: Anchor::at(Height::GENESIS, &genesis.hash),
        body: Body::Payment {
            to,
            amount: MinorUnits::new(amount),
            message: Vec::new(),
        },
        signature: [0; 64],
    };
    transaction.sign(&genesis.hash, pair);
    transaction
}

/// Returns a core with a maker's blocks, at a time after all of them.
pub fn core_with(maker: &Maker, settings: Settings) -> Bench {
    let mut bench = Bench::new(settings);
    bench.run_to(5_000);
    bench.connect(0, &[], Manner::Honest);
    for block in &maker.blocks {
        assert_eq!(bench.announce(0, block), Some(Verdict::Accept));
    }
    assert_eq!(bench.height() as usize, maker.blocks.len());
    bench
}

#[test]
fn of_blocks_at_one_height_the_one_with_more_work_wins_in_any_order() {
    // The places in the order of turns, in the order of arrival, and the place of the tip after each arrival.
    let cases: &[(&[usize], &[usize])] = &[
        (&[0, 1, 2], &[0, 0, 0]),
        (&[2, 1, 0], &[2, 1, 0]),
        (&[1, 2, 0], &[1, 1, 0]),
        (&[2, 0, 1], &[2, 0, 0]),
    ];
    for (order, expected) in cases {
        let mut maker = Maker::new();
        maker.add_many(3, 0);
        let mut bench = core_with(&maker, Settings::default());
        for (came, best) in order.iter().zip(*expected) {
            bench.announce(0, &maker.make(*came, Vec::new()));
            let best = maker.make(*best, Vec::new()).hash;
            assert_eq!(bench.tip(), best, "{order:?}, after {came}");
        }
        assert_eq!(bench.height(), 4);
        assert!(
            bench.penalties.is_empty(),
            "{order:?}: {:?}",
            bench.penalties
        );
    }
}

#[test]
fn a_longer_branch_is_followed_by_its_headers_and_payments_of_ours_wait_again() {
    let mut common = Maker::new();
    common.add_many(4, 0);
    let mut ours = common.fork(4);
    let paid = payment(2, 5);
    ours.add(1, vec![paid.clone()]);
    ours.add_many(2, 1);
    let mut bench = core_with(&common, Settings::default());
    bench.connect(1, &ours.blocks, Manner::Honest);
    bench.run_to(5_020);
    assert_eq!(bench.tip(), ours.blocks[6].hash);
    let mut theirs = common.fork(4);
    theirs.add(0, vec![payment(3, 7)]);
    theirs.add_many(5, 0);
    bench.connect(2, &theirs.blocks, Manner::Honest);
    bench.run_to(5_050);
    assert_eq!(bench.tip(), theirs.blocks[9].hash);
    let forked = bench.notices.iter().any(|notice| {
        matches!(
            notice,
            Notice::Forked { common, depth: 3 } if *common == Height::new(4)
        )
    });
    assert!(forked, "{:?}", bench.notices);
    let id = paid.id(&genesis().hash);
    assert!(
        bench.core.pool().contains(&id),
        "it waits for a block again"
    );
    let balance = bench.core.overlay().balance(&account(1), ChainId::PARENT);
    assert!(balance.unwrap().get() >= EACH + 7);
}

#[test]
fn a_branch_from_a_block_with_a_damaged_row_is_not_followed() {
    let mut common = Maker::new();
    common.add_many(4, 0);
    let mut ours = common.fork(4);
    ours.add_many(2, 1);
    let mut theirs = common.fork(4);
    theirs.add(0, vec![payment(3, 7)]);
    theirs.add_many(5, 0);
    // Above the tip, and at another block.
    for height in [40, 3] {
        let mut bench = core_with(&ours, Settings::default());
        bench.asked.clear();
        bench.connect(1, &theirs.blocks, Manner::Slow);
        while !bench.asked.contains("bodies") {
            bench.deliver();
            bench.rounds();
        }
        let mut batch = WriteBatch::default();
        let value = Height::new(height).to_be_bytes();
        batch.put(Table::ByHash, *common.blocks[3].hash.as_bytes(), value);
        bench.store.commit(batch);
        let failure = bench.deliver_failing().expect("the row is damaged");
        assert_eq!(failure.code, "chain.store_damaged", "{failure}");
        assert!(failure.message.contains(&height.to_string()), "{failure}");
        assert_eq!(bench.tip(), ours.blocks[5].hash);
    }
}

#[test]
fn a_side_block_with_another_ones_header_is_damage() {
    let mut maker = Maker::new();
    maker.add_many(2, 0);
    let bench = Bench::new(Settings::default());
    let mut batch = WriteBatch::default();
    for (more, block) in (1..).zip(&maker.blocks) {
        let mut header = block.header.clone();
        header.difficulty += more;
        batch.put(Table::Side, *block.hash.as_bytes(), header.to_bytes());
    }
    bench.store.commit(batch);
    let now = ChainTime::from_ms(5_000_000);
    let opened = Core::open(bench.store.clone(), genesis(), Settings::default(), now);
    match opened.map(drop) {
        Err(Fault::Store(failure)) => assert_eq!(failure.code, "chain.store_damaged"),
        other => panic!("{other:?}"),
    }
}

/// Returns a payment whose anchor is the newest that a block after these may have.
fn youngest_anchored(blocks: &[CarriedBlock]) -> Transaction {
    let depth = genesis().params.anchor_depth_min as usize;
    let anchor = &blocks[blocks.len() - depth];
    assert_eq!(
        anchor.header.height.get() as usize,
        blocks.len() + 1 - depth
    );
    let mut paid = payment(2, 5);
    paid.anchor = Anchor::at(anchor.header.height, &anchor.hash);
    paid.sign(&genesis().hash, &key(2));
    paid
}

/// Submits the payment, lets the core follow branches one after the other, and returns the reason why the payment left.
fn left_after(ours: &Maker, paid: &Transaction, branches: &[&Maker]) -> Option<String> {
    let mut bench = core_with(ours, Settings::default());
    bench.tell(Event::Submit {
        ticket: 1,
        transactions: vec![paid.clone()],
    });
    let id = paid.id(&genesis().hash);
    assert_eq!(bench.outcomes, [Ok(id)]);
    for (n, branch) in (1..).zip(branches) {
        bench.connect(n, &branch.blocks, Manner::Honest);
        bench.run_to(5_000 + 50 * n as u32);
        assert_eq!(
            bench.tip(),
            branch.blocks.last().unwrap().hash,
            "branch {n}"
        );
    }
    let waits = bench.core.pool().contains(&id);
    let left = removal_reason(&bench.store, &id)
        .unwrap()
        .map(|(_, code)| code);
    assert_eq!(waits, left.is_none());
    left
}

#[test]
fn fork_as_deep_as_youngest_anchor_drops_its_payments() {
    let mut common = Maker::new();
    common.add_many(6, 0);
    let mut ours = common.fork(6);
    ours.add_many(4, 2);
    let paid = youngest_anchored(&ours.blocks);
    for (height, left) in [(5, Some("chain_pool.anchor_lost".to_owned())), (6, None)] {
        let mut theirs = common.fork(height);
        theirs.add(1, vec![payment(3, 1)]);
        theirs.add_many(12 - height, 0);
        assert_eq!(left_after(&ours, &paid, &[&theirs]), left, "{height}");
    }
}

#[test]
fn shallow_fork_after_shorter_branch_drops_lost_anchors() {
    let mut common = Maker::new();
    common.add_many(6, 0);
    let mut ours = common.fork(6);
    ours.add_many(2, 5);
    let paid = youngest_anchored(&ours.blocks);
    assert_eq!(paid.anchor.height, Height::new(4));
    // One block with more work than two late ones. Then a branch from below the anchor that rolls back only four blocks.
    let mut shorter = common.fork(6);
    shorter.add(0, Vec::new());
    let mut shallow = common.fork(3);
    shallow.add(1, vec![payment(3, 1)]);
    shallow.add_many(8, 0);
    let left = left_after(&ours, &paid, &[&shorter, &shallow]);
    assert_eq!(left.as_deref(), Some("chain_pool.anchor_lost"));
}

#[test]
fn what_has_no_room_when_it_is_taken_back_and_is_in_the_branch_has_not_left() {
    let mut common = Maker::new();
    common.add_many(4, 0);
    let paid = payment(2, 5);
    let mut ours = common.fork(4);
    ours.add(1, vec![paid.clone()]);
    ours.add_many(2, 1);
    let mut theirs = common.fork(4);
    theirs.add(0, vec![paid.clone()]);
    theirs.add_many(5, 0);
    let mut settings = Settings::default();
    settings.pool.transactions_max = 1;
    let mut bench = core_with(&common, settings);
    bench.connect(1, &ours.blocks, Manner::Honest);
    bench.run_to(5_020);
    assert_eq!(bench.tip(), ours.blocks[6].hash);
    let mut dearer = payment(3, 1);
    dearer.fee = MinorUnits::new(10_000);
    dearer.sign(&genesis().hash, &key(3));
    bench.tell(Event::Submit {
        ticket: 1,
        transactions: vec![dearer],
    });
    assert!(bench.outcomes.iter().all(Result::is_ok));
    bench.connect(2, &theirs.blocks, Manner::Honest);
    bench.run_to(5_050);
    assert_eq!(bench.tip(), theirs.blocks[9].hash);
    let id = paid.id(&genesis().hash);
    assert_eq!(removal_reason(&bench.store, &id), Ok(None));
    let left = |notice: &Notice| matches!(notice, Notice::Removed { .. });
    assert!(!bench.notices.iter().any(left), "{:?}", bench.notices);
}

#[test]
fn a_branch_beyond_the_rollback_limit_is_reported_and_not_followed() {
    let mut ours = Maker::new();
    ours.add_many(14, 3);
    let mut theirs = Maker::new();
    theirs.add_many(20, 0);
    let mut bench = core_with(&ours, Settings::default());
    bench.connect(1, &theirs.blocks, Manner::Honest);
    bench.run_to(5_100);
    assert_eq!(bench.tip(), ours.blocks[13].hash);
    let stuck = bench.core.figures().deep_fork.expect("it is reported");
    assert_eq!(
        (stuck.common, stuck.other),
        (Height::GENESIS, theirs.blocks[19].hash)
    );
    let next = ours.make(0, Vec::new());
    assert_eq!(bench.announce(0, &next), Some(Verdict::Accept));
    assert_eq!(bench.tip(), next.hash, "it goes on with its own");
    for (height, done) in [(99, false), (5, true)] {
        let ticket = 1;
        bench.tell(Event::PopOff {
            ticket,
            height: Height::new(height),
        });
        let outcome = bench.orders.pop().expect("an order is answered");
        assert_eq!(outcome.is_ok(), done, "{height}: {outcome:?}");
    }
    bench.run_to(5_200);
    assert_eq!(bench.tip(), theirs.blocks[19].hash);
    assert_eq!(bench.core.figures().deep_fork, None);
}

#[test]
fn a_branch_that_cannot_even_be_judged_is_not_followed_and_the_operator_is_told_once() {
    let mut ours = Maker::new();
    ours.add_many(30, 3);
    let mut theirs = Maker::new();
    theirs.add_many(40, 0);
    let mut bench = core_with(&ours, Settings::default());
    bench.connect(1, &theirs.blocks, Manner::Honest);
    bench.run_to(5_100);
    assert_eq!(bench.tip(), ours.blocks[29].hash);
    let figures = bench.core.figures();
    assert_eq!(figures.deep_fork, None);
    assert!(figures.deep_branches > 1, "it is looked at again and again");
    let told: Vec<_> = bench
        .notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::TooDeep {
                peer,
                common,
                other,
            } => Some((*peer, *common, *other)),
            _ => None,
        })
        .collect();
    assert_eq!(told, [(peer(1), Height::GENESIS, theirs.blocks[39].hash)]);
    let next = ours.make(0, Vec::new());
    assert_eq!(bench.announce(0, &next), Some(Verdict::Accept));
    assert_eq!(bench.tip(), next.hash, "it goes on with its own");
    let (ticket, height) = (1, 0);
    bench.tell(Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    let refused = bench.orders.pop().and_then(Result::err);
    assert!(refused.is_some_and(|refused| refused.code == "chain_block.too_deep"));
}

#[test]
fn what_one_peer_does_not_deliver_another_one_is_asked_for() {
    for manner in [Manner::WithholdsBodies, Manner::Silent] {
        let mut maker = Maker::new();
        for n in 0..6 {
            maker.add(0, vec![payment(2, n + 1)]);
        }
        let mut bench = Bench::new(Settings::default());
        bench.run_to(5_000);
        bench.connect(0, &maker.blocks, manner);
        bench.connect(1, &maker.blocks, Manner::Honest);
        bench.run_to(5_100);
        assert_eq!(bench.tip(), maker.blocks[5].hash, "{manner:?}");
        let next = maker.add(0, vec![payment(3, 1)]);
        bench.connect(1, &maker.blocks, Manner::Honest);
        bench.announce(0, &next);
        bench.run_to(5_200);
        assert_eq!(bench.tip(), next.hash, "{manner:?}: announced by it");
        let waiting = bench.core.figures().questions;
        assert!(
            waiting <= limits::QUESTIONS_PER_PEER_MAX,
            "{manner:?}: {waiting}"
        );
    }
}

#[test]
fn what_there_is_no_room_to_ask_is_asked_in_a_moment_and_held_against_nobody() {
    for manner in [Manner::Busy, Manner::Refused] {
        let mut maker = Maker::new();
        for n in 0..6 {
            maker.add(0, vec![payment(2, n + 1)]);
        }
        let mut bench = Bench::new(Settings::default());
        bench.run_to(5_000);
        bench.connect(0, &maker.blocks, manner);
        bench.run_to(5_002);
        assert_eq!(bench.height(), 0, "{manner:?}");
        bench.behaves(0, Manner::Honest);
        bench.run_to(5_003);
        assert_eq!(bench.tip(), maker.blocks[5].hash, "{manner:?}");
        assert_eq!(bench.penalties, [""; 0], "{manner:?}");
    }
}

#[test]
fn a_busy_peer_is_asked_again_and_not_blamed() {
    let mut maker = Maker::new();
    for n in 0..6 {
        maker.add(0, vec![payment(2, n + 1)]);
    }
    let mut bench = Bench::new(Settings::default());
    bench.run_to(5_000);
    bench.connect(0, &maker.blocks, Manner::Busy);
    bench.run_to(5_060);
    assert_eq!(bench.height(), 0, "nobody has room");
    assert!(bench.asked.contains("bodies"));
    bench.behaves(0, Manner::Honest);
    bench.run_to(5_070);
    assert_eq!(bench.tip(), maker.blocks[5].hash, "asked again by itself");
    assert_eq!(bench.penalties, [""; 0]);
}

#[test]
fn bodies_go_by_order_as_far_as_they_may() {
    let genesis = forgetful();
    let mut maker = Maker::on(genesis.clone());
    let mut time = BlockTimestamp::new(1);
    for _ in 0..400 {
        let mut paid = payment(2, 1);
        (paid.time, paid.deadline_minutes) = (time, Minutes::new(10));
        paid.anchor = Anchor::at(Height::GENESIS, &genesis.hash);
        paid.sign(&genesis.hash, &key(2));
        time = maker.add(0, vec![paid]).header.time;
    }
    let mut bench = Bench::on(genesis, Settings::default());
    bench.run_to(5_000);
    bench.connect(0, &maker.blocks, Manner::Honest);
    bench.run_to(5_100);
    assert_eq!(bench.height(), 400);
    let has_body = |bench: &mut Bench, height: usize| {
        let hash = maker.blocks[height - 1].hash;
        let answer = bench.ask(0, Question::Bodies(vec![hash]).to_bytes());
        matches!(answer, Answer::Bodies(found) if found.len() == 1)
    };
    assert!(has_body(&mut bench, 1));
    bench.tell(Event::Prune {
        ticket: 1,
        keep: 100,
    });
    let ordered = bench.orders.pop().expect("an outcome");
    assert!(
        ordered
            .as_ref()
            .is_ok_and(|done| matches!(done, OrderDone::PruneBegun { blocks: 1.., .. }))
    );
    let gone = |bench: &Bench| Pruned::load(bench.core.overlay()).unwrap().bodies.get();
    let until = gone(&bench) as usize;
    // Bodies stay for ten minutes of blocks of four seconds, and for the blocks that can be undone.
    assert!((100..300).contains(&until), "{until}");
    for (height, there) in [(1, false), (until, false), (until + 1, true), (400, true)] {
        assert_eq!(has_body(&mut bench, height), there, "block {height}");
    }
    bench.tell(Event::Prune {
        ticket: 2,
        keep: 100,
    });
    let again = bench.orders.pop().expect("an outcome");
    assert!(again.is_ok_and(|done| matches!(done, OrderDone::PruneBegun { blocks: 0, .. })));
    bench.restart();
    assert_eq!(gone(&bench) as usize, until);
    assert_eq!(bench.tip(), maker.blocks[399].hash);
}

/// Returns a chain, a worse branch of it, and a block that would make the branch better but contains an uncovered payment.
fn with_a_bad_end() -> (Maker, Maker, CarriedBlock) {
    let mut common = Maker::new();
    common.add_many(3, 0);
    for (mine, other) in [(1, 2), (2, 3), (3, 4), (2, 4), (1, 3)] {
        let mut ours = common.fork(3);
        ours.add_many(2, mine);
        let mut theirs = common.fork(3);
        theirs.add_many(2, other);
        let bad = theirs.make(0, vec![payment(2, 50 * EACH)]);
        let tips = [&ours, &theirs].map(|maker| maker.blocks[4].header.difficulty);
        if tips[1] < tips[0] && bad.header.difficulty > tips[0] {
            return (ours, theirs, bad);
        }
    }
    panic!("there is such a branch");
}

#[test]
fn a_branch_with_a_bad_block_is_left_and_the_old_one_comes_back() {
    let (ours, theirs, bad) = with_a_bad_end();
    let mut chain = theirs.blocks.clone();
    chain.push(bad);
    let mut bench = core_with(&ours, Settings::default());
    bench.connect(1, &chain, Manner::Honest);
    bench.run_to(5_100);
    assert_eq!(bench.tip(), ours.blocks[4].hash);
    assert!(bench.core.figures().bad_blocks > 0);
    assert!(
        bench.penalties.contains(&"chain_block.overdrawn"),
        "{:?}",
        bench.penalties
    );
    let before = bench.notices.len();
    bench.run_to(5_300);
    let popped = bench.notices[before..]
        .iter()
        .any(|notice| matches!(notice, Notice::Popped { .. }));
    assert!(!popped, "a bad block is remembered");
}

#[test]
fn a_block_ahead_of_the_clock_waits_and_one_far_ahead_is_refused() {
    let mut maker = Maker::new();
    maker.add_many(1, 0);
    let time = maker.blocks[0].header.time.get();
    for (ahead, verdict, joins) in [(1, Verdict::Accept, true), (2, Verdict::Ignore, false)] {
        let mut bench = Bench::new(Settings::default());
        bench.connect(0, &[], Manner::Honest);
        let mut late = maker.fork(1);
        late.add_many(20, 0);
        let block = late
            .blocks
            .iter()
            .find(|block| block.header.time.get() > time + 40)
            .expect("so many blocks take longer");
        let height = block.header.height.get() as usize;
        bench.run_to(block.header.time.get() - ahead);
        let chain = late.blocks[..height - 1].to_vec();
        bench.connect(1, &chain, Manner::Honest);
        bench.run_to(block.header.time.get() - ahead);
        if bench.height() as usize != height - 1 {
            // Its predecessor is ahead of the clock too.
            continue;
        }
        assert_eq!(bench.announce(0, block), Some(verdict), "{ahead} s ahead");
        assert_eq!(bench.height() as usize, height - 1);
        bench.run_to(block.header.time.get());
        assert_eq!(bench.tip() == block.hash, joins, "{ahead} s ahead");
    }
}

#[test]
fn what_contradicts_a_trusted_block_is_not_followed() {
    let mut ours = Maker::new();
    ours.add_many(4, 2);
    let mut theirs = Maker::new();
    theirs.add_many(8, 0);
    let settings = Settings {
        trusted: vec![(Height::new(2), ours.blocks[1].hash)],
        ..Settings::default()
    };
    let mut bench = core_with(&ours, settings);
    bench.connect(1, &theirs.blocks, Manner::Honest);
    bench.run_to(5_100);
    assert_eq!(bench.tip(), ours.blocks[3].hash);
    assert!(bench.penalties.contains(&"chain_block.distrusted"));
    // If an operator trusts the other block, the node switches to that branch.
    let (ticket, height, hash) = (1, 2, theirs.blocks[1].hash);
    bench.tell(Event::Trust {
        ticket,
        height: Height::new(height),
        hash,
    });
    assert!(bench.orders.pop().is_some_and(|outcome| outcome.is_ok()));
    bench.run_to(5_200);
    assert_eq!(bench.tip(), theirs.blocks[7].hash);
}

#[test]
fn a_restart_finds_tip_pool_and_trust_again() {
    let mut maker = Maker::new();
    maker.add_many(3, 0);
    let mut bench = core_with(&maker, Settings::default());
    let paid = payment(2, 5);
    let id = paid.id(&genesis().hash);
    bench.tell(Event::Submit {
        ticket: 1,
        transactions: vec![paid.clone(), paid],
    });
    assert_eq!(bench.outcomes, [Ok(id), Ok(id)]);
    assert_eq!(bench.height(), 3);
    bench.restart();
    assert_eq!(bench.tip(), maker.blocks[2].hash);
    assert!(bench.core.pool().contains(&id));
    bench.connect(0, &[], Manner::Honest);
    let next = maker.add(0, vec![payment(2, 5)]);
    assert_eq!(bench.announce(0, &next), Some(Verdict::Accept));
    assert_eq!(bench.tip(), next.hash, "the pool has what it carries");
    bench.restart();
    assert!(!bench.core.pool().contains(&id));
    assert_eq!(bench.tip(), next.hash);
}

#[test]
fn garbage_is_refused_and_held_against_its_bringer() {
    let mut bench = Bench::new(Settings::default());
    bench.connect(0, &[], Manner::Honest);
    let mut badly_signed = payment(2, 5);
    badly_signed.signature[3] ^= 1;
    let batch = chain::message::Gossip::Transactions(vec![badly_signed]).to_bytes();
    let cases: &[(Vec<u8>, &str)] = &[
        (vec![], "chain_message.malformed"),
        (vec![99, 1, 2], "chain_message.malformed"),
        (batch, "chain_tx.signature"),
    ];
    for (bytes, code) in cases {
        assert_eq!(
            bench.gossip(0, bytes.clone()),
            Some(Verdict::Reject),
            "{code}"
        );
        assert_eq!(bench.penalties.pop(), Some(*code));
    }
    let mut maker = Maker::new();
    let mut block = maker.add(0, Vec::new());
    bench.run_to(1_000);
    block.header.signature[0] ^= 1;
    assert_eq!(bench.announce(0, &block), Some(Verdict::Reject));
    assert_eq!(bench.penalties.pop(), Some("chain_block.signature"));
}

#[test]
fn who_asks_too_much_is_told_so_for_a_while() {
    let mut maker = Maker::new();
    maker.add_many(3, 0);
    let mut bench = core_with(&maker, Settings::default());
    bench.connect(1, &[], Manner::Honest);
    let question = Question::Headers {
        locator: vec![genesis().hash],
    }
    .to_bytes();
    let busy = (0..20_000).find(|_| bench.ask(1, question.clone()) == Answer::Busy);
    assert!(busy.is_some_and(|at| at > 100), "{busy:?}");
    let other = bench.ask(0, question.clone());
    assert!(matches!(other, Answer::Headers { headers, .. } if headers.len() == 3));
    bench.run_to(5_020);
    assert!(matches!(bench.ask(1, question), Answer::Headers { .. }));
}

#[test]
fn a_peer_that_claims_more_than_it_has_is_found_out() {
    let mut bench = Bench::new(Settings::default());
    bench.run_to(100);
    bench.connect(0, &[], Manner::Honest);
    let boast = Question::Status(Status {
        height: Height::new(1_000),
        tip: Hash::plain(b"best"),
        difficulty: u128::MAX,
    });
    bench.ask(0, boast.to_bytes());
    assert_eq!(bench.penalties, ["chain_peer.empty_claim"]);
    assert_eq!(bench.height(), 0);
}
