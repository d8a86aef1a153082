//! Draining: no new starts, and word when the last flow has ended. Parked flows hold nothing up.

use kernel::port::Table;
use kernel::{Event, FlowFilter, KernelOptions, Order, Reply, Standing, Token, Wait};

use crate::testnet::{CODE_CHANGED, Testnet};

fn net() -> Testnet {
    let options = KernelOptions {
        live_flows_max: 2,
        start_queue_max: 2,
        ..KernelOptions::default()
    };
    Testnet::with(2, false, options)
}

fn drain(net: &mut Testnet) {
    net.tell(1, Event::Drain);
    net.settle();
}

fn refused(net: &mut Testnet) {
    let start = net.start(1, "test.nap", "1", Some("new"));
    net.settle();
    assert_eq!(net.ended(start), Err("node.draining".to_owned()));
}

#[test]
fn an_idle_node_is_drained_at_once_and_says_so_once() {
    let mut net = net();
    drain(&mut net);
    drain(&mut net);
    net.quiet();
    assert_eq!(net.drained, [1]);
    refused(&mut net);
}

#[test]
fn a_node_is_drained_after_its_last_flow_queued_ones_too() {
    let mut net = net();
    let args = ["100", "200", "300"];
    let tokens = args.map(|ms| net.start(1, "test.nap", ms, Some(ms)));
    net.settle();
    drain(&mut net);
    refused(&mut net);
    let joined = net.start(1, "test.nap", "300", Some("300"));
    while net.drained.is_empty() {
        let all_ended = tokens.iter().all(|token| net.replies.contains_key(token));
        assert!(!all_ended, "drained with the commit of the last end");
        net.now += 1;
        net.settle();
    }
    assert_eq!(net.now, 1_000_400);
    for token in tokens.into_iter().chain([joined]) {
        assert_eq!(net.ended(token), Ok(true));
    }
    let known = net.start(1, "test.nap", "300", Some("300"));
    net.settle();
    assert_eq!(net.ended(known), Ok(true), "what has ended is still told");
}

#[test]
fn responders_are_served_to_their_end_while_the_node_drains() {
    let mut net = net();
    let nap = net.start(1, "test.nap", "100", None);
    net.settle();
    drain(&mut net);
    let asked = net.start(2, "test.double", "1", None);
    net.settle();
    assert_eq!(net.ended(asked), Ok(true));
    assert!(net.drained.is_empty());
    net.quiet();
    assert_eq!((net.ended(nap), net.drained.len()), (Ok(true), 1));
}

/// Builds a node with one parked and one sleeping flow.
fn testnet_with_a_parked_flow() -> (Testnet, u64, u64) {
    let mut net = net();
    CODE_CHANGED.set(false);
    let fickle = net.start(1, "test.fickle", "100", Some("fickle"));
    let nap = net.start(1, "test.nap", "100", Some("nap"));
    net.settle();
    net.now += 1;
    net.settle();
    net.down(1);
    CODE_CHANGED.set(true);
    net.up(1);
    net.settle();
    assert_eq!(net.figures(1).flows_parked, 1, "{:?}", net.logs);
    (net, fickle, nap)
}

#[test]
fn a_parked_flow_holds_up_no_drain_and_no_place() {
    let (mut net, fickle, nap) = testnet_with_a_parked_flow();
    // Two places, and one of them is taken: so there is one for this.
    let other = net.start(1, "test.nap", "50", None);
    net.settle();
    assert_eq!(net.figures(1).flows_queued, 0);
    drain(&mut net);
    assert!(net.drained.is_empty());
    net.quiet();
    assert_eq!(net.drained, [1]);
    assert_eq!(net.ended(other), Ok(true));
    let known = net.start(1, "test.nap", "100", Some("nap"));
    net.settle();
    assert_eq!(net.ended(known), Ok(true));
    assert!(!net.replies.contains_key(&nap), "its client is gone");
    // The parked flow reports its status to every caller, and keeps its journal.
    let parked = |net: &mut Testnet, token: u64| {
        net.settle();
        let reply = net.replies.remove(&token);
        let Some(Reply::Running {
            flow,
            standing,
            step,
        }) = reply
        else {
            panic!("{reply:?}");
        };
        assert!(
            standing == Standing::Parked && step.contains("flow.replay_mismatched"),
            "{step}"
        );
        assert_eq!(flow, Testnet::flow_id(fickle));
    };
    let again = net.start(1, "test.fickle", "100", Some("fickle"));
    parked(&mut net, again);
    let token = net.token();
    let event = Event::Attach {
        flow: Testnet::flow_id(fickle),
        wait: Wait::Delivered,
        token: Token(token),
    };
    net.tell(1, event);
    parked(&mut net, token);
    assert!(net.nodes[1].disk.count(Table::Journal) > 0);
}

