//! Every refusal code of the state with a case that causes it. A refusal leaves no trace.

use std::collections::BTreeSet;
use std::sync::Arc;

use chain::block::{CarriedBlock, CarriedEntry, root_of};
use chain::genesis::{ParamsOverrides, SUPPLY_MAX};
use chain::port::{Reads, Table};
use chain::pos::BaseTarget;
use chain::state::rows::HeaderRow;
use chain::state::{
    BlockContext, BlockFault, Branch, Fault, Judged, MemoryStore, Overlay, carried_block,
    check_clock, check_header, check_transaction, undo_block,
};
use chain::{
    Anchor, BlockTimestamp, Body, Carried, ChainId, Genesis, Header, Height, MinorUnits, Minutes,
    Seconds, Transaction,
};
use primitives::Hash;

use crate::state::kit::{ACCOUNTS, EACH, Net, account, small, spec};

fn pay(to: usize, amount: u64) -> Body {
    Body::Payment {
        to: account(to),
        amount: MinorUnits::new(amount),
        message: Vec::new(),
    }
}

fn child_block(child: u8, count: u32) -> Body {
    Body::ChildBlock {
        child: ChainId(child),
        count,
        root: Hash::ZERO,
    }
}

fn lease(to: usize, blocks: u32) -> Body {
    Body::Lease {
        to: account(to),
        blocks,
    }
}

