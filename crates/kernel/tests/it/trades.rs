//! Flows of finance with a counterparty: paper, trades and obligations, among several kernels, with refusals, absences and
//! restarts.

use kernel::port::Table;
use kernel::{Reply, Wait};
use ledger::{StateRef, TxId};

use crate::pay::issue;
use crate::town::{Crash, Last, Town};

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
pub fn only(town: &Town, node: usize, contract: &str) -> StateRef {
    let found = all(town, node, contract);
    assert_eq!(found.len(), 1, "{contract} at {node}");
    found[0]
}

pub fn all(town: &Town, node: usize, contract: &str) -> Vec<StateRef> {
    let states = town.nodes[node].view.iter();
    states
        .filter(|(_, produced)| produced.state.state.contract.as_str() == contract)
        .map(|(reference, _)| *reference)
        .collect()
}

#[track_caller]
pub fn done(town: &mut Town, node: usize, flow: &str, args: &str) {
    let started = town.start(node, flow, args, None);
    town.settle();
    assert_eq!(town.ended(started), Ok(true), "{flow}: {:#?}", town.logs);
}

#[track_caller]
pub fn refused(town: &mut Town, node: usize, flow: &str, args: &str, code: &str) {
    let started = town.start(node, flow, args, None);
    town.settle();
    assert_eq!(town.ended(started), Err(code.to_owned()), "{flow} {args}");
}

