//! The history of flows: each end has one row, and old rows are deleted.

use kernel::port::{Table, WriteBatch};
use kernel::rows::journal_key;
use kernel::{
    Event, FlowFilter, HISTORY_AGE_CHECK_MS, HISTORY_LOOKED_UP_MAX, HistoryEnd, HistoryFilter,
    HistoryOptions, HistoryRow, KernelOptions, Order, Reply, Token, Wait,
};
use primitives::Timestamp;

use crate::pay::{issue, pay};
use crate::testnet::{TROUBLE, Testnet, Trouble};

const HOUR_MS: u64 = 3_600_000;

fn net_with(flows_max: u64, age_ms_max: u64) -> Testnet {
    TROUBLE.set(Trouble::None);
    let history = HistoryOptions {
        flows_max,
        age_ms_max,
    };
    let options = KernelOptions {
        history,
        live_flows_max: 2,
        ..KernelOptions::default()
    };
    Testnet::with(2, false, options)
}

fn net() -> Testnet {
    let HistoryOptions {
        flows_max,
        age_ms_max,
    } = HistoryOptions::default();
    net_with(flows_max, age_ms_max)
}

/// Returns the history of a node, the last end first.
fn history(net: &Testnet, node: usize) -> Vec<HistoryRow> {
    let filter = HistoryFilter::default();
    let disk = &net.nodes[node].disk;
    let page = kernel::history_page(&filter, &|_| true, None, usize::MAX, disk);
    let page = page.expect("the disk reads");
    assert_eq!(page.next, None);
    for row in &page.rows {
        let found = kernel::ended_flow(&row.flow, disk).expect("the disk reads");
        assert_eq!(found.as_ref(), Some(row));
    }
    assert_eq!(
        net.nodes[node].disk.count(Table::FlowHistory),
        2 * page.rows.len()
    );
    page.rows
}

/// Returns the flow, the user and the code of a row.
fn told(row: &HistoryRow) -> (&str, &str, &str) {
    let start = row.start.as_ref();
    let name = start.map_or("?", |start| start.name.as_str());
    let user = start.and_then(|start| start.user.as_deref());
    let code = match &row.end {
        HistoryEnd::Failure(rejection) => rejection.code.as_str(),
        HistoryEnd::Output(_) | HistoryEnd::LargeOutput(_) => "",
    };
    (name, user.unwrap_or("?"), code)
}

fn tell(net: &mut Testnet, event: impl FnOnce(Token) -> Event) -> Reply {
    let token = net.token();
    net.tell(1, event(Token(token)));
    net.settle();
    net.replies.remove(&token).expect("a reply")
}

fn kill_all(net: &mut Testnet) {
    tell(net, |token| Event::Order {
        order: Order::Kill,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run: false,
        token,
    });
}

/// A flow that fails at once.
fn fail(net: &mut Testnet) {
    net.start(1, "cash.pay", &pay(1, 2), None);
    net.settle();
}

fn tick(net: &mut Testnet) {
    net.tell(1, Event::Tick);
    net.settle();
}