#[test]
fn a_transaction_that_breaks_a_rule_is_refused_with_its_code() {
    let mut net = Net::new();
    net.forge_empty(10);
    let paid = net.payment(1, 2, 1, 5, 100);
    net.forge(vec![Net::entry(paid.clone())]);
    net.commit();
    let (tip, next) = (net.overlay.tip().clone(), net.height() + 1);
    let hash_at = |height| net.overlay.hash_at(height).unwrap().unwrap();
    let young = Anchor::at(Height::new(next - 4), &hash_at(Height::new(next - 4)));
    let deep = Anchor::at(Height::new(next - 5), &hash_at(Height::new(next - 5)));
    let good = net.transaction(1, 1, 100, pay(2, 5));
    let message = |bytes: usize| Body::Payment {
        to: account(2),
        amount: MinorUnits::ZERO,
        message: vec![b'x'; bytes],
    };
    type Change<'a> = Box<dyn Fn(&mut Transaction) + 'a>;
    let set = |body: Body| -> Change<'_> { Box::new(move |tx| tx.body = body.clone()) };
    let anchor = |anchor: Anchor| -> Change<'_> { Box::new(move |tx| tx.anchor = anchor) };
    let cases: Vec<(&str, Change<'_>)> = vec![
        ("", Box::new(|_| {})),
        ("", anchor(deep)),
        ("", set(message(1_000))),
        ("", set(lease(2, 3))),
        ("", set(lease(2, 100))),
        ("", set(child_block(2, 10))),
        (
            "",
            Box::new(|tx| (tx.chain, tx.fee) = (ChainId(2), MinorUnits::ZERO)),
        ),
        ("", Box::new(|tx| tx.time = Net::later(tx.time, 15))),
        ("chain_tx.amount", set(pay(2, 0))),
        ("chain_tx.amount", set(pay(2, SUPPLY_MAX.get()))),
        ("chain_tx.amount", set(pay(2, u64::MAX))),
        ("chain_tx.anchor_young", anchor(young)),
        (
            "chain_tx.anchor_young",
            anchor(Anchor::at(Height::new(next), &tip.hash)),
        ),
        (
            "chain_tx.anchor_young",
            anchor(Anchor::at(Height::LAST, &tip.hash)),
        ),
        (
            "chain_tx.anchor_unknown",
            anchor(Anchor::at(Height::new(next - 5), &tip.hash)),
        ),
        (
            "chain_tx.anchor_unknown",
            anchor(Anchor::at(Height::GENESIS, &tip.hash)),
        ),
        ("chain_tx.child_block", set(child_block(2, 0))),
        ("chain_tx.child_block", set(child_block(1, 1))),
        ("chain_tx.child_block", set(child_block(77, 1))),
        (
            "chain_tx.child_block",
            Box::new(|tx| (tx.body, tx.fee) = (child_block(2, 10_001), MinorUnits::new(1_000_000))),
        ),
        (
            "chain_tx.deadline",
            Box::new(|tx| tx.deadline_minutes = Minutes::ZERO),
        ),
        (
            "chain_tx.deadline",
            Box::new(|tx| tx.deadline_minutes = Minutes::new(1_441)),
        ),
        (
            "chain_tx.duplicate",
            Box::new(|tx| *tx = paid.transaction.clone()),
        ),
        (
            "chain_tx.expired",
            Box::new(|tx| {
                (tx.time, tx.deadline_minutes) = (BlockTimestamp::GENESIS, Minutes::new(1))
            }),
        ),
        ("chain_tx.fee", Box::new(|tx| tx.fee = MinorUnits::new(99))),
        ("chain_tx.fee", set(child_block(2, 11))),
        (
            "chain_tx.free",
            Box::new(|tx| (tx.chain, tx.fee, tx.body) = (ChainId(2), MinorUnits::ZERO, message(9))),
        ),
        (
            "chain_tx.free",
            Box::new(|tx| (tx.chain, tx.fee, tx.body) = (ChainId(2), MinorUnits::ZERO, pay(1, 5))),
        ),
        (
            "",
            Box::new(|tx| {
                (tx.chain, tx.fee, tx.body) = (ChainId(2), MinorUnits::new(1), pay(1, 5))
            }),
        ),
        (
            "chain_tx.from_future",
            Box::new(|tx| tx.time = Net::later(tx.time, 16)),
        ),
        (
            "chain_tx.from_future",
            Box::new(|tx| tx.time = BlockTimestamp::LAST),
        ),
        ("chain_tx.lease", set(lease(1, 5))),
        ("chain_tx.lease", set(lease(2, 2))),
        ("chain_tx.lease", set(lease(2, 101))),
        ("chain_tx.message", set(message(1_001))),
        (
            "chain_tx.unknown_chain",
            Box::new(|tx| tx.chain = ChainId(9)),
        ),
        (
            "chain_tx.unknown_chain",
            Box::new(|tx| tx.chain = ChainId(0)),
        ),
        (
            "chain_tx.unknown_chain",
            Box::new(|tx| (tx.chain, tx.body) = (ChainId(2), lease(2, 5))),
        ),
        (
            "chain_tx.unknown_chain",
            Box::new(|tx| (tx.chain, tx.body) = (ChainId(2), child_block(3, 1))),
        ),
    ];
    // Late enough for the first minute to be over.
    let when = BlockContext {
        time: tip.time.max(BlockTimestamp::new(120)),
        height: Height::new(next),
    };
    let mut codes = BTreeSet::new();
    for (number, (code, change)) in cases.iter().enumerate() {
        let mut transaction = good.clone();
        transaction.time = when.time;
        change(&mut transaction);
        let carried = net.carry(transaction);
        let found = match check_transaction(&net.overlay, &net.genesis, &carried, when) {
            Ok(()) => "",
            Err(fault) => fault.rejection().expect("the store works").code,
        };
        assert_eq!(found, *code, "case {number}");
        codes.insert(found);
    }
    // The decoder handles malformed bytes and unknown kinds, and the core handles signatures.
    let elsewhere = [
        "chain_tx.malformed",
        "chain_tx.unknown_kind",
        "chain_tx.signature",
    ];
    for info in chain::ERRORS
        .iter()
        .filter(|info| info.code.starts_with("chain_tx."))
    {
        assert!(
            codes.contains(info.code) || elsewhere.contains(&info.code),
            "no case of {}",
            info.code
        );
    }
}

/// Corrects counts, root and hash, so that only the deliberate fault remains.
fn reseal(net: &Net, mut block: CarriedBlock) -> CarriedBlock {
    let children: usize = block.body.iter().map(|entry| entry.children.len()).sum();
    block.header.parent_count = block.body.len() as u32;
    block.header.child_count = children as u32;
    block.header.root = block.root();
    block.header.body_bytes = block.transactions().map(|tx| tx.bytes).sum();
    CarriedBlock::new(&net.genesis.hash, block.header, block.body)
}

/// Returns a child block over these children, in the given order and without checks.
fn carrier(net: &Net, child: u8, count: u32, children: Vec<Arc<Carried>>) -> CarriedEntry {
    let ids: Vec<_> = children.iter().map(|carried| carried.id).collect();
    let body = Body::ChildBlock {
        child: ChainId(child),
        count,
        root: root_of(&ids),
    };
    CarriedEntry {
        transaction: net.carry(net.transaction(7, 1, 1_000, body)),
        children,
    }
}

