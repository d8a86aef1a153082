//! The hospital of a node: tries again, keeps, pauses, and loses nothing in a crash between.

use kernel::port::Table;
use kernel::{Event, FlowFilter, KernelOptions, Order, Ordered, Reply, Standing, Token};

use crate::town::{TROUBLE, Town, Trouble};

fn town() -> Town {
    TROUBLE.set(Trouble::None);
    Town::new(2)
}

fn order(town: &mut Town, order: Order, filter: FlowFilter, dry_run: bool) -> Ordered {
    let token = town.token();
    let event = Event::Order {
        order,
        filter: Box::new(filter),
        after: None,
        dry_run,
        token: Token(token),
    };
    town.tell(1, event);
    town.settle();
    match town.replies.remove(&token) {
        Some(Reply::Ordered(ordered)) => ordered,
        other => panic!("{other:?}"),
    }
}

fn standing(town: &mut Town, flow: u64) -> Standing {
    let token = town.token();
    let filter = FlowFilter {
        flow: Some(Town::flow_id(flow)),
        ..FlowFilter::default()
    };
    town.tell(
        1,
        Event::Flows {
            filter: Box::new(filter),
            after: None,
            limit: 1,
            token: Token(token),
        },
    );
    town.settle();
    match town.replies.remove(&token) {
        Some(Reply::Flows(flows)) => kernel::standing(&flows[0]),
        other => panic!("{other:?}"),
    }
}

/// Starts a flow that fails with the given trouble after its sleep.
fn troubled(town: &mut Town, trouble: Trouble) -> u64 {
    TROUBLE.set(trouble);
    let flow = town.start(1, "test.frail", "2", Some("frail"));
    town.settle();
    town.now += 1;
    town.settle();
    flow
}

fn restart(town: &mut Town) {
    town.down(1);
    town.up(1);
    town.settle();
}

fn journal_rows(town: &Town) -> usize {
    use primitives::storage::Reads;
    let rows = town.nodes[1].disk.scan(Table::Journal, &[], None, 100);
    rows.expect("a disk of memory").len()
}

#[test]
fn a_failure_of_the_moment_passes_also_over_a_restart() {
    for crash in [false, true] {
        let mut town = town();
        let flow = troubled(&mut town, Trouble::Moment);
        assert_eq!(standing(&mut town, flow), Standing::Retrying);
        assert_eq!(town.figures(1).flows_retrying, 1);
        if crash {
            restart(&mut town);
            assert_eq!(standing(&mut town, flow), Standing::Retrying);
        }
        TROUBLE.set(Trouble::None);
        town.quiet();
        let token = match crash {
            true => town.start(1, "test.frail", "2", Some("frail")),
            false => flow,
        };
        town.settle();
        assert_eq!(town.ended(token), Ok(true));
        assert_eq!((town.figures(1).flows_live, journal_rows(&town)), (0, 0));
    }
}

#[test]
fn retries_are_used_up_and_an_operator_helps() {
    let mut town = town();
    let flow = troubled(&mut town, Trouble::Moment);
    town.quiet();
    assert!(matches!(
        town.replies.remove(&flow),
        Some(Reply::Running { standing: Standing::Parked, step, .. }) if step.contains("test.moment")
    ));
    let (_, _, limit) = flow::RETRY_KINDS[1];
    assert_eq!(town.figures(1).flow_retries, u64::from(limit.retries_max));
    restart(&mut town);
    assert_eq!(standing(&mut town, flow), Standing::Parked);
    let by_code = |code: &str| FlowFilter {
        code: Some(code.to_owned()),
        user: Some("tester".to_owned()),
        ..FlowFilter::default()
    };
    let other = order(&mut town, Order::Retry, by_code("test.other"), false);
    assert_eq!(other.matched, 0);
    let dry = order(&mut town, Order::Retry, by_code("test.moment"), true);
    assert_eq!((dry.matched, dry.done), (1, 0));
    TROUBLE.set(Trouble::None);
    let done = order(&mut town, Order::Retry, by_code("test.moment"), false);
    assert_eq!((done.matched, done.done), (1, 1));
    let token = town.start(1, "test.frail", "2", Some("frail"));
    town.quiet();
    assert_eq!(town.ended(token), Ok(true));
    assert_eq!(journal_rows(&town), 0);
}

