//! Flows that states schedule: each is started once, at its time, even across crashes.

use finance::lock::{LockCommand, LockState, lock_code, lock_name};
use finance::{IssuedToken, cash_builder};
use kernel::port::Table;
use kernel::{KernelOptions, SCHEDULE_USER, schedule_client_id};
use ledger::{SignedTransaction, StateRef};
use primitives::{Encode, Timestamp};

use crate::pay::issue;
use crate::testnet::{Crash, Last, RING_MISSING, Testnet, key};

fn set(in_ms: u64, again: u64, count: u64) -> String {
    set_flow(in_ms, again, count, "test.ring")
}

fn set_flow(in_ms: u64, again: u64, count: u64, flow: &str) -> String {
    format!(r#"{{"in_ms":{in_ms},"flow":"{flow}","again":{again},"count":{count}}}"#)
}

fn started(net: &Testnet) -> usize {
    net.scheduled.iter().filter(|s| s.refused.is_none()).count()
}

fn rows(net: &Testnet) -> usize {
    net.nodes[1].disk.count(Table::Schedule)
}

fn ran(net: &mut Testnet, flow: &str, args: &str) {
    let token = net.start(1, flow, args, None);
    net.settle();
    assert_eq!(net.ended(token), Ok(true), "{:?}", net.logs);
}

#[test]
fn a_flow_starts_when_its_time_comes_and_not_before() {
    let mut net = Testnet::new(1);
    ran(&mut net, "test.set", &set(5_000, 2, 1));
    assert_eq!((rows(&net), started(&net)), (1, 0));
    for (passed_ms, expected) in [(4_999, 0), (1, 1), (999, 1), (1, 2), (1_000, 3), (9_000, 3)] {
        net.now += passed_ms;
        net.settle();
        assert_eq!(started(&net), expected, "{passed_ms}");
    }
    assert_eq!(rows(&net), 0);
    // The outcome is kept under the state's client id.
    let states: Vec<StateRef> = net.scheduled.iter().map(|s| s.state).collect();
    for state in states {
        let key = kernel::rows::client_key(SCHEDULE_USER, &schedule_client_id(&state));
        let disk = &net.nodes[1].disk;
        let row = primitives::storage::Reads::get(disk, Table::ClientIds, key.as_bytes());
        assert!(row.expect("readable").is_some());
    }
}

#[test]
fn a_state_that_is_consumed_before_starts_nothing() {
    let mut net = Testnet::new(1);
    ran(&mut net, "test.set", &set(5_000, 0, 1));
    let alarm = *net.nodes[1].view.keys().next().expect("an alarm");
    let args = format!(r#"{{"tx":"{}","index":0}}"#, alarm.tx);
    ran(&mut net, "test.unset", &args);
    assert_eq!(rows(&net), 0);
    net.now += 10_000;
    net.quiet();
    assert_eq!(net.scheduled, []);
}

#[test]
fn what_fell_due_while_a_node_was_down_starts_at_once_and_a_few_at_a_time() {
    let mut net = Testnet::with(
        1,
        false,
        KernelOptions {
            live_flows_max: 3,
            ..KernelOptions::default()
        },
    );
    // More than are kept in memory.
    for _ in 0..3 {
        ran(&mut net, "test.set", &set(5_000, 0, 500));
    }
    net.down(1);
    net.now += 60_000;
    net.settle();
    net.up(1);
    net.settle();
    assert_eq!((started(&net), rows(&net)), (1_500, 0));
    let mut states: Vec<_> = net.scheduled.iter().map(|s| s.state).collect();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), 1_500, "each once");
}