fn code_of(fault: &BlockFault) -> (&'static str, &'static str) {
    match fault {
        BlockFault::NotNext => ("not next", "chain_block.not_next"),
        BlockFault::Body(rejection) => ("body", rejection.code),
        BlockFault::Invalid(rejection) => ("invalid", rejection.code),
        BlockFault::Store(_) => ("store", "store"),
    }
}

#[test]
fn a_block_that_breaks_a_rule_is_refused_with_its_code_and_leaves_no_trace() {
    let mut net = Net::with(ParamsOverrides {
        parent_transactions_max: Some(4),
        child_transactions_max: Some(3),
        child_block_bytes_max: Some(400),
        block_bytes_max: Some(1_500),
        ..small()
    });
    // Until the first minute is over.
    while net.overlay.tip().time <= BlockTimestamp::new(60) {
        net.forge_empty(1);
    }
    // Account 9 gives its whole balance away, so that it cannot forge for a while.
    let all = net.payment(9, 8, 1, EACH - 100, 100);
    net.forge(vec![Net::entry(all)]);
    net.commit();
    let (one, two) = (net.payment(3, 4, 2, 70, 5), net.payment(4, 5, 2, 80, 5));
    let (low, high) = if one.id < two.id {
        (one, two)
    } else {
        (two, one)
    };
    let good = net.block(vec![
        Net::entry(net.payment(1, 2, 1, 500, 100)),
        net.bundle(5, vec![low.clone(), high.clone()]),
    ]);
    let with = |change: &dyn Fn(&mut CarriedBlock)| {
        let mut block = good.clone();
        change(&mut block);
        CarriedBlock::new(&net.genesis.hash, block.header, block.body)
    };
    let resealed = |change: &dyn Fn(&mut CarriedBlock)| {
        let mut block = good.clone();
        change(&mut block);
        reseal(&net, block)
    };
    let of = |body: Vec<CarriedEntry>| net.block(body);
    let payments = |count: u64| -> Vec<CarriedEntry> {
        let payment = |n| Net::entry(net.payment(1, 2, 1, n + 1, 100));
        (0..count).map(payment).collect()
    };
    let foreign = net.payment(3, 4, 3, 70, 5);
    // The account with the highest id promises the one with the lowest id twice the maximum supply, without a fee.
    let by_account = |n: &usize| account(*n);
    let lowest = (0..ACCOUNTS).min_by_key(by_account).unwrap();
    let highest = (0..ACCOUNTS).max_by_key(by_account).unwrap();
    let promises: Vec<_> = (0..2)
        .map(|n| {
            let promise = net.transaction(highest, 2, 0, pay(lowest, SUPPLY_MAX.get()));
            let time = promise.time.minus_or_genesis(Seconds::new(n));
            net.carry(Transaction {
                time,
                ..net.transaction(highest, 2, 0, pay(lowest, SUPPLY_MAX.get()))
            })
        })
        .collect();
    let carrier_place = good
        .body
        .iter()
        .position(|entry| !entry.children.is_empty());
    let carrier_place = carrier_place.unwrap();
    let long = {
        let body = Body::Payment {
            to: account(1),
            amount: MinorUnits::new(1),
            message: vec![b'x'; 900],
        };
        net.carry(net.transaction(2, 1, 100, body))
    };
    let cases: Vec<(&str, &str, CarriedBlock)> = vec![
        (
            "invalid",
            "chain_block.base_target",
            with(&|b| b.header.base_target = BaseTarget::new(b.header.base_target.get() + 1)),
        ),
        (
            "invalid",
            "chain_block.difficulty",
            with(&|b| b.header.difficulty += 1),
        ),
        (
            "invalid",
            "chain_block.generation",
            with(&|b| b.header.generation = Hash::ZERO),
        ),
        (
            "not next",
            "chain_block.not_next",
            with(&|b| b.header.height = b.header.height.next().expect("a height")),
        ),
        (
            "not next",
            "chain_block.not_next",
            with(&|b| b.header.height = Height::LAST),
        ),
        (
            "not next",
            "chain_block.not_next",
            with(&|b| b.header.previous = Hash::ZERO),
        ),
        (
            "invalid",
            "chain_block.time",
            with(&|b| b.header.time = net.overlay.tip().time),
        ),
        (
            "invalid",
            "chain_block.time",
            net.block_by(net.next().0, Net::later(net.next().1, 1), Vec::new()),
        ),
        (
            "invalid",
            "chain_block.time",
            net.block_by(net.next().0, Net::later(net.next().1, 3_599), Vec::new()),
        ),
        (
            "invalid",
            "chain_block.stake",
            net.block_by(9, net.next().1, Vec::new()),
        ),
        (
            "body",
            "chain_block.body_mismatch",
            with(&|b| b.header.root = Hash::ZERO),
        ),
        (
            "body",
            "chain_block.body_mismatch",
            with(&|b| {
                b.body.pop();
            }),
        ),
        (
            "body",
            "chain_block.body_mismatch",
            with(&|b| {
                b.body[carrier_place].children.pop();
            }),
        ),
        (
            "body",
            "chain_block.body_mismatch",
            with(&|b| {
                let children = b.body[carrier_place].children.clone();
                b.body[1 - carrier_place].children = children;
            }),
        ),
        (
            "invalid",
            "chain_block.counts",
            with(&|b| b.header.parent_count += 1),
        ),
        (
            "invalid",
            "chain_block.counts",
            with(&|b| b.header.child_count -= 1),
        ),
        (
            "invalid",
            "chain_block.counts",
            with(&|b| b.header.body_bytes -= 1),
        ),
        (
            "invalid",
            "chain_block.counts",
            of(vec![carrier(&net, 2, 3, vec![low.clone(), high.clone()])]),
        ),
        (
            "invalid",
            "chain_block.order",
            resealed(&|b| b.body.reverse()),
        ),
        (
            "invalid",
            "chain_block.order",
            resealed(&|b| {
                let twice = b.body[1 - carrier_place].clone();
                b.body = vec![twice.clone(), twice];
            }),
        ),
        (
            "invalid",
            "chain_block.order",
            of(vec![carrier(&net, 2, 2, vec![high.clone(), low.clone()])]),
        ),
        (
            "invalid",
            "chain_block.order",
            of(vec![carrier(&net, 2, 2, vec![low.clone(), low.clone()])]),
        ),
        (
            "invalid",
            "chain_block.child_blocks",
            of(vec![Net::entry(low.clone())]),
        ),
        (
            "invalid",
            "chain_block.child_blocks",
            of(vec![carrier(&net, 2, 1, vec![foreign])]),
        ),
        (
            "invalid",
            "chain_block.child_blocks",
            of(vec![
                net.bundle(5, vec![low.clone()]),
                net.bundle(6, vec![high.clone()]),
            ]),
        ),
        (
            "invalid",
            "chain_block.overdrawn",
            of(vec![Net::entry(net.payment(9, 1, 1, 1, 100))]),
        ),
        (
            "invalid",
            "chain_block.overdrawn",
            of(vec![
                Net::entry(net.payment(1, 2, 1, EACH / 2, 100)),
                Net::entry(net.payment(1, 3, 1, EACH / 2, 100)),
            ]),
        ),
        (
            "invalid",
            "chain_block.overdrawn",
            of((2..6)
                .map(|to| Net::entry(net.payment(1, to, 1, SUPPLY_MAX.get() - 100, 100)))
                .collect()),
        ),
        // The amount promised to an account that comes before its payer exceeds 64 bits.
        (
            "invalid",
            "chain_block.overdrawn",
            of(vec![net.bundle(5, promises)]),
        ),
        // Credits within the block do not cover debits.
        (
            "invalid",
            "chain_block.overdrawn",
            of(vec![
                Net::entry(net.payment(1, 9, 1, 1_000, 100)),
                Net::entry(net.payment(9, 3, 1, 500, 100)),
            ]),
        ),
        ("invalid", "chain_block.too_large", of(payments(5))),
        (
            "invalid",
            "chain_block.too_large",
            of(vec![
                Net::entry(long.clone()),
                Net::entry(net.carry(Transaction {
                    time: Net::later(long.transaction.time, 1),
                    ..long.transaction.clone()
                })),
            ]),
        ),
        (
            "invalid",
            "chain_block.too_large",
            of(vec![net.bundle(
                5,
                (0..3).map(|n| net.payment(3, 4, 2, 70 + n, 5)).collect(),
            )]),
        ),
        (
            "invalid",
            "chain_tx.expired",
            of(vec![Net::entry(net.carry(Transaction {
                time: BlockTimestamp::GENESIS,
                deadline_minutes: Minutes::new(1),
                ..net.transaction(1, 1, 100, pay(2, 1))
            }))]),
        ),
    ];
    let mut codes: BTreeSet<&str> = BTreeSet::new();
    let tip = net.overlay.tip().clone();
    for (number, (kind, code, block)) in cases.iter().enumerate() {
        let fault = net
            .apply(block)
            .expect_err(&format!("case {number}, {code}"));
        assert_eq!(code_of(&fault), (*kind, *code), "case {number}: {fault}");
        assert!(net.overlay.is_clean(), "case {number}, {code}");
        assert_eq!(*net.overlay.tip(), tip);
        codes.insert(code);
    }
    let before = |seconds| good.header.time.minus_or_genesis(Seconds::new(seconds));
    let early = check_clock(&net.genesis, &good.header, before(2)).unwrap_err();
    codes.insert(early.code);
    check_clock(&net.genesis, &good.header, before(1)).unwrap();
    net.apply(&good).unwrap();
    while net.height() > 0 {
        undo_block(&mut net.overlay, &net.genesis).unwrap();
    }
    match undo_block(&mut net.overlay, &net.genesis) {
        Err(Fault::Refused(rejection)) => codes.insert(rejection.code),
        other => panic!("{other:?}"),
    };
    for code in STATE_CODES {
        assert!(codes.contains(code), "no case of {code}");
    }
}

