//! A flow fails at any of its polls, by a panic or a transient error, and comes back by a retry or an operator's order. The result
//! is the same as without the failure.

use kernel::port::Table;
use kernel::{Event, FlowFilter, Order, Reply, Standing, Token};
use ledger::StateRef;

use crate::testnet::{FALL, Fall, POLLS, SHAKY, Testnet, name};

const DUE_MS: u64 = 900_000_000;
/// Time until an operator retries a parked flow, in milliseconds. The counterparty waits for at least as long.
const OPERATOR_MS: u64 = 60_000;
/// Maximum number of operators' orders in one start.
const ORDERS_MAX: usize = 4;

/// Returns the states of obligations that a node sees, by ascending quantity.
fn debts(net: &Testnet, node: usize) -> Vec<StateRef> {
    let states = net.nodes[node].view.iter();
    let mut debts: Vec<(Vec<u8>, StateRef)> = states
        .filter(|(_, produced)| produced.facts.linear_id.is_some())
        .map(|(reference, produced)| (produced.state.state.data.clone(), *reference))
        .collect();
    debts.sort();
    debts.into_iter().map(|(_, reference)| reference).collect()
}

fn json(state: StateRef) -> String {
    format!(r#"{{"tx":"{}","index":{}}}"#, state.tx, state.index)
}

fn owe(to: u64, quantity: u64) -> String {
    format!(
        r#"{{"to":"{}","quantity":{quantity},"tokens":[{{"currency":"GBP","issuer":"{}"}}],"due":{DUE_MS}}}"#,
        name(to),
        name(1)
    )
}

type Line = (usize, &'static str, fn(&Testnet) -> String);

/// Payments to fresh keys, cash that unlocks itself, debts that are netted and settled.
const SCRIPT: [Line; 7] = [
    (1, "cash.issue", |_| {
        r#"{"currency":"GBP","quantity":100,"anonymous":true}"#.to_owned()
    }),
    (1, "cash.issue_and_pay", |_| {
        let to = name(2);
        format!(r#"{{"currency":"GBP","quantity":50,"recipient":"{to}","anonymous":true}}"#)
    }),
    (1, "cash.lock", |_| {
        let to = name(2);
        format!(
            r#"{{"currency":"GBP","quantity":10,"until":1005000,"to":"{to}","anonymous":true}}"#
        )
    }),
    (1, "obligation.issue", |_| owe(2, 20)),
    (2, "obligation.issue", |_| owe(1, 5)),
    (2, "obligation.net", |net| {
        let debts: Vec<String> = debts(net, 2).into_iter().map(json).collect();
        format!(r#"{{"obligations":[{}]}}"#, debts.join(","))
    }),
    (1, "obligation.settle", |net| {
        let debts = debts(net, 1);
        format!(r#"{{"obligation":{}}}"#, json(debts[0]))
    }),
];

/// Retries every flow of both banks, as an operator.
fn retry_all(net: &mut Testnet) {
    for node in [1, 2] {
        let token = net.token();
        let event = Event::Order {
            order: Order::Retry,
            filter: Box::new(FlowFilter::default()),
            after: None,
            dry_run: false,
            token: Token(token),
        };
        net.tell(node, event);
        net.settle();
        net.replies.remove(&token).expect("an answer");
    }
    net.quiet();
}

/// The observable end state of a test network.
#[derive(Debug, PartialEq)]
struct Ending {
    balances: Vec<u64>,
    /// The number of transactions recorded by each node. Their ids are not compared, because salts differ after a wait.
    transactions: Vec<usize>,
    notarised: [usize; 2],
}

/// Runs the script. Also returns the number of rows about fresh keys, and the number of polls.
fn play(fall: Option<(u64, Fall)>) -> (Ending, usize, u64) {
    SHAKY.set(true);
    POLLS.set(0);
    FALL.set(fall);
    let mut net = Testnet::new(2);
    for (place, (node, flow, args)) in SCRIPT.into_iter().enumerate() {
        let client_id = format!("line {place}");
        let args = args(&net);
        let mut orders = 0;
        loop {
            let token = net.start(node, flow, &args, Some(&client_id));
            net.quiet_for(OPERATOR_MS);
            match net.replies.remove(&token) {
                Some(Reply::Ended { outcome, .. }) => {
                    assert!(outcome.result.is_ok(), "{flow}, {fall:?}: {outcome:?}");
                    break;
                }
                None
                | Some(Reply::Running {
                    standing: Standing::Parked | Standing::Retrying | Standing::Running,
                    ..
                }) if orders < ORDERS_MAX => {
                    orders += 1;
                    retry_all(&mut net);
                }
                other => panic!("{flow}, {fall:?}: {other:?}; {:#?}", net.logs),
            }
        }
    }
    // A flow that a lock has started has no client that waits for it.
    retry_all(&mut net);
    SHAKY.set(false);
    for (index, node) in net.nodes.iter().enumerate() {
        for table in [
            Table::Journal,
            Table::Deliveries,
            Table::Staging,
            Table::Schedule,
        ] {
            let rows = node.disk.count(table);
            assert_eq!(
                rows, 0,
                "{table:?} of node {index}, {fall:?}: {:#?}",
                net.logs
            );
        }
    }
    let notary = &net.nodes[0].disk;
    let ending = Ending {
        balances: (0..3).map(|node| net.balance(node)).collect(),
        transactions: net
            .nodes
            .iter()
            .map(|node| node.disk.count(Table::Ledger))
            .collect(),
        notarised: [Table::NotaryStates, Table::NotaryTxs].map(|table| notary.count(table)),
    };
    let keys = net.nodes.iter().map(|node| node.disk.count(Table::OwnKeys));
    (ending, keys.sum(), POLLS.get())
}

#[test]
fn whichever_poll_a_flow_falls_at_everything_ends_as_if_it_had_not() {
    let (expected, keys, polls) = play(None);
    assert_eq!(expected.balances, [0, 75, 75]);
    assert!(polls > 20, "{polls} polls");
    for fall in [Fall::Moment, Fall::Panic] {
        for at in 1..=polls {
            let (ending, more, _) = play(Some((at, fall)));
            assert_eq!(ending, expected, "{fall:?} at poll {at} of {polls}");
            // A failed poll may leave one key that was made but not journaled: its row, and the row of the peer that was told it.
            assert!((keys..=keys + 2).contains(&more), "{more} for {keys} rows");
        }
    }
}
