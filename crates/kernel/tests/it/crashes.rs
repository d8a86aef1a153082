//! A script runs once undisturbed, and once for every commit of every node with a crash at that commit. However far the commit
//! came, everything ends as it does without a crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::Reply;
use kernel::port::Table;
use ledger::TxId;

use crate::anonymous::hidden_pay;
use crate::pay::{issue, pay};
use crate::testnet::{Crash, Last, Testnet};

/// One start of the script, under its client id.
pub struct Line {
    pub client_id: &'static str,
    pub node: usize,
    pub flow: &'static str,
    pub args: String,
}

pub fn line(client_id: &'static str, node: usize, flow: &'static str, args: String) -> Line {
    Line {
        client_id,
        node,
        flow,
        args,
    }
}

/// Returns starts that run one after the other.
fn script() -> Vec<Vec<Line>> {
    let issue_and_pay =
        r#"{"currency":"GBP","quantity":50,"recipient":"O=Node 2, L=London, C=GB"}"#;
    vec![
        line("issue", 1, "cash.issue", issue(100)),
        line("both", 1, "cash.issue_and_pay", issue_and_pay.to_owned()),
        line("pay", 1, "cash.pay", pay(30, 2)),
        line("pay on", 2, "cash.pay", pay(60, 1)),
        line("ask", 1, "test.double", "2".to_owned()),
        line("too much", 2, "cash.pay", pay(999, 1)),
    ]
    .into_iter()
    .map(|line| vec![line])
    .collect()
}

/// Returns starts that run side by side and wait for each other's change.
fn crowd() -> Vec<Vec<Line>> {
    let here = ["a", "b", "c", "d"].map(|id| line(id, 1, "cash.pay", pay(10, 2)));
    let there = ["e", "f"].map(|id| line(id, 2, "cash.pay", pay(5, 1)));
    let ask = line("ask", 2, "test.double", "1".to_owned());
    vec![
        vec![line("issue", 1, "cash.issue", issue(100))],
        vec![line("pay", 1, "cash.pay", pay(30, 2))],
        here.into_iter().chain(there).chain([ask]).collect(),
    ]
}

/// Payments to fresh keys, and cash of fresh keys paid on.
fn hidden() -> Vec<Vec<Line>> {
    vec![
        vec![line("issue", 1, "cash.issue", issue(100))],
        vec![line("hidden", 1, "cash.pay", hidden_pay(30, 2))],
        vec![line("more", 1, "cash.pay", hidden_pay(20, 2))],
        vec![line("back", 2, "cash.pay", hidden_pay(45, 1))],
    ]
}

/// The result of a start: the output or the code, and its transactions.
pub type Result = (std::result::Result<Vec<u8>, String>, Vec<TxId>);

/// The observable end state of a test network.
#[derive(Debug, PartialEq)]
pub struct Ending {
    pub results: BTreeMap<&'static str, Result>,
    pub balances: Vec<u64>,
    /// Sorted, because the order of recording is not guaranteed.
    pub ledgers: Vec<Vec<TxId>>,
    pub notarised: (usize, usize),
    pub client_rows: Vec<usize>,
    /// Rows in the history of flows, two for each flow.
    pub history: Vec<usize>,
}

fn result(net: &mut Testnet, token: u64, line: &Line) -> Result {
    match net.replies.remove(&token) {
        Some(Reply::Ended {
            outcome, delivered, ..
        }) => {
            assert!(delivered, "{}", line.client_id);
            assert_eq!(outcome.name, line.flow);
            let outcome = Arc::unwrap_or_clone(outcome);
            let result = outcome.result.map_err(|rejection| rejection.code);
            (result, outcome.transactions)
        }
        other => panic!("'{}': {other:?}; logs: {:#?}", line.client_id, net.logs),
    }
}