#[test]
fn impossible_counts_are_refused_by_the_header_alone() {
    let net = Net::new();
    let empty: Vec<CarriedEntry> = Vec::new();
    let paid = vec![Net::entry(net.payment(1, 2, 1, 5, 100))];
    type Change = fn(&mut Header);
    let root: Change = |header| header.root = Hash::plain(b"another");
    // A change of the header, and whether some body can have the result.
    let cases: [(&str, &Vec<CarriedEntry>, Change, bool); 9] = [
        ("empty", &empty, |_| {}, true),
        ("length", &empty, |header| header.body_bytes = 1, false),
        ("children", &empty, |header| header.child_count = 1, false),
        ("root", &empty, root, false),
        ("payment", &paid, |_| {}, true),
        ("longer", &paid, |header| header.body_bytes += 1, true),
        ("too short", &paid, |header| header.body_bytes -= 1, false),
        ("for two", &paid, |header| header.parent_count = 2, false),
        ("for a child", &paid, |header| header.child_count = 1, false),
    ];
    for (name, body, change, is_possible) in cases {
        let mut header = net.block(body.clone()).header;
        change(&mut header);
        let refused = check_header(&net.overlay, &net.genesis, &header).err();
        let code = refused.map(|fault| fault.rejection().expect("the store works").code);
        let expected = (!is_possible).then_some("chain_block.counts");
        assert_eq!(code, expected, "{name}");
    }
}

