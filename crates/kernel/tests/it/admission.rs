//! Admission of starts: which run, which wait in the queue, and which are refused.

use flow::FlowId;
use kernel::port::Table;
use kernel::{Event, FLOW_BYTES, KernelOptions, Reply, Token, WAITING_MIN, Wait};

use crate::testnet::Testnet;

/// Builds a test network with a node that runs two flows and lets two wait.
fn net() -> Testnet {
    let options = KernelOptions {
        live_flows_max: 2,
        start_queue_max: 2,
        ..KernelOptions::default()
    };
    Testnet::with(1, false, options)
}

fn nap(net: &mut Testnet, ms: u64, client_id: Option<&str>) -> u64 {
    let token = net.start(1, "test.nap", &ms.to_string(), client_id);
    net.settle();
    token
}

fn cancel(net: &mut Testnet, flow: FlowId) -> Reply {
    let token = Token(net.token());
    net.tell(1, Event::Cancel { flow, token });
    net.settle();
    net.replies.remove(&token.0).expect("a reply")
}

fn attach(net: &mut Testnet, flow: FlowId, wait: Wait) -> u64 {
    let token = net.token();
    net.tell(
        1,
        Event::Attach {
            flow,
            wait,
            token: Token(token),
        },
    );
    net.settle();
    token
}

/// Returns the code of a refusal.
fn code(reply: Option<Reply>) -> String {
    match reply {
        Some(Reply::Rejected(rejection)) => rejection.code,
        other => panic!("not refused: {other:?}"),
    }
}

/// Returns the flow that ended under a token.
fn flow(net: &mut Testnet, token: u64) -> FlowId {
    match net.replies.remove(&token) {
        Some(Reply::Ended { outcome, .. }) => outcome.flow,
        other => panic!("flow {token}: {other:?}"),
    }
}

#[test]
fn who_finds_no_room_is_told_when_to_come_again() {
    let mut net = net();
    let admitted: Vec<u64> = (0..4).map(|_| nap(&mut net, 1_000, None)).collect();
    let figures = net.figures(1);
    assert_eq!((figures.flows_live, figures.flows_queued), (2, 2));
    let turned_away = nap(&mut net, 1_000, None);
    let reply = net.replies.remove(&turned_away);
    let Some(Reply::Busy { retry_after_ms }) = reply else {
        panic!("{reply:?}");
    };
    assert!((50..=10_000).contains(&retry_after_ms));
    assert_eq!(net.figures(1).starts_busy, 1);
    net.quiet();
    assert_eq!(net.now, 1_000_000 + 2_000, "two after two");
    for token in admitted {
        assert_eq!(net.ended(token), Ok(true));
    }
    assert!(net.replies.is_empty());
    for _ in 0..4 {
        nap(&mut net, 1_000, None);
    }
    let turned_away = nap(&mut net, 1_000, None);
    let reply = net.replies.remove(&turned_away);
    // Flows end at a rate of one a second, and two wait.
    assert!(
        matches!(
            reply,
            Some(Reply::Busy {
                retry_after_ms: 500..=4_000
            })
        ),
        "{reply:?}"
    );
}

#[test]
fn starts_that_wait_come_first_come_first_served_and_leave_nothing_in_the_store() {
    let mut net = net();
    let tokens: Vec<u64> = (0..4).map(|n| nap(&mut net, 100 + n, None)).collect();
    assert_eq!(net.nodes[1].disk.count(Table::Journal), 2);
    let mut ended = Vec::new();
    while ended.len() < 4 {
        net.now += 1;
        net.settle();
        let new: Vec<u64> = net.replies.keys().copied().collect();
        new.iter().for_each(|token| drop(net.replies.remove(token)));
        ended.extend(new);
    }
    assert_eq!(ended, tokens);
}

#[test]
fn a_start_that_waits_is_as_if_never_sent_once_the_node_goes_down() {
    let mut net = net();
    let ids = ["a", "b", "c"];
    for id in ids {
        nap(&mut net, 1_000, Some(id));
    }
    net.down(1);
    net.up(1);
    net.settle();
    assert_eq!(net.figures(1).flows_live, 2);
    let again = ids.map(|id| nap(&mut net, 1_000, Some(id)));
    net.quiet();
    let flows = again.map(|token| flow(&mut net, token));
    assert_eq!(
        flows,
        [
            Testnet::flow_id(1),
            Testnet::flow_id(2),
            Testnet::flow_id(again[2])
        ]
    );
}

