//! Draining: no new starts, and word when the last flow has ended. Parked flows hold nothing up.

use kernel::port::Table;
use kernel::{Event, FlowFilter, KernelOptions, Order, Reply, Standing, Token, Wait};

use crate::town::{CODE_CHANGED, Town};

fn town() -> Town {
    let options = KernelOptions {
        live_flows_max: 2,
        start_queue_max: 2,
        ..KernelOptions::default()
    };
    Town::with(2, false, options)
}

fn drain(town: &mut Town) {
    town.tell(1, Event::Drain);
    town.settle();
}

fn refused(town: &mut Town) {
    let start = town.start(1, "test.nap", "1", Some("new"));
    town.settle();
    assert_eq!(town.ended(start), Err("node.draining".to_owned()));
}

#[test]
fn an_idle_node_is_drained_at_once_and_says_so_once() {
    let mut town = town();
    drain(&mut town);
    drain(&mut town);
    town.quiet();
    assert_eq!(town.drained, [1]);
    refused(&mut town);
}

#[test]
fn a_node_is_drained_after_its_last_flow_queued_ones_too() {
    let mut town = town();
    let args = ["100", "200", "300"];
    let tokens = args.map(|ms| town.start(1, "test.nap", ms, Some(ms)));
    town.settle();
    drain(&mut town);
    refused(&mut town);
    let joined = town.start(1, "test.nap", "300", Some("300"));
    while town.drained.is_empty() {
        let all_ended = tokens.iter().all(|token| town.replies.contains_key(token));
        assert!(!all_ended, "drained with the commit of the last end");
        town.now += 1;
        town.settle();
    }
    assert_eq!(town.now, 1_000_400);
    for token in tokens.into_iter().chain([joined]) {
        assert_eq!(town.ended(token), Ok(true));
    }
    let known = town.start(1, "test.nap", "300", Some("300"));
    town.settle();
    assert_eq!(town.ended(known), Ok(true), "what has ended is still told");
}

#[test]
fn responders_are_served_to_their_end_while_the_node_drains() {
    let mut town = town();
    let nap = town.start(1, "test.nap", "100", None);
    town.settle();
    drain(&mut town);
    let asked = town.start(2, "test.double", "1", None);
    town.settle();
    assert_eq!(town.ended(asked), Ok(true));
    assert!(town.drained.is_empty());
    town.quiet();
    assert_eq!((town.ended(nap), town.drained.len()), (Ok(true), 1));
}

/// Builds a node with one parked and one sleeping flow.
fn town_with_a_parked_flow() -> (Town, u64, u64) {
    let mut town = town();
    CODE_CHANGED.set(false);
    let fickle = town.start(1, "test.fickle", "100", Some("fickle"));
    let nap = town.start(1, "test.nap", "100", Some("nap"));
    town.settle();
    town.now += 1;
    town.settle();
    town.down(1);
    CODE_CHANGED.set(true);
    town.up(1);
    town.settle();
    assert_eq!(town.figures(1).flows_parked, 1, "{:?}", town.logs);
    (town, fickle, nap)
}

#[test]
fn a_parked_flow_holds_up_no_drain_and_no_place() {
    let (mut town, fickle, nap) = town_with_a_parked_flow();
    // Two places, and one of them is taken: so there is one for this.
    let other = town.start(1, "test.nap", "50", None);
    town.settle();
    assert_eq!(town.figures(1).flows_queued, 0);
    drain(&mut town);
    assert!(town.drained.is_empty());
    town.quiet();
    assert_eq!(town.drained, [1]);
    assert_eq!(town.ended(other), Ok(true));
    let known = town.start(1, "test.nap", "100", Some("nap"));
    town.settle();
    assert_eq!(town.ended(known), Ok(true));
    assert!(!town.replies.contains_key(&nap), "its client is gone");
    // The parked flow reports its status to every caller, and keeps its journal.
    let parked = |town: &mut Town, token: u64| {
        town.settle();
        let reply = town.replies.remove(&token);
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
        assert_eq!(flow, Town::flow_id(fickle));
    };
    let again = town.start(1, "test.fickle", "100", Some("fickle"));
    parked(&mut town, again);
    let token = town.token();
    let event = Event::Attach {
        flow: Town::flow_id(fickle),
        wait: Wait::Delivered,
        token: Token(token),
    };
    town.tell(1, event);
    parked(&mut town, token);
    assert!(town.nodes[1].disk.count(Table::Journal) > 0);
}