/// The state's codes about blocks.
const STATE_CODES: &[&str] = &[
    "chain_block.base_target",
    "chain_block.body_mismatch",
    "chain_block.child_blocks",
    "chain_block.counts",
    "chain_block.difficulty",
    "chain_block.from_future",
    "chain_block.generation",
    "chain_block.not_next",
    "chain_block.order",
    "chain_block.overdrawn",
    "chain_block.stake",
    "chain_block.time",
    "chain_block.too_deep",
    "chain_block.too_large",
];

#[test]
fn a_network_that_stood_still_goes_on_at_any_later_second() {
    let mut net = Net::new();
    net.forge_empty(2);
    let (forger, time) = net.next();
    let block = net.block_by(forger, Net::later(time, 3_600), Vec::new());
    net.apply(&block).unwrap();
}

#[test]
fn a_branch_of_who_holds_nothing_is_refused_before_anything_is_taken_back() {
    let mut net = Net::new();
    let all = net.payment(9, 8, 1, EACH - 100, 100);
    net.forge(vec![Net::entry(all)]);
    net.forge_empty(9);
    // Another node has only the first five blocks.
    let mut other = Net::new();
    for height in 1..=5 {
        let block = carried_block(&net.overlay, &net.genesis, Height::new(height)).unwrap();
        other.apply(&block.unwrap()).unwrap();
    }
    let code = |fault: Fault| fault.rejection().expect("the store works").code;
    let header = |forger: usize, time: BlockTimestamp| {
        let header = other.block_by(forger, time, Vec::new()).header;
        let hash = header.hash(&net.genesis.hash);
        (header, hash)
    };
    // At the end of height 1 it held nothing, and height 1 is in every window up to 21. No time is late enough.
    let (nothing, hash) = header(9, Net::later(other.overlay.tip().time, 1_000_000));
    let mut branch = Branch::at(&net.overlay, &net.genesis, Height::new(5)).unwrap();
    let push = |branch: &mut Branch, header, hash| {
        let pushed = branch.push(&net.overlay, &net.genesis, header, hash);
        pushed.map_err(code)
    };
    assert_eq!(push(&mut branch, &nothing, hash), Err("chain_block.stake"));
    // A forger with stake must still respect its hit.
    let (forger, time) = other.next();
    let (early, hash) = header(forger, time.minus_or_genesis(Seconds::new(1)));
    assert_eq!(push(&mut branch, &early, hash), Err("chain_block.time"));
    let (good, hash) = header(forger, time);
    assert_eq!(push(&mut branch, &good, hash), Ok(Judged::Counted));
    assert_eq!(branch.tip().height, Height::new(6));
    // A branch ends when its common block is undone.
    let mut gone = Branch::at(&net.overlay, &net.genesis, Height::new(9)).unwrap();
    for _ in 0..3 {
        undo_block(&mut net.overlay, &net.genesis).unwrap();
    }
    let pushed = gone.push(&net.overlay, &net.genesis, &good, hash);
    assert_eq!(pushed.map_err(code), Err("chain_block.not_next"));
    let beyond = Branch::at(&net.overlay, &net.genesis, Height::new(99)).unwrap_err();
    assert_eq!(code(beyond), "chain_block.not_next");
}