#[test]
fn a_parked_flow_goes_on_with_the_code_it_was_made_for() {
    let (mut net, _, _) = testnet_with_a_parked_flow();
    net.quiet();
    net.down(1);
    CODE_CHANGED.set(false);
    net.up(1);
    net.quiet();
    assert_eq!(net.figures(1).flows_parked, 0);
    let known = net.start(1, "test.fickle", "100", Some("fickle"));
    net.settle();
    assert_eq!(net.ended(known), Ok(true));
    assert_eq!(net.nodes[1].disk.count(Table::Journal), 0);
}

#[test]
fn a_parked_flow_can_be_killed() {
    let (mut net, fickle, _) = testnet_with_a_parked_flow();
    let token = Token(net.token());
    let flow = Testnet::flow_id(fickle);
    net.tell(1, Event::Cancel { flow, token });
    net.quiet();
    assert_eq!(net.replies.remove(&token.0), Some(Reply::Done));
    let known = net.start(1, "test.fickle", "100", Some("fickle"));
    net.settle();
    assert_eq!(net.ended(known), Err("flow.killed".to_owned()));
    let figures = net.figures(1);
    assert_eq!((figures.flows_parked, figures.flows_live), (0, 0));
    assert_eq!(net.nodes[1].disk.count(Table::Journal), 0);
    drain(&mut net);
    assert_eq!(net.drained, [1]);
}

fn ordered(net: &mut Testnet, order: Order, dry_run: bool) -> Result<u64, String> {
    let token = Token(net.token());
    let event = Event::Order {
        order,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run,
        token,
    };
    net.tell(1, event);
    net.settle();
    match net.replies.remove(&token.0) {
        Some(Reply::Ordered(ordered)) => Ok(ordered.matched),
        Some(Reply::Rejected(rejection)) => Err(rejection.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_resumed_while_the_node_drains_is_waited_for_and_a_drained_node_resumes_nothing() {
    let mut net = net();
    let naps = ["100", "200"].map(|ms| net.start(1, "test.nap", ms, Some(ms)));
    net.settle();
    assert_eq!(ordered(&mut net, Order::Pause, false), Ok(2));
    assert_eq!(net.figures(1).flows_paused, 2);
    // Both are to be resumed in the round before the drain begins, so the node is not drained in between.
    let token = Token(net.token());
    let event = Event::Order {
        order: Order::Resume,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run: false,
        token,
    };
    net.tell(1, event);
    drain(&mut net);
    assert!(net.drained.is_empty());
    // One is paused again and no longer delays the drain.
    net.now += 150;
    net.settle();
    assert_eq!(ordered(&mut net, Order::Pause, false), Ok(1));
    net.settle();
    assert_eq!(net.drained, [1]);
    assert_eq!(net.figures(1).flows_paused, 1);
    for order in [Order::Retry, Order::Resume] {
        let refused = ordered(&mut net, order, false);
        assert_eq!(refused, Err("node.draining".to_owned()), "{order:?}");
    }
    assert_eq!(ordered(&mut net, Order::Resume, true), Ok(1));
    net.down(1);
    net.up(1);
    net.settle();
    assert_eq!(net.figures(1).flows_paused, 1, "it outlives the program");
    assert_eq!(ordered(&mut net, Order::Resume, false), Ok(1));
    net.quiet();
    for (ms, _) in ["100", "200"].into_iter().zip(naps) {
        let known = net.start(1, "test.nap", ms, Some(ms));
        net.settle();
        assert_eq!(net.ended(known), Ok(true), "{ms}");
    }
}