#[test]
fn a_panic_keeps_the_flow_with_its_errors_until_it_is_killed() {
    let mut town = town();
    let flow = troubled(&mut town, Trouble::Panic);
    for _ in 0..3 {
        restart(&mut town);
        assert_eq!(standing(&mut town, flow), Standing::Parked);
    }
    let all = FlowFilter::default();
    assert_eq!(order(&mut town, Order::Retry, all.clone(), false).done, 1);
    assert_eq!(standing(&mut town, flow), Standing::Parked);
    assert_eq!(order(&mut town, Order::Kill, all, false).done, 1);
    assert_eq!((town.figures(1).flows_live, journal_rows(&town)), (0, 0));
    let token = town.start(1, "test.frail", "2", Some("frail"));
    town.settle();
    assert_eq!(town.ended(token), Err("flow.killed".to_owned()));
}

#[test]
fn a_paused_flow_hears_its_peer_only_when_it_is_resumed() {
    for crash in [false, true] {
        let mut town = town();
        town.down(2);
        let flow = town.start(1, "test.double", "2", Some("double"));
        town.settle();
        let all = FlowFilter::default;
        assert_eq!(order(&mut town, Order::Pause, all(), false).done, 1);
        town.up(2);
        town.quiet();
        assert_eq!(standing(&mut town, flow), Standing::Paused);
        assert_eq!(town.figures(1).flows_paused, 1);
        if crash {
            restart(&mut town);
            town.quiet();
            assert_eq!(standing(&mut town, flow), Standing::Paused);
        }
        assert_eq!(order(&mut town, Order::Retry, all(), false).matched, 0);
        assert_eq!(order(&mut town, Order::Resume, all(), false).done, 1);
        let token = town.start(1, "test.double", "2", Some("double"));
        town.quiet();
        assert_eq!(town.ended(token), Ok(true));
        assert_eq!(journal_rows(&town), 0);
    }
}

#[test]
fn beyond_the_bound_of_kept_flows_nothing_is_started() {
    TROUBLE.set(Trouble::None);
    let options = KernelOptions {
        kept_flows_max: 1,
        ..KernelOptions::default()
    };
    let mut town = Town::with(2, false, options);
    let flow = troubled(&mut town, Trouble::Panic);
    let refused = town.start(1, "test.nap", "1", None);
    town.settle();
    assert_eq!(town.ended(refused), Err("node.too_many_kept".to_owned()));
    TROUBLE.set(Trouble::None);
    assert_eq!(
        order(&mut town, Order::Retry, FlowFilter::default(), false).done,
        1
    );
    let nap = town.start(1, "test.nap", "1", None);
    town.quiet();
    assert_eq!(town.ended(nap), Ok(true));
    drop(town.replies.remove(&flow));
}

#[test]
fn what_waits_long_is_found_and_what_sleeps_is_not() {
    let mut town = town();
    town.down(2);
    let asks = town.start(1, "test.double", "2", None);
    let naps = town.start(1, "test.nap", "100000", None);
    town.settle();
    let stuck = |ms| FlowFilter {
        stuck_ms: Some(ms),
        ..FlowFilter::default()
    };
    town.now += 60_000;
    let found = order(&mut town, Order::Kill, stuck(60_000), true);
    assert_eq!(found.flows, [Town::flow_id(asks)]);
    assert_eq!(
        order(&mut town, Order::Kill, stuck(60_001), true).matched,
        0
    );
    let peer = town.nodes[2].id;
    let with = FlowFilter {
        peer: Some(peer),
        name: Some("test.double".to_owned()),
        ..FlowFilter::default()
    };
    assert_eq!(order(&mut town, Order::Kill, with, false).done, 1);
    assert_eq!(town.ended(asks), Err("flow.killed".to_owned()));
    assert_eq!(standing(&mut town, naps), Standing::Running);
}