#[test]
fn a_flow_that_is_not_registered_for_it_is_kept_and_told_and_tried_by_the_next_binary() {
    let mut net = Testnet::new(1);
    for flow in ["cash.exit", "test.nap", "no.such", "'; drop\\n"] {
        let args = set_flow(1_000, 0, 1, &flow.replace('\\', "\\\\"));
        ran(&mut net, "test.set", &args);
    }
    RING_MISSING.set(true);
    net.down(1);
    net.up(1);
    net.settle();
    ran(&mut net, "test.set", &set(1_000, 0, 1));
    net.now += 2_000;
    net.quiet();
    assert_eq!((rows(&net), started(&net)), (5, 0));
    assert_eq!(net.figures(1).scheduled_refused, 5);
    let refused = net.scheduled.iter().filter_map(|s| s.refused.as_deref());
    assert!(refused.clone().all(|code| code == "node.not_schedulable"));
    assert_eq!(refused.count(), 5);
    assert_eq!(net.logs.len(), 5, "{:?}", net.logs);
    // A refused start is not retried.
    net.now += 60_000;
    net.quiet();
    assert_eq!(net.scheduled.len(), 5);
    RING_MISSING.set(false);
    net.down(1);
    net.up(1);
    net.quiet();
    assert_eq!((rows(&net), started(&net)), (4, 1));
    // A state that could not start its flow can still be consumed, and its row goes.
    let args: Vec<String> = net.nodes[1]
        .view
        .values()
        .filter(|produced| produced.facts.scheduled.is_some())
        .map(|produced| {
            let StateRef { tx, index } = produced.state.reference;
            format!(r#"{{"tx":"{tx}","index":{index}}}"#)
        })
        .collect();
    assert_eq!(args.len(), 4);
    for args in args {
        ran(&mut net, "test.unset", &args);
    }
    assert_eq!(rows(&net), 0);
}

#[test]
fn a_node_that_drains_starts_nothing_more() {
    let mut net = Testnet::new(1);
    ran(&mut net, "test.set", &set(1_000, 0, 1));
    net.tell(1, kernel::Event::Drain);
    net.now += 5_000;
    net.quiet();
    assert_eq!((rows(&net), started(&net)), (1, 0));
    net.down(1);
    net.up(1);
    net.quiet();
    assert_eq!((rows(&net), started(&net)), (0, 1));
}

/// Runs three alarms that ring twice each. A node that crashes is restarted at once.
fn play(crashes: &[Crash]) -> Testnet {
    let mut net = Testnet::new(1);
    net.crashes = crashes.to_vec();
    let args = set(1_000, 1, 3);
    loop {
        let token = net.start(1, "test.set", &args, Some("set"));
        recover(&mut net);
        if let Some(reply) = net.replies.remove(&token) {
            assert!(matches!(reply, kernel::Reply::Ended { .. }), "{reply:?}");
            break;
        }
    }
    for _ in 0..8 {
        net.now += 1_000;
        recover(&mut net);
    }
    net
}

fn recover(net: &mut Testnet) {
    loop {
        net.quiet();
        let down = (0..net.nodes.len()).find(|node| net.nodes[*node].kernel.is_none());
        match down {
            Some(node) => net.up(node),
            None => break,
        }
    }
}

#[test]
fn a_crash_at_any_commit_starts_each_once() {
    let undisturbed = play(&[]);
    assert_eq!(undisturbed.nodes[1].disk.ledger().len(), 1 + 6);
    for node in 0..2 {
        for at in 1..=undisturbed.nodes[node].commits {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let crash = Crash { node, at, last };
                let net = play(&[crash]);
                assert_eq!(net.crashes.len(), 0, "{crash:?} never came");
                let disk = &net.nodes[1].disk;
                // One transaction for each start, and each outcome under its client id.
                assert_eq!(disk.ledger().len(), 1 + 6, "{crash:?}");
                assert_eq!(disk.count(Table::ClientIds), 1 + 6, "{crash:?}");
                assert_eq!(disk.count(Table::Schedule), 0, "{crash:?}");
                assert_eq!(disk.count(Table::Journal), 0, "{crash:?}");
                let last = net.nodes[1].view.values();
                assert_eq!(last.filter(|p| p.facts.scheduled.is_none()).count(), 3);
            }
        }
    }
}

/// Issues this many coins of node 2 to node 1, each under a lock of its own.
fn locked_coins(net: &Testnet, count: u32, until: Timestamp) -> SignedTransaction {
    let token = IssuedToken {
        issuer: net.nodes[2].party.clone(),
        reference: finance::Reference::default(),
        currency: "GBP".parse().expect("a currency"),
    };
    let portions: Vec<_> = (0..count).map(|_| net.portion(1, 1)).collect();
    let notary = net.nodes[0].party.clone();
    let issued = cash_builder::issue(notary, &token, &portions).expect("an issue");
    let (code, constraint) = lock_code();
    let lock = LockState {
        owner: key(1).public().clone(),
        until,
    };
    let mut builder = issued.attachment(*code);
    for coin in 0..count {
        builder = builder
            .output_data(lock_name().clone(), constraint.clone(), lock.to_bytes())
            .bind(&[coin, count + coin]);
    }
    let signers = vec![key(2).public().clone()];
    let locking = LockCommand::Lock.to_bytes();
    let builder = builder.command(lock_name().clone(), locking, signers);
    SignedTransaction::new(net.built(builder), []).signed_by(&key(2))
}

#[test]
fn clients_start_beside_many_locks_of_a_counterparty() {
    // Places for flows, and how many of them the flows that open the locks hold while the notary is away.
    for (places, held) in [(2, 1), (4, 2), (9, 4)] {
        let options = KernelOptions {
            live_flows_max: places,
            ..KernelOptions::default()
        };
        let mut net = Testnet::with(2, false, options);
        net.script(2);
        let until = Timestamp::from_ms(net.now + 1_000);
        let locks = locked_coins(&net, 100, until);
        net.deliver(2, 1, &[&locks]);
        net.settle();
        assert_eq!((rows(&net), started(&net)), (100, 0), "{:#?}", net.logs);
        net.down(0);
        net.now += 1_000;
        net.settle();
        assert_eq!(started(&net), held, "{places} places");
        for _ in 0..10 {
            ran(&mut net, "cash.issue", &issue(10));
        }
        assert_eq!(started(&net), held, "{places} places");
        net.up(0);
        net.quiet_for(60_000);
        assert_eq!((rows(&net), started(&net)), (0, 100), "{places} places");
        assert_eq!(net.figures(1).flows_live, 0);
        assert_eq!(net.balance(1), 10 * 10 + 100);
    }
}

#[test]
fn one_place_is_shared_in_turns() {
    let options = KernelOptions {
        live_flows_max: 1,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(1, false, options);
    ran(&mut net, "test.set", &set(1_000, 0, 40));
    // It holds the only place until many alarms are due.
    let nap = net.start(1, "test.nap", "2000", None);
    net.settle();
    let next: Vec<u64> = (0..5)
        .map(|_| net.start(1, "test.nap", "1000", None))
        .collect();
    net.now += 2_000;
    net.settle();
    assert_eq!(net.ended(nap), Ok(true));
    // Each nap waits for one alarm at most.
    for (count, nap) in next.into_iter().enumerate() {
        assert_eq!(started(&net), count + 1);
        net.now += 1_000;
        net.settle();
        assert_eq!(net.ended(nap), Ok(true));
    }
    net.quiet();
    assert_eq!((rows(&net), started(&net)), (0, 40));
}
