//! Flows of finance with a counterparty: paper, trades and obligations, among several kernels, with refusals, absences and
//! restarts.

use kernel::port::Table;
use kernel::{Reply, Wait};
use ledger::{StateRef, TxId};

use crate::pay::issue;
use crate::testnet::{Crash, Last, Testnet};

pub const MATURITY_MS: u64 = 2_000_000;

pub fn name(node: u64) -> String {
    format!("O=Node {node}, L=London, C=GB")
}

/// Returns a token issued by a node, as an argument.
pub fn token(node: u64) -> String {
    format!(r#"{{"currency":"GBP","issuer":"{}"}}"#, name(node))
}

pub fn json(state: StateRef) -> String {
    format!(r#"{{"tx":"{}","index":{}}}"#, state.tx, state.index)
}

/// Returns the only state of a contract that a node sees.
pub fn only(net: &Testnet, node: usize, contract: &str) -> StateRef {
    let found = all(net, node, contract);
    assert_eq!(found.len(), 1, "{contract} at {node}");
    found[0]
}

pub fn all(net: &Testnet, node: usize, contract: &str) -> Vec<StateRef> {
    let states = net.nodes[node].view.iter();
    states
        .filter(|(_, produced)| produced.state.state.contract.as_str() == contract)
        .map(|(reference, _)| *reference)
        .collect()
}

#[track_caller]
pub fn done(net: &mut Testnet, node: usize, flow: &str, args: &str) {
    let started = net.start(node, flow, args, None);
    net.settle();
    assert_eq!(net.ended(started), Ok(true), "{flow}: {:#?}", net.logs);
}

#[track_caller]
pub fn refused(net: &mut Testnet, node: usize, flow: &str, args: &str, code: &str) {
    let started = net.start(node, flow, args, None);
    net.settle();
    assert_eq!(net.ended(started), Err(code.to_owned()), "{flow} {args}");
}

/// No flow is live and nothing is left of those that were.
#[track_caller]
pub fn at_rest(net: &mut Testnet) {
    net.settle();
    for (index, node) in net.nodes.iter().enumerate() {
        let live = node.kernel.as_ref().expect("up").flows().live();
        assert_eq!(live, 0, "flows of node {index}");
        for table in [Table::Journal, Table::Deliveries, Table::Staging] {
            assert_eq!(node.disk.count(table), 0, "{table:?} of node {index}");
        }
    }
}

pub fn paper(owner: u64) -> String {
    format!(
        r#"{{"face":100,"token":{},"maturity":{MATURITY_MS},"recipient":"{}"}}"#,
        token(1),
        name(owner)
    )
}

pub fn bid(seller: u64, price_max: u64) -> String {
    format!(
        r#"{{"seller":"{}","paper":{{"issuer":"{}","token":{},"face":100,"maturity":{MATURITY_MS}}},"token":{},"price_max":{price_max},"until":{}}}"#,
        name(seller),
        name(1),
        token(1),
        token(1),
        MATURITY_MS
    )
}

pub fn sell(asset: StateRef, bid: StateRef, price: u64) -> String {
    format!(
        r#"{{"asset":{},"bid":{},"price":{price}}}"#,
        json(asset),
        json(bid)
    )
}

/// Builds a market: node 1 issues cash and a paper, node 2 holds the paper, and node 3 holds cash of 120.
pub fn market() -> Testnet {
    let mut net = Testnet::new(3);
    done(&mut net, 1, "cash.issue", &issue(300));
    let pay = format!(
        r#"{{"currency":"GBP","payments":[{{"to":"{}","quantity":120}}]}}"#,
        name(3)
    );
    done(&mut net, 1, "cash.pay", &pay);
    done(&mut net, 1, "paper.issue", &paper(2));
    net
}

#[test]
fn paper_is_issued_traded_for_cash_moved_and_redeemed() {
    let mut net = market();
    let papers = only(&net, 2, "tally.paper");
    done(&mut net, 3, "trade.bid", &bid(2, 95));
    let placed = only(&net, 2, "tally.bid");
    done(&mut net, 2, "trade.sell", &sell(papers, placed, 90));
    at_rest(&mut net);
    assert_eq!([1, 2, 3].map(|node| net.balance(node)), [180, 90, 30]);
    assert!(all(&net, 2, "tally.paper").is_empty());
    assert!(all(&net, 3, "tally.bid").is_empty(), "a bid buys once");

    let bought = only(&net, 3, "tally.paper");
    let to = format!(r#"{{"paper":{},"to":"{}"}}"#, json(bought), name(2));
    refused(&mut net, 2, "paper.move", &to, "paper.not_the_owner");
    done(&mut net, 3, "paper.move", &to);
    let held = only(&net, 1, "tally.paper");
    let redeem = format!(r#"{{"paper":{}}}"#, json(held));
    refused(&mut net, 1, "paper.redeem", &redeem, "paper.not_mature");
    net.now = MATURITY_MS;
    refused(&mut net, 2, "paper.redeem", &redeem, "paper.not_the_issuer");
    done(&mut net, 1, "paper.redeem", &redeem);
    at_rest(&mut net);
    assert_eq!([1, 2, 3].map(|node| net.balance(node)), [80, 190, 30]);
    assert!(all(&net, 1, "tally.paper").is_empty());
}

#[test]
fn a_buyer_buys_nothing_that_it_has_not_bid_for() {
    let mut net = market();
    let papers = only(&net, 2, "tally.paper");
    // A transaction that is no bid, and an unknown one.
    let nowhere = StateRef::new(TxId::from_array([7; 32]), 0);
    refused(
        &mut net,
        2,
        "trade.sell",
        &sell(papers, papers, 90),
        "trade.no_bid",
    );
    refused(
        &mut net,
        2,
        "trade.sell",
        &sell(papers, nowhere, 90),
        "node.unknown_state",
    );
    // A bid for other terms, to another seller, at another price.
    let other = bid(2, 95).replace(r#""face":100"#, r#""face":101"#);
    done(&mut net, 3, "trade.bid", &other);
    let placed = only(&net, 2, "tally.bid");
    refused(
        &mut net,
        2,
        "trade.sell",
        &sell(papers, placed, 90),
        "trade.bid_differs",
    );
    let withdraw = format!(r#"{{"bid":{}}}"#, json(placed));
    refused(&mut net, 2, "trade.withdraw", &withdraw, "trade.no_bid");
    done(&mut net, 3, "trade.withdraw", &withdraw);
    done(&mut net, 3, "trade.bid", &bid(1, 95));
    let placed = only(&net, 3, "tally.bid");
    refused(
        &mut net,
        1,
        "trade.sell",
        &sell(papers, placed, 90),
        "trade.not_the_owner",
    );
    done(
        &mut net,
        3,
        "trade.withdraw",
        &format!(r#"{{"bid":{}}}"#, json(placed)),
    );
    done(&mut net, 3, "trade.bid", &bid(2, 95));
    let placed = only(&net, 3, "tally.bid");
    refused(
        &mut net,
        2,
        "trade.sell",
        &sell(papers, placed, 96),
        "trade.price_over_bid",
    );
    refused(
        &mut net,
        2,
        "trade.sell",
        &sell(papers, placed, 0),
        "trade.price_over_bid",
    );
    net.now = MATURITY_MS;
    refused(
        &mut net,
        2,
        "trade.sell",
        &sell(papers, placed, 90),
        "trade.bid_expired",
    );
    at_rest(&mut net);
    assert_eq!([1, 2, 3].map(|node| net.balance(node)), [180, 0, 120]);
}

#[test]
fn what_a_buyer_lacks_reaches_the_seller_as_a_code_and_locks_nothing() {
    let mut net = market();
    let papers = only(&net, 2, "tally.paper");
    done(&mut net, 3, "trade.bid", &bid(2, 500));
    let placed = only(&net, 3, "tally.bid");
    let dear = sell(papers, placed, 400);
    refused(&mut net, 2, "trade.sell", &dear, "vault.insufficient_funds");
    at_rest(&mut net);
    // Asset, bid and cash are free again.
    done(&mut net, 2, "trade.sell", &sell(papers, placed, 120));
    assert_eq!([2, 3].map(|node| net.balance(node)), [120, 0]);
}

#[test]
fn a_buyer_that_is_away_is_waited_for() {
    let mut net = market();
    let papers = only(&net, 2, "tally.paper");
    done(&mut net, 3, "trade.bid", &bid(2, 95));
    let placed = only(&net, 3, "tally.bid");
    net.down(3);
    let sold = net.start(2, "trade.sell", &sell(papers, placed, 90), Some("sale"));
    net.settle();
    assert!(!net.replies.contains_key(&sold));
    net.down(2);
    net.up(2);
    net.up(3);
    net.settle();
    let sold = net.start(2, "trade.sell", &sell(papers, placed, 90), Some("sale"));
    net.settle();
    assert_eq!(net.ended(sold), Ok(true), "{:#?}", net.logs);
    at_rest(&mut net);
    assert_eq!([2, 3].map(|node| net.balance(node)), [90, 30]);
}

/// Repeats a start under a client id until it is answered, and restarts nodes that are down.
pub fn persist(net: &mut Testnet, node: usize, flow: &str, args: &str) -> Result<bool, String> {
    loop {
        let started = net.start_and_wait(node, flow, args, Some(flow), Wait::Delivered);
        let down = |net: &Testnet| net.nodes.iter().position(|node| node.kernel.is_none());
        loop {
            net.settle();
            if down(net).is_none() {
                net.quiet();
            }
            match down(net) {
                Some(node) => net.up(node),
                None => break,
            }
        }
        if let Some(Reply::Ended { .. } | Reply::Rejected(_)) = net.replies.get(&started) {
            return net.ended(started);
        }
    }
}

#[test]
fn a_crash_of_anyone_in_the_middle_of_a_trade_changes_nothing() {
    let mut count = 0;
    for node in [0, 2, 3] {
        for after in 1..=8 {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let mut net = market();
                let papers = only(&net, 2, "tally.paper");
                done(&mut net, 3, "trade.bid", &bid(2, 95));
                let placed = only(&net, 3, "tally.bid");
                let at = net.nodes[node].commits + after;
                net.crashes = vec![Crash { node, at, last }];
                let ended = persist(&mut net, 2, "trade.sell", &sell(papers, placed, 90));
                assert_eq!(ended, Ok(true), "{node} {after} {last:?}: {:#?}", net.logs);
                assert_eq!([2, 3].map(|node| net.balance(node)), [90, 30]);
                assert_eq!(all(&net, 3, "tally.paper").len(), 1);
                count += usize::from(net.crashes.is_empty());
                net.crashes.clear();
                at_rest(&mut net);
            }
        }
    }
    assert!(count > 20, "{count} crashes came");
}

pub fn owe(to: u64, quantity: u64) -> String {
    format!(
        r#"{{"to":"{}","quantity":{quantity},"tokens":[{}],"due":{MATURITY_MS}}}"#,
        name(to),
        token(1)
    )
}

fn about(state: StateRef) -> String {
    format!(r#"{{"obligation":{}}}"#, json(state))
}

pub const DEBT: &str = "tally.obligation";

#[test]
fn an_obligation_is_issued_moved_settled_in_part_and_in_full() {
    let mut net = market();
    done(&mut net, 3, "obligation.issue", &owe(2, 100));
    let debt = only(&net, 2, DEBT);
    let moved = format!(r#"{{"obligation":{},"to":"{}"}}"#, json(debt), name(1));
    refused(
        &mut net,
        3,
        "obligation.move",
        &moved,
        "obligation.not_the_party",
    );
    done(&mut net, 2, "obligation.move", &moved);
    assert!(all(&net, 2, DEBT).is_empty());
    let debt = only(&net, 3, DEBT);
    let pay =
        |quantity: u64, debt| format!(r#"{{"obligation":{},"quantity":{quantity}}}"#, json(debt));
    let settle = "obligation.settle";
    refused(
        &mut net,
        1,
        settle,
        &pay(1, debt),
        "obligation.not_the_party",
    );
    refused(&mut net, 3, settle, &pay(101, debt), "obligation.quantity");
    refused(&mut net, 3, settle, &pay(0, debt), "obligation.quantity");
    let other = format!(r#"{{"obligation":{},"token":{}}}"#, json(debt), token(2));
    refused(&mut net, 3, settle, &other, "obligation.token_not_accepted");
    done(&mut net, 3, settle, &pay(30, debt));
    let rest = only(&net, 1, DEBT);
    done(&mut net, 3, settle, &about(rest));
    assert!(all(&net, 1, DEBT).is_empty() && all(&net, 3, DEBT).is_empty());
    assert_eq!([1, 3].map(|node| net.balance(node)), [280, 20]);
    refused(&mut net, 3, settle, &pay(5, rest), "vault.state_consumed");
    at_rest(&mut net);
}

#[test]
fn an_obligation_is_in_default_from_when_it_is_due_and_back_and_is_forgiven() {
    let mut net = market();
    done(&mut net, 3, "obligation.issue", &owe(2, 100));
    let debt = only(&net, 2, DEBT);
    refused(
        &mut net,
        2,
        "obligation.default",
        &about(debt),
        "obligation.not_due",
    );
    net.now = MATURITY_MS;
    refused(
        &mut net,
        3,
        "obligation.default",
        &about(debt),
        "obligation.not_the_party",
    );
    done(&mut net, 2, "obligation.default", &about(debt));
    let debt = only(&net, 2, DEBT);
    let moved = format!(r#"{{"obligation":{},"to":"{}"}}"#, json(debt), name(1));
    refused(
        &mut net,
        2,
        "obligation.move",
        &moved,
        "obligation.in_default",
    );
    let restore = format!(r#"{{"obligation":{},"restore":true}}"#, json(debt));
    done(&mut net, 2, "obligation.default", &restore);
    let debt = only(&net, 2, DEBT);
    refused(
        &mut net,
        3,
        "obligation.exit",
        &about(debt),
        "obligation.not_the_party",
    );
    done(&mut net, 2, "obligation.exit", &about(debt));
    assert!(all(&net, 2, DEBT).is_empty() && all(&net, 3, DEBT).is_empty());
    at_rest(&mut net);
}

pub fn netting(states: &[StateRef], parties: &[u64]) -> String {
    let states: Vec<String> = states.iter().copied().map(json).collect();
    let parties: Vec<String> = parties
        .iter()
        .map(|node| format!("\"{}\"", name(*node)))
        .collect();
    format!(
        r#"{{"obligations":[{}],"parties":[{}]}}"#,
        states.join(","),
        parties.join(",")
    )
}

#[test]
fn two_parties_net_what_they_owe_each_other() {
    let mut net = market();
    done(&mut net, 2, "obligation.issue", &owe(3, 100));
    done(&mut net, 3, "obligation.issue", &owe(2, 30));
    let states = all(&net, 2, DEBT);
    refused(
        &mut net,
        2,
        "obligation.net",
        &netting(&states[..1], &[]),
        "obligation.count",
    );
    done(&mut net, 2, "obligation.net", &netting(&states, &[]));
    at_rest(&mut net);
    let left = only(&net, 3, DEBT);
    assert_eq!(left, only(&net, 2, DEBT));
    let settle = format!(r#"{{"obligation":{},"quantity":71}}"#, json(left));
    refused(
        &mut net,
        2,
        "obligation.settle",
        &settle,
        "obligation.quantity",
    );
}

/// Debts of 1 to 2, 2 to 3 and 3 to 1.
pub fn ring() -> (Testnet, Vec<StateRef>) {
    let mut net = market();
    for (from, to, quantity) in [(1, 2, 10), (2, 3, 20), (3, 1, 30)] {
        done(&mut net, from, "obligation.issue", &owe(to, quantity));
    }
    let mut states = all(&net, 1, DEBT);
    states.extend(all(&net, 2, DEBT));
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), 3);
    (net, states)
}

#[test]
fn three_parties_net_a_ring_of_which_none_sees_all() {
    let (mut net, states) = ring();
    let node = netting(&states, &[]);
    refused(
        &mut net,
        1,
        "obligation.net",
        &node,
        "obligation.not_shared",
    );
    done(&mut net, 1, "obligation.net", &netting(&states, &[3]));
    at_rest(&mut net);
    let left = [1, 2, 3].map(|node| all(&net, node, DEBT).len());
    assert_eq!(left, [1, 1, 2], "10 of 2 at 3, and 20 of 3 at 1");
}

#[test]
fn a_crash_of_anyone_in_the_middle_of_a_netting_changes_nothing() {
    for node in [0, 1, 2, 3] {
        for after in 1..=6 {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let (mut net, states) = ring();
                let at = net.nodes[node].commits + after;
                net.crashes = vec![Crash { node, at, last }];
                let ended = persist(&mut net, 1, "obligation.net", &netting(&states, &[2]));
                assert_eq!(ended, Ok(true), "{node} {after} {last:?}: {:#?}", net.logs);
                net.crashes.clear();
                at_rest(&mut net);
                let left = [1, 2, 3].map(|node| all(&net, node, DEBT).len());
                assert_eq!(left, [1, 1, 2]);
            }
        }
    }
}

#[test]
fn what_forms_no_ring_is_not_netted() {
    let mut net = market();
    done(&mut net, 1, "obligation.issue", &owe(2, 10));
    done(&mut net, 2, "obligation.issue", &owe(3, 10));
    let states = all(&net, 2, DEBT);
    refused(
        &mut net,
        2,
        "obligation.net",
        &netting(&states, &[]),
        "obligation.nothing_to_net",
    );
    at_rest(&mut net);
}

#[test]
fn a_claim_is_sold_as_a_paper_is() {
    let mut net = market();
    done(&mut net, 1, "obligation.issue", &owe(2, 50));
    let debt = only(&net, 2, DEBT);
    let data = &net.nodes[2].view[&debt].state.state.data;
    let data: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    let wanted = format!(
        r#"{{"seller":"{}","contract":"{DEBT}","data":"{data}","token":{},"price_max":45,"until":{MATURITY_MS}}}"#,
        name(2),
        token(1)
    );
    done(&mut net, 3, "trade.bid", &wanted);
    let placed = only(&net, 3, "tally.bid");
    done(&mut net, 2, "trade.sell", &sell(debt, placed, 45));
    at_rest(&mut net);
    assert_eq!([2, 3].map(|node| net.balance(node)), [45, 75]);
    let bought = only(&net, 3, DEBT);
    done(&mut net, 1, "obligation.settle", &about(bought));
    assert_eq!(net.balance(3), 125);
}
