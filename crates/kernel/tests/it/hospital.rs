//! The hospital of a node: tries again, keeps, pauses, and loses nothing in a crash between.

use kernel::port::Table;
use kernel::{Event, FlowFilter, KernelOptions, Order, Ordered, Reply, Standing, Token};

use crate::pay::{issue, pay};
use crate::testnet::{TROUBLE, Testnet, Trouble};

fn net() -> Testnet {
    TROUBLE.set(Trouble::None);
    Testnet::new(2)
}

fn order(net: &mut Testnet, order: Order, filter: FlowFilter, dry_run: bool) -> Ordered {
    let token = net.token();
    let event = Event::Order {
        order,
        filter: Box::new(filter),
        after: None,
        dry_run,
        token: Token(token),
    };
    net.tell(1, event);
    net.settle();
    match net.replies.remove(&token) {
        Some(Reply::Ordered(ordered)) => ordered,
        other => panic!("{other:?}"),
    }
}

fn standing(net: &mut Testnet, flow: u64) -> Standing {
    let token = net.token();
    let filter = FlowFilter {
        flow: Some(Testnet::flow_id(flow)),
        ..FlowFilter::default()
    };
    net.tell(
        1,
        Event::Flows {
            filter: Box::new(filter),
            after: None,
            limit: 1,
            token: Token(token),
        },
    );
    net.settle();
    match net.replies.remove(&token) {
        Some(Reply::Flows(flows)) => kernel::standing(&flows[0]),
        other => panic!("{other:?}"),
    }
}

/// Starts a flow that fails with the given trouble after its sleep.
fn troubled(net: &mut Testnet, trouble: Trouble) -> u64 {
    TROUBLE.set(trouble);
    let flow = net.start(1, "test.frail", "2", Some("frail"));
    net.settle();
    net.now += 1;
    net.settle();
    flow
}

fn restart(net: &mut Testnet) {
    net.down(1);
    net.up(1);
    net.settle();
}

fn journal_rows(net: &Testnet) -> usize {
    use primitives::storage::Reads;
    let rows = net.nodes[1].disk.scan(Table::Journal, &[], None, 100);
    rows.expect("a disk of memory").len()
}

#[test]
fn a_failure_of_the_moment_passes_also_over_a_restart() {
    for crash in [false, true] {
        let mut net = net();
        let flow = troubled(&mut net, Trouble::Moment);
        assert_eq!(standing(&mut net, flow), Standing::Retrying);
        assert_eq!(net.figures(1).flows_retrying, 1);
        if crash {
            restart(&mut net);
            assert_eq!(standing(&mut net, flow), Standing::Retrying);
        }
        TROUBLE.set(Trouble::None);
        net.quiet();
        let token = match crash {
            true => net.start(1, "test.frail", "2", Some("frail")),
            false => flow,
        };
        net.settle();
        assert_eq!(net.ended(token), Ok(true));
        assert_eq!((net.figures(1).flows_live, journal_rows(&net)), (0, 0));
    }
}

#[test]
fn retries_are_used_up_and_an_operator_helps() {
    let mut net = net();
    let flow = troubled(&mut net, Trouble::Moment);
    net.quiet();
    assert!(matches!(
        net.replies.remove(&flow),
        Some(Reply::Running { standing: Standing::Parked, step, .. }) if step.contains("test.moment")
    ));
    let (_, _, limit) = flow::RETRY_KINDS[1];
    assert_eq!(net.figures(1).flow_retries, u64::from(limit.retries_max));
    restart(&mut net);
    assert_eq!(standing(&mut net, flow), Standing::Parked);
    let by_code = |code: &str| FlowFilter {
        code: Some(code.to_owned()),
        user: Some("tester".to_owned()),
        ..FlowFilter::default()
    };
    let other = order(&mut net, Order::Retry, by_code("test.other"), false);
    assert_eq!(other.matched, 0);
    let dry = order(&mut net, Order::Retry, by_code("test.moment"), true);
    assert_eq!((dry.matched, dry.done), (1, 0));
    TROUBLE.set(Trouble::None);
    let done = order(&mut net, Order::Retry, by_code("test.moment"), false);
    assert_eq!((done.matched, done.done), (1, 1));
    let token = net.start(1, "test.frail", "2", Some("frail"));
    net.quiet();
    assert_eq!(net.ended(token), Ok(true));
    assert_eq!(journal_rows(&net), 0);
}