/// Restarts every node that is down, then lets time pass until nothing is pending.
fn recover(net: &mut Testnet) {
    loop {
        net.settle();
        let down = (0..net.nodes.len()).find(|node| net.nodes[*node].kernel.is_none());
        match down {
            Some(node) => net.up(node),
            None => break,
        }
    }
    net.quiet();
    if net.nodes.iter().any(|node| node.kernel.is_none()) {
        recover(net);
    }
}

/// The results of a script.
pub struct Played {
    pub ending: Ending,
    /// Number of commits of each node.
    pub commits: Vec<u64>,
    /// Crashes that never came.
    pub left: usize,
}

/// Runs a script with these crashes. Each start is repeated until it is answered, and then once more.
pub fn play(script: &[Vec<Line>], crashes: &[Crash]) -> Played {
    let mut net = Testnet::new(2);
    net.crashes = crashes.to_vec();
    let mut results = BTreeMap::new();
    for lines in script {
        let mut answers: Vec<Vec<Result>> = lines.iter().map(|_| Vec::new()).collect();
        while answers.iter().any(|answers| answers.len() < 2) {
            let tokens = lines.iter().map(|line| {
                let client_id = Some(line.client_id);
                net.start(line.node, line.flow, &line.args, client_id)
            });
            let tokens: Vec<u64> = tokens.collect();
            recover(&mut net);
            for ((line, token), answers) in lines.iter().zip(tokens).zip(&mut answers) {
                // A client whose node crashed hears nothing.
                if net.replies.contains_key(&token) {
                    answers.push(result(&mut net, token, line));
                }
            }
        }
        for (line, mut answers) in lines.iter().zip(answers) {
            let first = answers.remove(0);
            for again in answers {
                assert_eq!(again, first, "'{}' again", line.client_id);
            }
            results.insert(line.client_id, first);
        }
    }
    assert!(net.replies.is_empty());
    Played {
        ending: ending(&net, results),
        commits: net.nodes.iter().map(|node| node.commits).collect(),
        left: net.crashes.len(),
    }
}

fn ending(net: &Testnet, results: BTreeMap<&'static str, Result>) -> Ending {
    let mut ledgers = Vec::new();
    for (index, node) in net.nodes.iter().enumerate() {
        let kernel = node.kernel.as_ref().expect("up");
        assert_eq!(kernel.flows().live(), 0, "node {index}");
        let figures = kernel.figures();
        assert_eq!(
            (figures.outbox_pending, figures.deliveries_pending),
            (0, 0),
            "node {index}"
        );
        for table in [Table::Journal, Table::Deliveries, Table::Staging] {
            assert_eq!(node.disk.count(table), 0, "{table:?} of node {index}");
        }
        let ledger = node.disk.ledger();
        let mut ids: Vec<TxId> = ledger
            .iter()
            .map(|(_, transaction)| transaction.id())
            .collect();
        assert!(
            ledger.iter().map(|(seq, _)| *seq).eq(1..=ids.len() as u64),
            "gaps in the ledger of node {index}"
        );
        assert_eq!(node.disk.count(Table::TxIndex), ids.len());
        ids.sort_unstable();
        ledgers.push(ids);
    }
    let rows = |table: Table| net.nodes[0].disk.count(table);
    let client_rows = net
        .nodes
        .iter()
        .map(|node| node.disk.count(Table::ClientIds));
    let history = net
        .nodes
        .iter()
        .map(|node| node.disk.count(Table::FlowHistory));
    Ending {
        results,
        balances: (0..net.nodes.len()).map(|node| net.balance(node)).collect(),
        ledgers,
        notarised: (rows(Table::NotaryStates), rows(Table::NotaryTxs)),
        client_rows: client_rows.collect(),
        history: history.collect(),
    }
}

pub fn crashes_of(node: usize, commits: u64) -> impl Iterator<Item = Crash> {
    let lasts = [Last::Lost, Last::Durable, Last::Performed];
    (1..=commits).flat_map(move |at| lasts.map(|last| Crash { node, at, last }))
}