/// No flow is live and nothing is left of those that were.
#[track_caller]
pub fn at_rest(town: &mut Town) {
    town.settle();
    for (index, node) in town.nodes.iter().enumerate() {
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
pub fn market() -> Town {
    let mut town = Town::new(3);
    done(&mut town, 1, "cash.issue", &issue(300));
    let pay = format!(
        r#"{{"currency":"GBP","payments":[{{"to":"{}","quantity":120}}]}}"#,
        name(3)
    );
    done(&mut town, 1, "cash.pay", &pay);
    done(&mut town, 1, "paper.issue", &paper(2));
    town
}

#[test]
fn paper_is_issued_traded_for_cash_moved_and_redeemed() {
    let mut town = market();
    let papers = only(&town, 2, "tally.paper");
    done(&mut town, 3, "trade.bid", &bid(2, 95));
    let placed = only(&town, 2, "tally.bid");
    done(&mut town, 2, "trade.sell", &sell(papers, placed, 90));
    at_rest(&mut town);
    assert_eq!([1, 2, 3].map(|node| town.balance(node)), [180, 90, 30]);
    assert!(all(&town, 2, "tally.paper").is_empty());
    assert!(all(&town, 3, "tally.bid").is_empty(), "a bid buys once");

    let bought = only(&town, 3, "tally.paper");
    let to = format!(r#"{{"paper":{},"to":"{}"}}"#, json(bought), name(2));
    refused(&mut town, 2, "paper.move", &to, "paper.not_the_owner");
    done(&mut town, 3, "paper.move", &to);
    let held = only(&town, 1, "tally.paper");
    let redeem = format!(r#"{{"paper":{}}}"#, json(held));
    refused(&mut town, 1, "paper.redeem", &redeem, "paper.not_mature");
    town.now = MATURITY_MS;
    refused(
        &mut town,
        2,
        "paper.redeem",
        &redeem,
        "paper.not_the_issuer",
    );
    done(&mut town, 1, "paper.redeem", &redeem);
    at_rest(&mut town);
    assert_eq!([1, 2, 3].map(|node| town.balance(node)), [80, 190, 30]);
    assert!(all(&town, 1, "tally.paper").is_empty());
}

#[test]
fn a_buyer_buys_nothing_that_it_has_not_bid_for() {
    let mut town = market();
    let papers = only(&town, 2, "tally.paper");
    // A transaction that is no bid, and an unknown one.
    let nowhere = StateRef::new(TxId::from_array([7; 32]), 0);
    refused(
        &mut town,
        2,
        "trade.sell",
        &sell(papers, papers, 90),
        "trade.no_bid",
    );
    refused(
        &mut town,
        2,
        "trade.sell",
        &sell(papers, nowhere, 90),
        "node.unknown_state",
    );
    // A bid for other terms, to another seller, at another price.
    let other = bid(2, 95).replace(r#""face":100"#, r#""face":101"#);
    done(&mut town, 3, "trade.bid", &other);
    let placed = only(&town, 2, "tally.bid");
    refused(
        &mut town,
        2,
        "trade.sell",
        &sell(papers, placed, 90),
        "trade.bid_differs",
    );
    let withdraw = format!(r#"{{"bid":{}}}"#, json(placed));
    refused(&mut town, 2, "trade.withdraw", &withdraw, "trade.no_bid");
    done(&mut town, 3, "trade.withdraw", &withdraw);
    done(&mut town, 3, "trade.bid", &bid(1, 95));
    let placed = only(&town, 3, "tally.bid");
    refused(
        &mut town,
        1,
        "trade.sell",
        &sell(papers, placed, 90),
        "trade.not_the_owner",
    );
    done(
        &mut town,
        3,
        "trade.withdraw",
        &format!(r#"{{"bid":{}}}"#, json(placed)),
    );
    done(&mut town, 3, "trade.bid", &bid(2, 95));
    let placed = only(&town, 3, "tally.bid");
    refused(
        &mut town,
        2,
        "trade.sell",
        &sell(papers, placed, 96),
        "trade.price_over_bid",
    );
    refused(
        &mut town,
        2,
        "trade.sell",
        &sell(papers, placed, 0),
        "trade.price_over_bid",
    );
    town.now = MATURITY_MS;
    refused(
        &mut town,
        2,
        "trade.sell",
        &sell(papers, placed, 90),
        "trade.bid_expired",
    );
    at_rest(&mut town);
    assert_eq!([1, 2, 3].map(|node| town.balance(node)), [180, 0, 120]);
}

#[test]
fn what_a_buyer_lacks_reaches_the_seller_as_a_code_and_locks_nothing() {
    let mut town = market();
    let papers = only(&town, 2, "tally.paper");
    done(&mut town, 3, "trade.bid", &bid(2, 500));
    let placed = only(&town, 3, "tally.bid");
    let dear = sell(papers, placed, 400);
    refused(
        &mut town,
        2,
        "trade.sell",
        &dear,
        "vault.insufficient_funds",
    );
    at_rest(&mut town);
    // Asset, bid and cash are free again.
    done(&mut town, 2, "trade.sell", &sell(papers, placed, 120));
    assert_eq!([2, 3].map(|node| town.balance(node)), [120, 0]);
}

#[test]
fn a_buyer_that_is_away_is_waited_for() {
    let mut town = market();
    let papers = only(&town, 2, "tally.paper");
    done(&mut town, 3, "trade.bid", &bid(2, 95));
    let placed = only(&town, 3, "tally.bid");
    town.down(3);
    let sold = town.start(2, "trade.sell", &sell(papers, placed, 90), Some("sale"));
    town.settle();
    assert!(!town.replies.contains_key(&sold));
    town.down(2);
    town.up(2);
    town.up(3);
    town.settle();
    let sold = town.start(2, "trade.sell", &sell(papers, placed, 90), Some("sale"));
    town.settle();
    assert_eq!(town.ended(sold), Ok(true), "{:#?}", town.logs);
    at_rest(&mut town);
    assert_eq!([2, 3].map(|node| town.balance(node)), [90, 30]);
}

/// Repeats a start under a client id until it is answered, and restarts nodes that are down.
pub fn persist(town: &mut Town, node: usize, flow: &str, args: &str) -> Result<bool, String> {
    loop {
        let started = town.start_and_wait(node, flow, args, Some(flow), Wait::Delivered);
        let down = |town: &Town| town.nodes.iter().position(|node| node.kernel.is_none());
        loop {
            town.settle();
            if down(town).is_none() {
                town.quiet();
            }
            match down(town) {
                Some(node) => town.up(node),
                None => break,
            }
        }
        if let Some(Reply::Ended { .. } | Reply::Rejected(_)) = town.replies.get(&started) {
            return town.ended(started);
        }
    }
}

#[test]
fn a_crash_of_anyone_in_the_middle_of_a_trade_changes_nothing() {
    let mut count = 0;
    for node in [0, 2, 3] {
        for after in 1..=8 {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let mut town = market();
                let papers = only(&town, 2, "tally.paper");
                done(&mut town, 3, "trade.bid", &bid(2, 95));
                let placed = only(&town, 3, "tally.bid");
                let at = town.nodes[node].commits + after;
                town.crashes = vec![Crash { node, at, last }];
                let ended = persist(&mut town, 2, "trade.sell", &sell(papers, placed, 90));
                assert_eq!(ended, Ok(true), "{node} {after} {last:?}: {:#?}", town.logs);
                assert_eq!([2, 3].map(|node| town.balance(node)), [90, 30]);
                assert_eq!(all(&town, 3, "tally.paper").len(), 1);
                count += usize::from(town.crashes.is_empty());
                town.crashes.clear();
                at_rest(&mut town);
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
    let mut town = market();
    done(&mut town, 3, "obligation.issue", &owe(2, 100));
    let debt = only(&town, 2, DEBT);
    let moved = format!(r#"{{"obligation":{},"to":"{}"}}"#, json(debt), name(1));
    refused(
        &mut town,
        3,
        "obligation.move",
        &moved,
        "obligation.not_the_party",
    );
    done(&mut town, 2, "obligation.move", &moved);
    assert!(all(&town, 2, DEBT).is_empty());
    let debt = only(&town, 3, DEBT);
    let pay =
        |quantity: u64, debt| format!(r#"{{"obligation":{},"quantity":{quantity}}}"#, json(debt));
    let settle = "obligation.settle";
    refused(
        &mut town,
        1,
        settle,
        &pay(1, debt),
        "obligation.not_the_party",
    );
    refused(&mut town, 3, settle, &pay(101, debt), "obligation.quantity");
    refused(&mut town, 3, settle, &pay(0, debt), "obligation.quantity");
    let other = format!(r#"{{"obligation":{},"token":{}}}"#, json(debt), token(2));
    refused(
        &mut town,
        3,
        settle,
        &other,
        "obligation.token_not_accepted",
    );
    done(&mut town, 3, settle, &pay(30, debt));
    let rest = only(&town, 1, DEBT);
    done(&mut town, 3, settle, &about(rest));
    assert!(all(&town, 1, DEBT).is_empty() && all(&town, 3, DEBT).is_empty());
    assert_eq!([1, 3].map(|node| town.balance(node)), [280, 20]);
    refused(&mut town, 3, settle, &pay(5, rest), "vault.state_consumed");
    at_rest(&mut town);
}

#[test]
fn an_obligation_is_in_default_from_when_it_is_due_and_back_and_is_forgiven() {
    let mut town = market();
    done(&mut town, 3, "obligation.issue", &owe(2, 100));
    let debt = only(&town, 2, DEBT);
    refused(
        &mut town,
        2,
        "obligation.default",
        &about(debt),
        "obligation.not_due",
    );
    town.now = MATURITY_MS;
    refused(
        &mut town,
        3,
        "obligation.default",
        &about(debt),
        "obligation.not_the_party",
    );
    done(&mut town, 2, "obligation.default", &about(debt));
    let debt = only(&town, 2, DEBT);
    let moved = format!(r#"{{"obligation":{},"to":"{}"}}"#, json(debt), name(1));
    refused(
        &mut town,
        2,
        "obligation.move",
        &moved,
        "obligation.in_default",
    );
    let restore = format!(r#"{{"obligation":{},"restore":true}}"#, json(debt));
    done(&mut town, 2, "obligation.default", &restore);
    let debt = only(&town, 2, DEBT);
    refused(
        &mut town,
        3,
        "obligation.exit",
        &about(debt),
        "obligation.not_the_party",
    );
    done(&mut town, 2, "obligation.exit", &about(debt));
    assert!(all(&town, 2, DEBT).is_empty() && all(&town, 3, DEBT).is_empty());
    at_rest(&mut town);
}

pub fn net(states: &[StateRef], parties: &[u64]) -> String {
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
    let mut town = market();
    done(&mut town, 2, "obligation.issue", &owe(3, 100));
    done(&mut town, 3, "obligation.issue", &owe(2, 30));
    let states = all(&town, 2, DEBT);
    refused(
        &mut town,
        2,
        "obligation.net",
        &net(&states[..1], &[]),
        "obligation.count",
    );
    done(&mut town, 2, "obligation.net", &net(&states, &[]));
    at_rest(&mut town);
    let left = only(&town, 3, DEBT);
    assert_eq!(left, only(&town, 2, DEBT));
    let settle = format!(r#"{{"obligation":{},"quantity":71}}"#, json(left));
    refused(
        &mut town,
        2,
        "obligation.settle",
        &settle,
        "obligation.quantity",
    );
}

/// Debts of 1 to 2, 2 to 3 and 3 to 1.
pub fn ring() -> (Town, Vec<StateRef>) {
    let mut town = market();
    for (from, to, quantity) in [(1, 2, 10), (2, 3, 20), (3, 1, 30)] {
        done(&mut town, from, "obligation.issue", &owe(to, quantity));
    }
    let mut states = all(&town, 1, DEBT);
    states.extend(all(&town, 2, DEBT));
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), 3);
    (town, states)
}

#[test]
fn three_parties_net_a_ring_of_which_none_sees_all() {
    let (mut town, states) = ring();
    let node = net(&states, &[]);
    refused(
        &mut town,
        1,
        "obligation.net",
        &node,
        "obligation.not_shared",
    );
    done(&mut town, 1, "obligation.net", &net(&states, &[3]));
    at_rest(&mut town);
    let left = [1, 2, 3].map(|node| all(&town, node, DEBT).len());
    assert_eq!(left, [1, 1, 2], "10 of 2 at 3, and 20 of 3 at 1");
}

#[test]
fn a_crash_of_anyone_in_the_middle_of_a_netting_changes_nothing() {
    for node in [0, 1, 2, 3] {
        for after in 1..=6 {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let (mut town, states) = ring();
                let at = town.nodes[node].commits + after;
                town.crashes = vec![Crash { node, at, last }];
                let ended = persist(&mut town, 1, "obligation.net", &net(&states, &[2]));
                assert_eq!(ended, Ok(true), "{node} {after} {last:?}: {:#?}", town.logs);
                town.crashes.clear();
                at_rest(&mut town);
                let left = [1, 2, 3].map(|node| all(&town, node, DEBT).len());
                assert_eq!(left, [1, 1, 2]);
            }
        }
    }
}

#[test]
fn what_forms_no_ring_is_not_netted() {
    let mut town = market();
    done(&mut town, 1, "obligation.issue", &owe(2, 10));
    done(&mut town, 2, "obligation.issue", &owe(3, 10));
    let states = all(&town, 2, DEBT);
    refused(
        &mut town,
        2,
        "obligation.net",
        &net(&states, &[]),
        "obligation.nothing_to_net",
    );
    at_rest(&mut town);
}

#[test]
fn a_claim_is_sold_as_a_paper_is() {
    let mut town = market();
    done(&mut town, 1, "obligation.issue", &owe(2, 50));
    let debt = only(&town, 2, DEBT);
    let data = &town.nodes[2].view[&debt].state.state.data;
    let data: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    let wanted = format!(
        r#"{{"seller":"{}","contract":"{DEBT}","data":"{data}","token":{},"price_max":45,"until":{MATURITY_MS}}}"#,
        name(2),
        token(1)
    );
    done(&mut town, 3, "trade.bid", &wanted);
    let placed = only(&town, 3, "tally.bid");
    done(&mut town, 2, "trade.sell", &sell(debt, placed, 45));
    at_rest(&mut town);
    assert_eq!([2, 3].map(|node| town.balance(node)), [45, 75]);
    let bought = only(&town, 3, DEBT);
    done(&mut town, 1, "obligation.settle", &about(bought));
    assert_eq!(town.balance(3), 125);
}