#[test]
fn a_block_with_damaged_rows_is_not_undone() {
    type Harm = fn(&mut HeaderRow);
    let harms: [Harm; 3] = [
        |row| row.hash = Hash::plain(b"another block's"),
        |row| row.header.previous = Hash::plain(b"another block's"),
        |row| row.header.height = Height::new(1),
    ];
    for (at, height, harm) in [(0, 3, 0), (1, 3, 1), (2, 3, 2), (3, 2, 0), (4, 2, 2)] {
        let mut net = Net::new();
        net.forge_empty(3);
        let key = Height::new(height).to_be_bytes();
        let value = net.overlay.get(Table::Headers, &key).unwrap().unwrap();
        let mut row = HeaderRow::read(&value).unwrap();
        harms[harm](&mut row);
        net.overlay.put(Table::Headers, key, row.to_bytes());
        net.commit();
        let tip = net.overlay.tip().clone();
        match undo_block(&mut net.overlay, &net.genesis) {
            Err(Fault::Store(failure)) => assert_eq!(failure.code, "chain.store_damaged", "{at}"),
            other => panic!("case {at}: {other:?}"),
        }
        assert!(net.overlay.is_clean(), "case {at}");
        assert_eq!(*net.overlay.tip(), tip, "case {at}");
    }
}

#[test]
fn another_networks_store_and_a_damaged_one_are_refused() {
    let mut net = Net::new();
    net.forge_empty(2);
    net.commit();
    let mut spec = spec(small());
    spec.network = "other".into();
    let other: Genesis = spec.build().unwrap();
    match Overlay::open(net.store.clone(), &other) {
        Err(Fault::Refused(rejection)) => assert_eq!(rejection.code, "chain.wrong_network"),
        other => panic!("{:?}", other.map(|_| ())),
    }
    type Harm = fn(&mut Overlay<MemoryStore>);
    let harms: &[Harm] = &[
        |o| o.delete(chain::port::Table::Meta, b"genesis"),
        |o| o.delete(chain::port::Table::Meta, b"tip"),
        |o| o.put(chain::port::Table::Meta, b"tip", b"x"),
        |o| o.put(chain::port::Table::Meta, b"version", b"x"),
        |o| o.delete(chain::port::Table::Headers, 2u32.to_be_bytes()),
        |o| o.delete(chain::port::Table::Headers, 1u32.to_be_bytes()),
        |o| o.put(chain::port::Table::Headers, 2u32.to_be_bytes(), b"x"),
    ];
    for (number, harm) in harms.iter().enumerate() {
        let mut net = Net::new();
        net.forge_empty(2);
        harm(&mut net.overlay);
        net.commit();
        match Overlay::open(net.store.clone(), &net.genesis) {
            Err(Fault::Store(failure)) => assert_eq!(failure.code, "chain.store_damaged"),
            other => panic!("case {number}: {:?}", other.map(|_| ())),
        }
    }
}