/// Each line: the events at node 1, then a node and its newest row.
#[test]
fn each_end_has_a_row() {
    type Case = (
        fn(&mut Testnet),
        usize,
        (&'static str, &'static str, &'static str),
    );
    let table: [Case; 7] = [
        (
            |net| {
                net.start(1, "cash.issue", &issue(5), Some("a"));
            },
            1,
            ("cash.issue", "tester", ""),
        ),
        (fail, 1, ("cash.pay", "tester", "vault.insufficient_funds")),
        (
            |net| {
                net.start(1, "test.nap", "1000", None);
                net.settle();
                kill_all(net);
            },
            1,
            ("test.nap", "tester", "flow.killed"),
        ),
        // Cancelled in the queue.
        (
            |net| {
                for _ in 0..2 {
                    net.start(1, "test.nap", "1000", None);
                }
                let third = net.start(1, "test.nap", "7", None);
                net.settle();
                let flow = Testnet::flow_id(third);
                assert_eq!(
                    tell(net, |token| Event::Cancel { flow, token }),
                    Reply::Done
                );
            },
            1,
            ("test.nap", "tester", "flow.killed"),
        ),
        // Parked, and killed after a restart.
        (
            |net| {
                TROUBLE.set(Trouble::Panic);
                net.start(1, "test.frail", "2", None);
                net.settle();
                net.now += 1;
                net.settle();
                net.down(1);
                net.up(1);
                net.settle();
                kill_all(net);
            },
            1,
            ("test.frail", "tester", "flow.killed"),
        ),
        // Its journal cannot be read.
        (
            |net| {
                let token = net.start(1, "test.nap", "1000", None);
                net.settle();
                net.down(1);
                let mut batch = WriteBatch::default();
                let key = journal_key(&Testnet::flow_id(token), 0);
                batch.put(Table::Journal, key, b"no row".to_vec());
                net.nodes[1].disk.write(batch);
                net.up(1);
                net.settle();
                kill_all(net);
            },
            1,
            ("?", "?", "flow.killed"),
        ),
        // A responder whose counterparty is killed.
        (
            |net| {
                net.down(2);
                net.start(1, "test.double", "2", None);
                net.settle();
                kill_all(net);
                net.up(2);
                net.quiet();
            },
            2,
            ("test.double", "?", "flow.counterparty_killed"),
        ),
    ];
    for (number, (happen, node, expected)) in table.into_iter().enumerate() {
        let mut net = net();
        happen(&mut net);
        net.settle();
        let rows = history(&net, node);
        assert_eq!(rows.first().map(told), Some(expected), "line {number}");
        assert_eq!(rows.len(), 1, "line {number}: {rows:#?}");
        let origin = rows[0].start.as_ref().and_then(|start| start.origin);
        let other = (node == 2).then(|| net.nodes[1].id);
        assert_eq!(origin, other, "line {number}");
    }
}

#[test]
fn a_row_tells_the_course_of_its_flow() {
    let mut net = net();
    let begun = net.now;
    net.down(2);
    let token = net.start(1, "test.double", "2", Some("my id"));
    net.settle();
    net.now += 500;
    net.up(2);
    net.settle();
    assert_eq!(net.ended(token), Ok(true));
    let rows = history(&net, 1);
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    let start = row.start.as_ref().expect("a start");
    assert_eq!(start.at, Some(Timestamp::from_ms(begun)));
    assert_eq!(row.ended_at, Timestamp::from_ms(begun + 500));
    assert_eq!(start.client_id.as_deref(), Some("my id"));
    assert_eq!((start.version, start.origin), (Some(1), None));
    assert_eq!(row.peers, [net.nodes[2].id]);
    assert!(matches!(&row.end, HistoryEnd::Output(output) if !output.is_empty()));
    // The responder has succeeded, so its node has no row.
    assert_eq!(history(&net, 2), []);
    let token = net.start(1, "cash.issue", &issue(5), None);
    net.settle();
    let Some(Reply::Ended { outcome, .. }) = net.replies.remove(&token) else {
        panic!("no outcome");
    };
    let rows = history(&net, 1);
    assert_eq!(rows[0].transactions, outcome.transactions);
    assert_eq!(
        rows[0].end,
        HistoryEnd::Output(outcome.result.clone().expect("issued"))
    );
}

#[test]
fn a_clock_set_back_leaves_the_order_of_ends() {
    let mut net = net();
    fail(&mut net);
    net.start(1, "test.nap", "10", None);
    net.settle();
    net.nodes[1].clock_off_ms = -900_000;
    net.now += 10;
    net.settle();
    let rows = history(&net, 1);
    let [nap, failed] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert!(nap.ended_at < failed.ended_at);
    assert!(nap.start.as_ref().and_then(|start| start.at) > Some(nap.ended_at));
    assert_eq!(nap.latest, failed.ended_at);
    // The later row does not hide the earlier one, which is in the range.
    let filter = HistoryFilter {
        since: Some(failed.ended_at),
        ..HistoryFilter::default()
    };
    let disk = &net.nodes[1].disk;
    let page = kernel::history_page(&filter, &|_| true, None, 10, disk).expect("reads");
    assert_eq!(page.rows, std::slice::from_ref(failed));
}

#[test]
fn only_the_newest_of_each_kind_are_kept() {
    let mut net = net_with(3, u64::MAX);
    for _ in 0..2 {
        net.start(1, "cash.issue", &issue(5), None);
        net.settle();
    }
    for _ in 0..5 {
        net.start(1, "cash.pay", &pay(100, 2), None);
        net.settle();
    }
    let numbers = |net: &Testnet| -> Vec<u64> {
        let rows = history(net, 1);
        rows.iter().map(|row| row.number).collect()
    };
    assert_eq!(
        numbers(&net),
        [6, 5, 4, 1, 0],
        "failures leave successes alone"
    );
    assert_eq!(net.figures(1).flows_in_history, 5);
    // The numbers go on after a restart, and a smaller limit takes effect.
    net.down(1);
    net.options.history.flows_max = 1;
    net.up(1);
    net.settle();
    assert_eq!(numbers(&net), [6, 1]);
    net.start(1, "cash.pay", &pay(100, 2), None);
    net.settle();
    assert_eq!(numbers(&net), [7, 1]);
    // Without a history, the remaining rows are deleted and none is added.
    for (flows_max, age_ms_max) in [(0, u64::MAX), (1, 0)] {
        net.down(1);
        net.options.history = HistoryOptions {
            flows_max,
            age_ms_max,
        };
        net.up(1);
        net.settle();
        fail(&mut net);
        assert!(numbers(&net).is_empty());
    }
}

#[test]
fn many_rows_over_a_limit_are_deleted_in_portions() {
    let mut net = net();
    let count = 2 * HISTORY_LOOKED_UP_MAX + 1;
    for _ in 0..count {
        fail(&mut net);
    }
    assert_eq!(net.figures(1).flows_in_history, count);
    net.down(1);
    net.options.history.flows_max = 1;
    net.up(1);
    net.settle();
    let rows = history(&net, 1);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].number, count - 1);
}