#[test]
fn a_panic_keeps_the_flow_with_its_errors_until_it_is_killed() {
    let mut net = net();
    let flow = troubled(&mut net, Trouble::Panic);
    for _ in 0..3 {
        restart(&mut net);
        assert_eq!(standing(&mut net, flow), Standing::Parked);
    }
    let all = FlowFilter::default();
    assert_eq!(order(&mut net, Order::Retry, all.clone(), false).done, 1);
    assert_eq!(standing(&mut net, flow), Standing::Parked);
    assert_eq!(order(&mut net, Order::Kill, all, false).done, 1);
    assert_eq!((net.figures(1).flows_live, journal_rows(&net)), (0, 0));
    let token = net.start(1, "test.frail", "2", Some("frail"));
    net.settle();
    assert_eq!(net.ended(token), Err("flow.killed".to_owned()));
}

#[test]
fn a_paused_flow_hears_its_peer_only_when_it_is_resumed() {
    for crash in [false, true] {
        let mut net = net();
        net.down(2);
        let flow = net.start(1, "test.double", "2", Some("double"));
        net.settle();
        let all = FlowFilter::default;
        assert_eq!(order(&mut net, Order::Pause, all(), false).done, 1);
        net.up(2);
        net.quiet();
        assert_eq!(standing(&mut net, flow), Standing::Paused);
        assert_eq!(net.figures(1).flows_paused, 1);
        if crash {
            restart(&mut net);
            net.quiet();
            assert_eq!(standing(&mut net, flow), Standing::Paused);
        }
        assert_eq!(order(&mut net, Order::Retry, all(), false).matched, 0);
        assert_eq!(order(&mut net, Order::Resume, all(), false).done, 1);
        let token = net.start(1, "test.double", "2", Some("double"));
        net.quiet();
        assert_eq!(net.ended(token), Ok(true));
        assert_eq!(journal_rows(&net), 0);
    }
}

#[test]
fn beyond_the_bound_of_kept_flows_nothing_is_started() {
    TROUBLE.set(Trouble::None);
    let options = KernelOptions {
        kept_flows_max: 1,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(2, false, options);
    let flow = troubled(&mut net, Trouble::Panic);
    let refused = net.start(1, "test.nap", "1", None);
    net.settle();
    assert_eq!(net.ended(refused), Err("node.too_many_kept".to_owned()));
    TROUBLE.set(Trouble::None);
    assert_eq!(
        order(&mut net, Order::Retry, FlowFilter::default(), false).done,
        1
    );
    let nap = net.start(1, "test.nap", "1", None);
    net.quiet();
    assert_eq!(net.ended(nap), Ok(true));
    drop(net.replies.remove(&flow));
}

#[test]
fn what_waits_long_is_found_and_what_sleeps_is_not() {
    let mut net = net();
    net.down(2);
    let asks = net.start(1, "test.double", "2", None);
    let naps = net.start(1, "test.nap", "100000", None);
    net.settle();
    let stuck = |ms| FlowFilter {
        stuck_ms: Some(ms),
        ..FlowFilter::default()
    };
    net.now += 60_000;
    let found = order(&mut net, Order::Kill, stuck(60_000), true);
    assert_eq!(found.flows, [Testnet::flow_id(asks)]);
    assert_eq!(order(&mut net, Order::Kill, stuck(60_001), true).matched, 0);
    let peer = net.nodes[2].id;
    let with = FlowFilter {
        peer: Some(peer),
        name: Some("test.double".to_owned()),
        ..FlowFilter::default()
    };
    assert_eq!(order(&mut net, Order::Kill, with, false).done, 1);
    assert_eq!(net.ended(asks), Err("flow.killed".to_owned()));
    assert_eq!(standing(&mut net, naps), Standing::Running);
}

#[test]
fn an_order_for_one_flow_that_waits_for_the_notary_says_so() {
    let mut net = net();
    let issued = net.start(1, "cash.issue", &issue(5), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    net.down(0);
    let paid = net.start(1, "cash.pay", &pay(4, 2), Some("a"));
    net.settle();
    let token = net.token();
    let filter = FlowFilter {
        flow: Some(Testnet::flow_id(paid)),
        ..FlowFilter::default()
    };
    let pause = Event::Order {
        order: Order::Pause,
        filter: Box::new(filter),
        after: None,
        dry_run: false,
        token: Token(token),
    };
    net.tell(1, pause);
    net.settle();
    assert_eq!(net.ended(token), Err("node.kill_pending".to_owned()));
    // An order for all flows counts it instead.
    let all = order(&mut net, Order::Pause, FlowFilter::default(), false);
    assert_eq!((all.matched, all.done, all.waiting), (1, 0, 1));
    net.up(0);
    net.settle();
    assert_eq!(net.ended(paid), Ok(true));
}