#[test]
fn a_start_repeated_while_it_waits_joins_the_first() {
    let mut net = net();
    nap(&mut net, 1_000, None);
    nap(&mut net, 1_000, None);
    let first = nap(&mut net, 5, Some("a"));
    let again = nap(&mut net, 5, Some("a"));
    let accepted = net.start_and_wait(1, "test.nap", "5", Some("a"), Wait::Accepted);
    let other = nap(&mut net, 6, Some("a"));
    assert_eq!(net.figures(1).flows_queued, 1);
    assert_eq!(code(net.replies.remove(&other)), "node.client_id_reused");
    assert!(
        !net.replies.contains_key(&accepted),
        "nothing is promised before it runs"
    );
    net.quiet();
    assert_eq!(flow(&mut net, first), Testnet::flow_id(first));
    assert_eq!(flow(&mut net, again), Testnet::flow_id(first));
    let expected = Reply::Accepted {
        flow: Testnet::flow_id(first),
    };
    assert_eq!(net.replies.remove(&accepted), Some(expected));
    assert_eq!(net.figures(1).flows_done, 3);
}

#[test]
fn a_client_id_stands_for_one_start_whether_it_waits_runs_or_has_ended() {
    let mut net = net();
    let first = nap(&mut net, 1_000, Some("a"));
    let check = |net: &mut Testnet, when: &str| {
        let args = nap(net, 2, Some("a"));
        let name = net.start(1, "test.double", "1000", Some("a"));
        net.settle();
        for token in [args, name] {
            let found = code(net.replies.remove(&token));
            assert_eq!(found, "node.client_id_reused", "{when}");
        }
    };
    check(&mut net, "it runs");
    net.quiet();
    assert_eq!(net.ended(first), Ok(true));
    check(&mut net, "it has ended");
    net.down(1);
    net.up(1);
    check(&mut net, "it has ended in an earlier run");
    let remove = |net: &mut Testnet| {
        let token = Token(net.token());
        let (user, client_id) = ("tester".to_owned(), "a".to_owned());
        let event = Event::RemoveClient {
            user,
            client_id,
            token,
        };
        net.tell(1, event);
        net.settle();
        net.replies.remove(&token.0)
    };
    assert_eq!(remove(&mut net), Some(Reply::Done));
    assert_eq!(code(remove(&mut net)), "node.unknown_client_id");
    let fresh = nap(&mut net, 2, Some("a"));
    net.quiet();
    assert_eq!(flow(&mut net, fresh), Testnet::flow_id(fresh));
}

#[test]
fn a_start_that_waits_can_be_cancelled() {
    let mut net = net();
    nap(&mut net, 1_000, None);
    nap(&mut net, 1_000, None);
    let first = nap(&mut net, 5, Some("a"));
    let again = nap(&mut net, 5, Some("a"));
    let attached = attach(&mut net, Testnet::flow_id(first), Wait::Finalised);
    let asked = attach(&mut net, Testnet::flow_id(first), Wait::Accepted);
    let running = net.replies.remove(&asked);
    assert!(matches!(
        running,
        Some(Reply::Running {
            standing: kernel::Standing::Running,
            ..
        })
    ));
    assert_eq!(cancel(&mut net, Testnet::flow_id(first)), Reply::Done);
    for token in [first, again, attached] {
        assert_eq!(code(net.replies.remove(&token)), "flow.killed");
    }
    let twice = cancel(&mut net, Testnet::flow_id(first));
    assert_eq!(code(Some(twice)), "node.unknown_flow");
    let fresh = nap(&mut net, 6, Some("a"));
    net.quiet();
    assert_eq!(net.ended(fresh), Ok(true), "the id is free");
}