#[test]
fn old_rows_are_deleted_unless_the_clock_is_in_doubt() {
    let mut net = net_with(1_000, HOUR_MS);
    net.settle();
    fail(&mut net);
    net.now += HOUR_MS / 2;
    tick(&mut net);
    fail(&mut net);
    let first = history(&net, 1).pop().expect("two rows");
    // The clock jumps by a day, and its doubt is not over yet.
    net.nodes[1].clock_off_ms = 24 * HOUR_MS as i64;
    net.now += HISTORY_AGE_CHECK_MS;
    for other in [0, 2] {
        net.down(other);
    }
    tick(&mut net);
    assert_eq!(history(&net, 1).len(), 2, "the clock is in doubt");
    net.nodes[1].clock_off_ms = 0;
    for other in [0, 2] {
        net.up(other);
    }
    net.settle();
    net.quiet_for(60_000);
    assert_eq!(history(&net, 1).len(), 2, "none is an hour old");
    net.now = first.ended_at.as_ms() + HOUR_MS + HISTORY_AGE_CHECK_MS;
    tick(&mut net);
    let rows = history(&net, 1);
    assert_eq!(rows.len(), 1, "the first one is older than an hour");
    assert!(rows[0].number > first.number);
    net.now += HOUR_MS;
    tick(&mut net);
    assert_eq!(history(&net, 1), []);
}

#[test]
fn a_flow_of_the_history_is_answered_after_a_restart() {
    let mut net = net();
    let token = net.start(1, "cash.issue", &issue(5), None);
    net.settle();
    net.down(1);
    net.up(1);
    net.settle();
    let flow = Testnet::flow_id(token);
    let attached = tell(&mut net, |token| Event::Attach {
        flow,
        wait: Wait::Delivered,
        token,
    });
    assert!(matches!(attached, Reply::Rejected(_)), "{attached:?}");
    let Some(Reply::Ended { outcome, .. }) = net.replies.remove(&token) else {
        panic!("no outcome");
    };
    let before = outcome.clone();
    let recalled = tell(&mut net, |token| Event::Recall {
        outcome,
        wait: Wait::Delivered,
        token,
    });
    let Reply::Ended {
        outcome, delivered, ..
    } = recalled
    else {
        panic!("{recalled:?}");
    };
    assert_eq!((outcome, delivered), (before, true));
}