#[test]
fn the_script_ends_as_expected() {
    let Played {
        ending, commits, ..
    } = play(&script(), &[]);
    assert_eq!(ending.balances, [0, 130, 20]);
    assert_eq!(ending.notarised, (4, 3));
    assert_eq!(ending.client_rows, [0, 4, 2]);
    assert_eq!(ending.history, [0, 8, 4]);
    let transactions = |client_id| ending.results[client_id].1.len();
    let counts = ["issue", "both", "pay", "pay on", "ask", "too much"].map(transactions);
    assert_eq!(counts, [1, 2, 1, 1, 0, 0]);
    let too_much = "vault.insufficient_funds".to_owned();
    assert_eq!(ending.results["too much"].0, Err(too_much));
    assert!(commits.iter().all(|count| *count > 3), "{commits:?}");
}

#[test]
fn a_crash_at_any_commit_of_any_node_changes_nothing() {
    let expected = play(&script(), &[]);
    for (node, commits) in expected.commits.into_iter().enumerate() {
        for crash in crashes_of(node, commits) {
            let played = play(&script(), &[crash]);
            assert_eq!(played.left, 0, "{crash:?} never came");
            assert_eq!(played.ending, expected.ending, "{crash:?}");
        }
    }
}

#[test]
fn a_crash_between_a_fresh_key_and_its_use_loses_neither() {
    let expected = play(&hidden(), &[]);
    assert_eq!(expected.ending.balances, [0, 95, 5]);
    for (node, commits) in expected.commits.into_iter().enumerate() {
        for crash in crashes_of(node, commits) {
            let played = play(&hidden(), &[crash]);
            assert_eq!(played.left, 0, "{crash:?} never came");
            assert_eq!(played.ending, expected.ending, "{crash:?}");
        }
    }
}

#[test]
fn a_second_crash_soon_after_the_first_changes_nothing() {
    let expected = play(&script(), &[]);
    for (node, commits) in expected.commits.into_iter().enumerate() {
        for first in crashes_of(node, commits) {
            for after in 1..=3 {
                let at = first.at + after;
                for last in [Last::Lost, Last::Durable] {
                    let second = Crash { node, at, last };
                    let played = play(&script(), &[first, second]);
                    assert_eq!(played.ending, expected.ending, "{first:?}, {second:?}");
                }
            }
        }
    }
}

#[test]
fn crashes_of_two_nodes_change_nothing() {
    let expected = play(&script(), &[]);
    for (one, other) in [(0, 1), (1, 2), (2, 0)] {
        for first in crashes_of(one, expected.commits[one]) {
            for second in crashes_of(other, expected.commits[other]).step_by(2) {
                let played = play(&script(), &[first, second]);
                assert_eq!(played.ending, expected.ending, "{first:?}, {second:?}");
            }
        }
    }
}

#[test]
fn a_crash_among_flows_that_wait_for_each_other_loses_none_of_them() {
    let expected = play(&crowd(), &[]);
    assert_eq!(expected.ending.balances, [0, 40, 60]);
    for (node, commits) in expected.commits.iter().enumerate() {
        for crash in crashes_of(node, *commits) {
            let ending = play(&crowd(), &[crash]).ending;
            // The coins selected after a restart may differ, so transaction ids are not compared.
            assert_eq!(ending.balances, expected.ending.balances, "{crash:?}");
            assert_eq!(ending.client_rows, expected.ending.client_rows, "{crash:?}");
            assert_eq!(ending.notarised.1, 7, "{crash:?}");
            for (client_id, (result, transactions)) in &ending.results {
                let count = usize::from(*client_id != "ask");
                assert!(result.is_ok(), "'{client_id}': {result:?}, {crash:?}");
                assert_eq!(transactions.len(), count, "'{client_id}', {crash:?}");
            }
            let sizes = |ending: &Ending| ending.ledgers.iter().map(Vec::len).collect::<Vec<_>>();
            assert_eq!(sizes(&ending)[..2], [0, 8], "{crash:?}");
        }
    }
}
