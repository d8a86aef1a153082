//! Admission of starts: which run, which wait in the queue, and which are refused.

use flow::FlowId;
use kernel::port::Table;
use kernel::{Event, FLOW_BYTES, KernelOptions, Reply, Token, WAITING_MIN, Wait};

use crate::town::Town;

/// Builds a town with a node that runs two flows and lets two wait.
fn town() -> Town {
    let options = KernelOptions {
        live_flows_max: 2,
        start_queue_max: 2,
        ..KernelOptions::default()
    };
    Town::with(1, false, options)
}

fn nap(town: &mut Town, ms: u64, client_id: Option<&str>) -> u64 {
    let token = town.start(1, "test.nap", &ms.to_string(), client_id);
    town.settle();
    token
}

fn cancel(town: &mut Town, flow: FlowId) -> Reply {
    let token = Token(town.token());
    town.tell(1, Event::Cancel { flow, token });
    town.settle();
    town.replies.remove(&token.0).expect("a reply")
}

fn attach(town: &mut Town, flow: FlowId, wait: Wait) -> u64 {
    let token = town.token();
    town.tell(
        1,
        Event::Attach {
            flow,
            wait,
            token: Token(token),
        },
    );
    town.settle();
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
fn flow(town: &mut Town, token: u64) -> FlowId {
    match town.replies.remove(&token) {
        Some(Reply::Ended { outcome, .. }) => outcome.flow,
        other => panic!("flow {token}: {other:?}"),
    }
}

#[test]
fn who_finds_no_room_is_told_when_to_come_again() {
    let mut town = town();
    let admitted: Vec<u64> = (0..4).map(|_| nap(&mut town, 1_000, None)).collect();
    let figures = town.figures(1);
    assert_eq!((figures.flows_live, figures.flows_queued), (2, 2));
    let turned_away = nap(&mut town, 1_000, None);
    let reply = town.replies.remove(&turned_away);
    let Some(Reply::Busy { retry_after_ms }) = reply else {
        panic!("{reply:?}");
    };
    assert!((50..=10_000).contains(&retry_after_ms));
    assert_eq!(town.figures(1).starts_busy, 1);
    town.quiet();
    assert_eq!(town.now, 1_000_000 + 2_000, "two after two");
    for token in admitted {
        assert_eq!(town.ended(token), Ok(true));
    }
    assert!(town.replies.is_empty());
    for _ in 0..4 {
        nap(&mut town, 1_000, None);
    }
    let turned_away = nap(&mut town, 1_000, None);
    let reply = town.replies.remove(&turned_away);
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
    let mut town = town();
    let tokens: Vec<u64> = (0..4).map(|n| nap(&mut town, 100 + n, None)).collect();
    assert_eq!(town.nodes[1].disk.count(Table::Journal), 2);
    let mut ended = Vec::new();
    while ended.len() < 4 {
        town.now += 1;
        town.settle();
        let new: Vec<u64> = town.replies.keys().copied().collect();
        new.iter()
            .for_each(|token| drop(town.replies.remove(token)));
        ended.extend(new);
    }
    assert_eq!(ended, tokens);
}

#[test]
fn a_start_that_waits_is_as_if_never_sent_once_the_node_goes_down() {
    let mut town = town();
    let ids = ["a", "b", "c"];
    for id in ids {
        nap(&mut town, 1_000, Some(id));
    }
    town.down(1);
    town.up(1);
    town.settle();
    assert_eq!(town.figures(1).flows_live, 2);
    let again = ids.map(|id| nap(&mut town, 1_000, Some(id)));
    town.quiet();
    let flows = again.map(|token| flow(&mut town, token));
    assert_eq!(
        flows,
        [Town::flow_id(1), Town::flow_id(2), Town::flow_id(again[2])]
    );
}

#[test]
fn a_start_repeated_while_it_waits_joins_the_first() {
    let mut town = town();
    nap(&mut town, 1_000, None);
    nap(&mut town, 1_000, None);
    let first = nap(&mut town, 5, Some("a"));
    let again = nap(&mut town, 5, Some("a"));
    let accepted = town.start_and_wait(1, "test.nap", "5", Some("a"), Wait::Accepted);
    let other = nap(&mut town, 6, Some("a"));
    assert_eq!(town.figures(1).flows_queued, 1);
    assert_eq!(code(town.replies.remove(&other)), "node.client_id_reused");
    assert!(
        !town.replies.contains_key(&accepted),
        "nothing is promised before it runs"
    );
    town.quiet();
    assert_eq!(flow(&mut town, first), Town::flow_id(first));
    assert_eq!(flow(&mut town, again), Town::flow_id(first));
    let expected = Reply::Accepted {
        flow: Town::flow_id(first),
    };
    assert_eq!(town.replies.remove(&accepted), Some(expected));
    assert_eq!(town.figures(1).flows_done, 3);
}

#[test]
fn a_client_id_stands_for_one_start_whether_it_waits_runs_or_has_ended() {
    let mut town = town();
    let first = nap(&mut town, 1_000, Some("a"));
    let check = |town: &mut Town, when: &str| {
        let args = nap(town, 2, Some("a"));
        let name = town.start(1, "test.double", "1000", Some("a"));
        town.settle();
        for token in [args, name] {
            let found = code(town.replies.remove(&token));
            assert_eq!(found, "node.client_id_reused", "{when}");
        }
    };
    check(&mut town, "it runs");
    town.quiet();
    assert_eq!(town.ended(first), Ok(true));
    check(&mut town, "it has ended");
    town.down(1);
    town.up(1);
    check(&mut town, "it has ended in an earlier run");
    let remove = |town: &mut Town| {
        let token = Token(town.token());
        let (user, client_id) = ("tester".to_owned(), "a".to_owned());
        let event = Event::RemoveClient {
            user,
            client_id,
            token,
        };
        town.tell(1, event);
        town.settle();
        town.replies.remove(&token.0)
    };
    assert_eq!(remove(&mut town), Some(Reply::Done));
    assert_eq!(code(remove(&mut town)), "node.unknown_client_id");
    let fresh = nap(&mut town, 2, Some("a"));
    town.quiet();
    assert_eq!(flow(&mut town, fresh), Town::flow_id(fresh));
}

#[test]
fn a_start_that_waits_can_be_cancelled() {
    let mut town = town();
    nap(&mut town, 1_000, None);
    nap(&mut town, 1_000, None);
    let first = nap(&mut town, 5, Some("a"));
    let again = nap(&mut town, 5, Some("a"));
    let attached = attach(&mut town, Town::flow_id(first), Wait::Finalised);
    let asked = attach(&mut town, Town::flow_id(first), Wait::Accepted);
    let running = town.replies.remove(&asked);
    assert!(matches!(
        running,
        Some(Reply::Running {
            standing: kernel::Standing::Running,
            ..
        })
    ));
    assert_eq!(cancel(&mut town, Town::flow_id(first)), Reply::Done);
    for token in [first, again, attached] {
        assert_eq!(code(town.replies.remove(&token)), "flow.killed");
    }
    let twice = cancel(&mut town, Town::flow_id(first));
    assert_eq!(code(Some(twice)), "node.unknown_flow");
    let fresh = nap(&mut town, 6, Some("a"));
    town.quiet();
    assert_eq!(town.ended(fresh), Ok(true), "the id is free");
}

#[test]
fn a_flow_that_runs_can_be_cancelled_and_its_place_is_taken() {
    let mut town = town();
    let first = nap(&mut town, 1_000_000, Some("a"));
    nap(&mut town, 1_000_000, None);
    let waits = nap(&mut town, 5, None);
    assert_eq!(cancel(&mut town, Town::flow_id(first)), Reply::Done);
    assert_eq!(town.ended(first), Err("flow.killed".to_owned()));
    town.now += 5;
    town.settle();
    assert_eq!(town.ended(waits), Ok(true));
    let again = nap(&mut town, 1_000_000, Some("a"));
    assert_eq!(
        town.ended(again),
        Err("flow.killed".to_owned()),
        "its outcome is kept"
    );
}

#[test]
fn who_detaches_hears_nothing_and_the_flow_goes_on() {
    let mut town = town();
    let first = nap(&mut town, 5, Some("a"));
    let second = attach(&mut town, Town::flow_id(first), Wait::Finalised);
    for token in [first, 999, first].map(Token) {
        town.tell(1, Event::Detach { token });
    }
    town.quiet();
    assert!(!town.replies.contains_key(&first));
    assert_eq!(town.ended(second), Ok(true));
    let after = attach(&mut town, Town::flow_id(first), Wait::Delivered);
    assert_eq!(
        town.ended(after),
        Ok(true),
        "attached to a flow that has ended"
    );
    let never = attach(&mut town, FlowId([9; 16]), Wait::Delivered);
    assert_eq!(town.ended(never), Err("node.unknown_flow".to_owned()));
}

#[test]
fn who_detaches_from_a_queued_start_hears_nothing_of_it() {
    let mut town = town();
    nap(&mut town, 1_000, None);
    nap(&mut town, 1_000, None);
    let first = nap(&mut town, 5, Some("a"));
    let again = nap(&mut town, 5, Some("a"));
    town.tell(
        1,
        Event::Detach {
            token: Token(first),
        },
    );
    town.quiet();
    assert_eq!(town.ended(again), Ok(true));
    assert!(!town.replies.contains_key(&first));
}

#[test]
fn flows_that_weigh_too_much_together_wait_for_each_other() {
    let options = KernelOptions {
        live_bytes_max: 4 * FLOW_BYTES,
        ..KernelOptions::default()
    };
    let mut town = Town::with(1, false, options);
    // The rows that they journal make each flow weigh a little more than estimated.
    let tokens: Vec<u64> = (0..5).map(|_| nap(&mut town, 1_000, None)).collect();
    let figures = town.figures(1);
    assert_eq!((figures.flows_live, figures.flows_queued), (3, 2));
    assert!((3 * FLOW_BYTES as u64..4 * FLOW_BYTES as u64).contains(&figures.flows_bytes));
    town.quiet();
    for token in tokens {
        assert_eq!(town.ended(token), Ok(true));
    }
    assert_eq!(town.figures(1).flows_bytes, 0);
}

#[test]
fn no_more_wait_than_end_within_the_time_that_they_may_have_to() {
    let options = KernelOptions {
        live_flows_max: 10,
        start_wait_ms_max: 1_000,
        ..KernelOptions::default()
    };
    let mut town = Town::with(1, false, options);
    let busy = |town: &mut Town, count: usize| {
        let tokens: Vec<u64> = (0..count).map(|_| nap(town, 1_000, None)).collect();
        let told = tokens
            .iter()
            .filter(|token| matches!(town.replies.get(token), Some(Reply::Busy { .. })));
        told.count()
    };
    // No rate is known yet: the queue's length alone counts.
    assert_eq!(busy(&mut town, 600), 0);
    town.quiet();
    town.replies.clear();
    // Ten a second end.
    assert_eq!(busy(&mut town, 10 + WAITING_MIN + 90), 90);
    assert_eq!(town.figures(1).starts_busy, 90);
    assert_eq!(town.figures(1).flows_queued, WAITING_MIN as u64);
    town.quiet();
    assert_eq!(town.figures(1).flows_started, 600 + 10 + WAITING_MIN as u64);
}

#[test]
fn much_that_waits_is_started_in_several_rounds_and_none_is_left() {
    let options = KernelOptions {
        live_flows_max: 300,
        ..KernelOptions::default()
    };
    let mut town = Town::with(1, false, options);
    let tokens: Vec<u64> = (0..600).map(|_| nap(&mut town, 1_000, None)).collect();
    let figures = town.figures(1);
    assert_eq!((figures.flows_live, figures.flows_queued), (300, 300));
    town.quiet();
    assert_eq!(
        town.now,
        1_000_000 + 2_000,
        "all of the second half at once"
    );
    for token in tokens {
        assert_eq!(town.ended(token), Ok(true));
    }
}