#[test]
fn a_parked_flow_goes_on_with_the_code_it_was_made_for() {
    let (mut town, _, _) = town_with_a_parked_flow();
    town.quiet();
    town.down(1);
    CODE_CHANGED.set(false);
    town.up(1);
    town.quiet();
    assert_eq!(town.figures(1).flows_parked, 0);
    let known = town.start(1, "test.fickle", "100", Some("fickle"));
    town.settle();
    assert_eq!(town.ended(known), Ok(true));
    assert_eq!(town.nodes[1].disk.count(Table::Journal), 0);
}

#[test]
fn a_parked_flow_can_be_killed() {
    let (mut town, fickle, _) = town_with_a_parked_flow();
    let token = Token(town.token());
    let flow = Town::flow_id(fickle);
    town.tell(1, Event::Cancel { flow, token });
    town.quiet();
    assert_eq!(town.replies.remove(&token.0), Some(Reply::Done));
    let known = town.start(1, "test.fickle", "100", Some("fickle"));
    town.settle();
    assert_eq!(town.ended(known), Err("flow.killed".to_owned()));
    let figures = town.figures(1);
    assert_eq!((figures.flows_parked, figures.flows_live), (0, 0));
    assert_eq!(town.nodes[1].disk.count(Table::Journal), 0);
    drain(&mut town);
    assert_eq!(town.drained, [1]);
}

fn ordered(town: &mut Town, order: Order, dry_run: bool) -> Result<u64, String> {
    let token = Token(town.token());
    let event = Event::Order {
        order,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run,
        token,
    };
    town.tell(1, event);
    town.settle();
    match town.replies.remove(&token.0) {
        Some(Reply::Ordered(ordered)) => Ok(ordered.matched),
        Some(Reply::Rejected(rejection)) => Err(rejection.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_resumed_while_the_node_drains_is_waited_for_and_a_drained_node_resumes_nothing() {
    let mut town = town();
    let naps = ["100", "200"].map(|ms| town.start(1, "test.nap", ms, Some(ms)));
    town.settle();
    assert_eq!(ordered(&mut town, Order::Pause, false), Ok(2));
    assert_eq!(town.figures(1).flows_paused, 2);
    // Both are to be resumed in the round before the drain begins, so the node is not drained in between.
    let token = Token(town.token());
    let event = Event::Order {
        order: Order::Resume,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run: false,
        token,
    };
    town.tell(1, event);
    drain(&mut town);
    assert!(town.drained.is_empty());
    // One is paused again and no longer delays the drain.
    town.now += 150;
    town.settle();
    assert_eq!(ordered(&mut town, Order::Pause, false), Ok(1));
    town.settle();
    assert_eq!(town.drained, [1]);
    assert_eq!(town.figures(1).flows_paused, 1);
    for order in [Order::Retry, Order::Resume] {
        let refused = ordered(&mut town, order, false);
        assert_eq!(refused, Err("node.draining".to_owned()), "{order:?}");
    }
    assert_eq!(ordered(&mut town, Order::Resume, true), Ok(1));
    town.down(1);
    town.up(1);
    town.settle();
    assert_eq!(town.figures(1).flows_paused, 1, "it outlives the program");
    assert_eq!(ordered(&mut town, Order::Resume, false), Ok(1));
    town.quiet();
    for (ms, _) in ["100", "200"].into_iter().zip(naps) {
        let known = town.start(1, "test.nap", ms, Some(ms));
        town.settle();
        assert_eq!(town.ended(known), Ok(true), "{ms}");
    }
}