#[test]
fn a_flow_that_runs_can_be_cancelled_and_its_place_is_taken() {
    let mut net = net();
    let first = nap(&mut net, 1_000_000, Some("a"));
    nap(&mut net, 1_000_000, None);
    let waits = nap(&mut net, 5, None);
    assert_eq!(cancel(&mut net, Testnet::flow_id(first)), Reply::Done);
    assert_eq!(net.ended(first), Err("flow.killed".to_owned()));
    net.now += 5;
    net.settle();
    assert_eq!(net.ended(waits), Ok(true));
    let again = nap(&mut net, 1_000_000, Some("a"));
    assert_eq!(
        net.ended(again),
        Err("flow.killed".to_owned()),
        "its outcome is kept"
    );
}

#[test]
fn who_detaches_hears_nothing_and_the_flow_goes_on() {
    let mut net = net();
    let first = nap(&mut net, 5, Some("a"));
    let second = attach(&mut net, Testnet::flow_id(first), Wait::Finalised);
    for token in [first, 999, first].map(Token) {
        net.tell(1, Event::Detach { token });
    }
    net.quiet();
    assert!(!net.replies.contains_key(&first));
    assert_eq!(net.ended(second), Ok(true));
    let after = attach(&mut net, Testnet::flow_id(first), Wait::Delivered);
    assert_eq!(
        net.ended(after),
        Ok(true),
        "attached to a flow that has ended"
    );
    let never = attach(&mut net, FlowId([9; 16]), Wait::Delivered);
    assert_eq!(net.ended(never), Err("node.unknown_flow".to_owned()));
}

#[test]
fn who_detaches_from_a_queued_start_hears_nothing_of_it() {
    let mut net = net();
    nap(&mut net, 1_000, None);
    nap(&mut net, 1_000, None);
    let first = nap(&mut net, 5, Some("a"));
    let again = nap(&mut net, 5, Some("a"));
    net.tell(
        1,
        Event::Detach {
            token: Token(first),
        },
    );
    net.quiet();
    assert_eq!(net.ended(again), Ok(true));
    assert!(!net.replies.contains_key(&first));
}

#[test]
fn flows_that_weigh_too_much_together_wait_for_each_other() {
    let options = KernelOptions {
        live_bytes_max: 4 * FLOW_BYTES,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(1, false, options);
    // The rows that they journal make each flow weigh a little more than estimated.
    let tokens: Vec<u64> = (0..5).map(|_| nap(&mut net, 1_000, None)).collect();
    let figures = net.figures(1);
    assert_eq!((figures.flows_live, figures.flows_queued), (3, 2));
    assert!((3 * FLOW_BYTES as u64..4 * FLOW_BYTES as u64).contains(&figures.flows_bytes));
    net.quiet();
    for token in tokens {
        assert_eq!(net.ended(token), Ok(true));
    }
    assert_eq!(net.figures(1).flows_bytes, 0);
}

#[test]
fn no_more_wait_than_end_within_the_time_that_they_may_have_to() {
    let options = KernelOptions {
        live_flows_max: 10,
        start_wait_ms_max: 1_000,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(1, false, options);
    let busy = |net: &mut Testnet, count: usize| {
        let tokens: Vec<u64> = (0..count).map(|_| nap(net, 1_000, None)).collect();
        let told = tokens
            .iter()
            .filter(|token| matches!(net.replies.get(token), Some(Reply::Busy { .. })));
        told.count()
    };
    // No rate is known yet: the queue's length alone counts.
    assert_eq!(busy(&mut net, 600), 0);
    net.quiet();
    net.replies.clear();
    // Ten a second end.
    assert_eq!(busy(&mut net, 10 + WAITING_MIN + 90), 90);
    assert_eq!(net.figures(1).starts_busy, 90);
    assert_eq!(net.figures(1).flows_queued, WAITING_MIN as u64);
    net.quiet();
    assert_eq!(net.figures(1).flows_started, 600 + 10 + WAITING_MIN as u64);
}

#[test]
fn much_that_waits_is_started_in_several_rounds_and_none_is_left() {
    let options = KernelOptions {
        live_flows_max: 300,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(1, false, options);
    let tokens: Vec<u64> = (0..600).map(|_| nap(&mut net, 1_000, None)).collect();
    let figures = net.figures(1);
    assert_eq!((figures.flows_live, figures.flows_queued), (300, 300));
    net.quiet();
    assert_eq!(net.now, 1_000_000 + 2_000, "all of the second half at once");
    for token in tokens {
        assert_eq!(net.ended(token), Ok(true));
    }
}
