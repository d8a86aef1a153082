//! States owned by a node's fresh keys pass through every flow: cash, paper, obligations, trades, locks and changes of notary. No
//! flow gets a signature by a key that does not belong to it.

use kernel::KernelOptions;
use kernel::port::Table;
use ledger::StateRef;

use crate::pay::{issue, pay};
use crate::testnet::{PREY, ROBBER, Testnet, key, name};

const MATURITY_MS: u64 = 2_000_000;
const DEBT: &str = "tally.obligation";
const PAPER: &str = "tally.paper";

/// Adds `anonymous` to arguments.
fn hidden(args: &str) -> String {
    args.replacen('{', r#"{"anonymous":true,"#, 1)
}

fn run(net: &mut Testnet, node: usize, flow: &str, args: &str) -> Result<bool, String> {
    let token = net.start(node, flow, args, None);
    net.settle();
    net.ended(token)
}

#[track_caller]
fn done(net: &mut Testnet, node: usize, flow: &str, args: &str) {
    let ended = run(net, node, flow, args);
    assert_eq!(ended, Ok(true), "{flow} {args}: {:#?}", net.logs);
}

#[track_caller]
fn refused(net: &mut Testnet, node: usize, flow: &str, args: &str, code: &str) {
    let ended = run(net, node, flow, args);
    assert_eq!(ended, Err(code.to_owned()), "{flow} {args}");
}

/// Builds three banks and a second notary (node 4). Bank 2 has 100 that bank 1 issued to a fresh key.
fn net() -> Testnet {
    let mut net = Testnet::with_two_notaries(3, false, KernelOptions::default());
    done(&mut net, 1, "cash.issue", &hidden(&issue_to(100, 2)));
    assert!(net.balance(2) == 100 && !held_by_identity(&net, 2));
    net
}

fn issue_to(quantity: u64, to: u64) -> String {
    let to = name(to);
    format!(r#"{{"currency":"GBP","quantity":{quantity},"recipient":"{to}"}}"#)
}

/// Returns whether a node holds a state under its identity key.
fn held_by_identity(net: &Testnet, node: usize) -> bool {
    let mine = key(node).public().clone();
    let mut held = net.nodes[node].view.values();
    held.any(|produced| produced.facts.owner.as_ref() == Some(&mine))
}

#[track_caller]
fn only(net: &Testnet, node: usize, contract: &str) -> StateRef {
    let states = net.nodes[node].view.iter();
    let of = |produced: &vault::Produced| produced.state.state.contract.as_str() == contract;
    let found: Vec<StateRef> = states.filter(|(_, p)| of(p)).map(|(r, _)| *r).collect();
    assert_eq!(found.len(), 1, "{contract} at {node}");
    found[0]
}

fn json(state: StateRef) -> String {
    format!(r#"{{"tx":"{}","index":{}}}"#, state.tx, state.index)
}

fn token() -> String {
    format!(r#"{{"currency":"GBP","issuer":"{}"}}"#, name(1))
}

fn balances(net: &Testnet) -> [u64; 3] {
    [1, 2, 3].map(|node| net.balance(node))
}

#[track_caller]
fn at_rest(net: &mut Testnet) {
    net.settle();
    for (index, node) in net.nodes.iter().enumerate() {
        let live = node.kernel.as_ref().expect("up").flows().live();
        assert_eq!(live, 0, "flows of node {index}");
        for table in [Table::Journal, Table::Deliveries, Table::Staging] {
            assert_eq!(node.disk.count(table), 0, "{table:?} of node {index}");
        }
    }
}

#[test]
fn cash_of_fresh_keys_goes_through_every_flow_of_cash() {
    let gbp = |quantity: u64| format!(r#"{{"currency":"GBP","quantity":{quantity}}}"#);
    let of_1 = |quantity: u64| {
        let (token, issuer) = (gbp(quantity), name(1));
        token.replacen('{', &format!(r#"{{"issuer":"{issuer}","#), 1)
    };
    let issue_and_pay = |quantity: u64, to: u64| {
        let (args, to) = (gbp(quantity), name(to));
        args.replacen('{', &format!(r#"{{"recipient":"{to}","#), 1)
    };
    let cases: [(&str, usize, &str, String, [u64; 3]); 11] = [
        ("paid", 2, "cash.pay", pay(30, 3), [0, 70, 30]),
        ("paid on", 2, "cash.pay", hidden(&pay(30, 3)), [0, 70, 30]),
        ("to itself", 2, "cash.pay", hidden(&pay(30, 2)), [0, 100, 0]),
        (
            "issued",
            1,
            "cash.issue",
            hidden(&issue_to(5, 3)),
            [0, 100, 5],
        ),
        ("kept", 1, "cash.issue", hidden(&issue(5)), [5, 100, 0]),
        (
            "made and paid",
            1,
            "cash.issue_and_pay",
            hidden(&issue_and_pay(5, 3)),
            [0, 100, 5],
        ),
        ("anew", 2, "cash.reissue", of_1(40), [0, 100, 0]),
        ("anew", 2, "cash.reissue", hidden(&of_1(40)), [0, 100, 0]),
        (
            "all anew",
            2,
            "cash.reissue",
            hidden(&of_1(100)),
            [0, 100, 0],
        ),
        ("all", 2, "cash.pay", hidden(&pay(100, 1)), [100, 0, 0]),
        ("back", 2, "cash.pay", pay(100, 1), [100, 0, 0]),
    ];
    for (what, node, flow, args, expected) in cases {
        let mut net = net();
        done(&mut net, node, flow, &args);
        at_rest(&mut net);
        assert_eq!(balances(&net), expected, "{what} {args}");
        // Each node that holds cash pays all of it to a named identity.
        for node in [1, 2, 3] {
            let has = net.balance(node);
            let to = if node == 1 { 2 } else { 1 };
            if has > 0 {
                done(&mut net, node, "cash.pay", &pay(has, to));
                done(&mut net, to.into(), "cash.pay", &pay(has, node as u8));
            }
        }
        assert_eq!(balances(&net), expected, "{what} {args}");
    }
}

#[test]
fn cash_of_fresh_keys_is_exited_and_the_change_hides_if_asked() {
    for anonymous in [false, true] {
        let mut net = Testnet::new(1);
        done(&mut net, 1, "cash.issue", &hidden(&issue(100)));
        let exit = issue(30);
        let exit = if anonymous { hidden(&exit) } else { exit };
        done(&mut net, 1, "cash.exit", &exit);
        assert_eq!(net.balance(1), 70);
        assert_eq!(held_by_identity(&net, 1), !anonymous);
        done(&mut net, 1, "cash.exit", &issue(70));
        assert_eq!(net.balance(1), 0);
        at_rest(&mut net);
    }
}

#[test]
fn cash_locked_for_a_fresh_key_unlocks_itself_also_after_a_restart() {
    for restarted in [false, true] {
        let mut net = net();
        let lock = format!(
            r#"{{"currency":"GBP","issuer":"{}","quantity":60,"until":{},"to":"{}"}}"#,
            name(1),
            net.now + 5_000,
            name(3)
        );
        done(&mut net, 2, "cash.lock", &hidden(&lock));
        assert_eq!(balances(&net), [0, 40, 0]);
        assert!(!held_by_identity(&net, 2) && !held_by_identity(&net, 3));
        if restarted {
            net.down(3);
            net.up(3);
        }
        net.now += 5_000;
        net.quiet();
        assert_eq!(balances(&net), [0, 40, 60], "{:#?}", net.logs);
        assert!(!held_by_identity(&net, 3));
        done(&mut net, 3, "cash.pay", &pay(60, 1));
        at_rest(&mut net);
    }
}

#[test]
fn a_coin_of_a_fresh_key_moves_to_another_notary_and_is_paid_there() {
    let mut net = net();
    let coin = only(&net, 2, "tally.cash");
    let there = name(4);
    let args = format!(r#"{{"states":[{}],"to":"{there}"}}"#, json(coin));
    done(&mut net, 2, "ledger.change_notary", &args);
    let there = pay(30, 3).replacen('{', &format!(r#"{{"notary":"{there}","#), 1);
    done(&mut net, 2, "cash.pay", &there);
    assert_eq!(balances(&net), [0, 70, 30]);
    at_rest(&mut net);
}

fn paper(owner: u64) -> String {
    format!(
        r#"{{"face":100,"token":{},"maturity":{MATURITY_MS},"recipient":"{}"}}"#,
        token(),
        name(owner)
    )
}

fn prove(net: &Testnet, node: usize, contract: &str, to: u64) -> String {
    let state = only(net, node, contract);
    let owner = net.nodes[node].view[&state].facts.owner.clone();
    let key = owner.expect("an owner").to_text();
    format!(r#"{{"key":"{key}","to":"{}"}}"#, name(to))
}

#[test]
fn paper_of_a_fresh_key_moves_and_is_redeemed_once_its_issuer_knows_the_holder() {
    let mut net = net();
    done(&mut net, 1, "cash.issue", &issue(300));
    done(&mut net, 1, "paper.issue", &hidden(&paper(2)));
    let held = only(&net, 2, PAPER);
    let to_3 = format!(r#"{{"paper":{},"to":"{}"}}"#, json(held), name(3));
    refused(&mut net, 1, "paper.move", &to_3, "paper.not_the_owner");
    done(&mut net, 2, "paper.move", &hidden(&to_3));
    net.now = MATURITY_MS;
    let redeem = format!(r#"{{"paper":{}}}"#, json(only(&net, 3, PAPER)));
    refused(&mut net, 1, "paper.redeem", &redeem, "cash.unknown_party");
    // Node 2 cannot prove the ownership of a key that is not its own, and its attempt reveals nothing.
    let proof = prove(&net, 3, PAPER, 1);
    refused(&mut net, 2, "ledger.prove_key", &proof, "node.unknown_key");
    done(&mut net, 3, "ledger.prove_key", &proof);
    done(&mut net, 1, "paper.redeem", &redeem);
    assert_eq!(balances(&net), [200, 100, 100]);
    assert!(!held_by_identity(&net, 3));
    at_rest(&mut net);
}

#[test]
fn the_issuer_redeems_a_paper_of_its_own_fresh_key_alone() {
    let mut net = net();
    done(&mut net, 1, "cash.issue", &issue(300));
    done(&mut net, 1, "paper.issue", &hidden(&paper(1)));
    net.now = MATURITY_MS;
    let redeem = format!(r#"{{"paper":{}}}"#, json(only(&net, 1, PAPER)));
    done(&mut net, 1, "paper.redeem", &redeem);
    assert_eq!(balances(&net), [300, 100, 0]);
    at_rest(&mut net);
}

#[test]
fn paper_of_a_fresh_key_is_sold_for_cash_of_fresh_keys() {
    let mut net = net();
    done(&mut net, 1, "cash.issue", &hidden(&issue_to(120, 3)));
    done(&mut net, 1, "paper.issue", &hidden(&paper(2)));
    let bid = format!(
        r#"{{"seller":"{}","paper":{{"issuer":"{}","token":{},"face":100,"maturity":{MATURITY_MS}}},"token":{},"price_max":95,"until":{MATURITY_MS}}}"#,
        name(2),
        name(1),
        token(),
        token()
    );
    done(&mut net, 3, "trade.bid", &bid);
    let sell = format!(
        r#"{{"asset":{},"bid":{},"price":90}}"#,
        json(only(&net, 2, PAPER)),
        json(only(&net, 2, "tally.bid"))
    );
    done(&mut net, 2, "trade.sell", &sell);
    assert_eq!(balances(&net), [0, 190, 30]);
    only(&net, 3, PAPER);
    assert!(!held_by_identity(&net, 2), "paid to the key that sold");
    at_rest(&mut net);
}

fn owe(to: u64, quantity: u64) -> String {
    format!(
        r#"{{"to":"{}","quantity":{quantity},"tokens":[{}],"due":{MATURITY_MS}}}"#,
        name(to),
        token()
    )
}

fn about(state: StateRef) -> String {
    format!(r#"{{"obligation":{}}}"#, json(state))
}

#[test]
fn an_obligation_to_a_fresh_key_is_settled_moved_defaulted_restored_and_forgiven() {
    let mut net = net();
    done(&mut net, 1, "cash.issue", &issue_to(200, 3));
    done(&mut net, 3, "obligation.issue", &hidden(&owe(2, 100)));
    assert!(!held_by_identity(&net, 2));
    let settle =
        |state, quantity: u64| format!(r#"{{"obligation":{},"quantity":{quantity}}}"#, json(state));
    let debt = only(&net, 2, DEBT);
    let not_yet = "obligation.not_due";
    refused(&mut net, 2, "obligation.default", &about(debt), not_yet);
    done(&mut net, 3, "obligation.settle", &settle(debt, 10));
    assert_eq!(balances(&net), [0, 110, 190]);
    // Passed on to a key that the obligor can't place.
    let debt = only(&net, 2, DEBT);
    let moved = format!(r#"{{"obligation":{},"to":"{}"}}"#, json(debt), name(1));
    done(&mut net, 2, "obligation.move", &hidden(&moved));
    let debt = only(&net, 1, DEBT);
    let unknown = "cash.unknown_party";
    refused(&mut net, 3, "obligation.settle", &settle(debt, 20), unknown);
    let proof = prove(&net, 1, DEBT, 3);
    done(&mut net, 1, "ledger.prove_key", &proof);
    done(&mut net, 3, "obligation.settle", &settle(debt, 20));
    assert_eq!(balances(&net), [20, 110, 170]);
    net.now = MATURITY_MS;
    let debt = only(&net, 1, DEBT);
    done(&mut net, 1, "obligation.default", &about(debt));
    let back = about(only(&net, 1, DEBT)).replacen('{', r#"{"restore":true,"#, 1);
    done(&mut net, 1, "obligation.default", &back);
    let debt = only(&net, 1, DEBT);
    done(&mut net, 1, "obligation.exit", &about(debt));
    assert!(
        !net.nodes[3]
            .view
            .values()
            .any(|p| p.facts.linear_id.is_some())
    );
    at_rest(&mut net);
}

#[test]
fn a_claim_of_a_fresh_key_is_netted_under_the_own_key() {
    let mut net = net();
    done(&mut net, 3, "obligation.issue", &hidden(&owe(2, 100)));
    let claim = only(&net, 2, DEBT);
    done(&mut net, 2, "obligation.issue", &owe(3, 60));
    let mut all = net.nodes[2].view.iter();
    let debt = all.find(|(r, p)| p.facts.linear_id.is_some() && **r != claim);
    let debt = *debt.expect("the other").0;
    let netting = format!(r#"{{"obligations":[{},{}]}}"#, json(claim), json(debt));
    // The counterparty knows the owner of the claim, and cannot move it.
    let nothing = "obligation.nothing_to_net";
    refused(&mut net, 3, "obligation.net", &netting, nothing);
    done(&mut net, 2, "obligation.net", &netting);
    let left = only(&net, 3, DEBT);
    let moved = net.nodes[3].view[&left].facts.owner.clone();
    assert_eq!(moved.as_ref(), Some(key(2).public()));
    at_rest(&mut net);
}

#[test]
fn an_obligation_to_a_fresh_key_moves_to_another_notary_if_those_whom_it_concerns_know_each_other()
{
    let moves = |net: &mut Testnet, node, expected: Result<bool, String>| {
        let debt = only(net, 3, DEBT);
        let args = format!(r#"{{"states":[{}],"to":"{}"}}"#, json(debt), name(4));
        let ended = run(net, node, "ledger.change_notary", &args);
        assert_eq!(ended, expected, "by {node}: {:#?}", net.logs);
        at_rest(net);
    };
    // The obligor takes part in the state, and its owner does not let it choose the notary.
    let not_owner = Err("node.proposer_not_owner".to_owned());
    for (proposer, expected) in [(2, Ok(true)), (3, not_owner)] {
        let mut net = net();
        done(&mut net, 3, "obligation.issue", &hidden(&owe(2, 100)));
        moves(&mut net, proposer, expected);
    }
    let mut net = net();
    done(&mut net, 3, "obligation.issue", &owe(2, 100));
    let debt = only(&net, 2, DEBT);
    let moved = format!(r#"{{"obligation":{},"to":"{}"}}"#, json(debt), name(1));
    done(&mut net, 2, "obligation.move", &hidden(&moved));
    moves(&mut net, 3, Err("flow.unknown_party".to_owned()));
    let stranger = Err("node.proposer_unconcerned".to_owned());
    moves(&mut net, 1, stranger);
    let proof = prove(&net, 1, DEBT, 3);
    done(&mut net, 1, "ledger.prove_key", &proof);
    moves(&mut net, 1, Ok(true));
}

/// Restarts a node with the code of a robber.
fn becomes_a_robber(net: &mut Testnet, node: usize, prey: StateRef) {
    PREY.set(Some(prey));
    ROBBER.set(true);
    net.down(node);
    net.up(node);
    ROBBER.set(false);
    net.settle();
}

#[test]
fn who_signs_a_redemption_signs_for_no_coin_of_another_of_its_keys() {
    for anonymous in [false, true] {
        let mut net = net();
        let prey = only(&net, 2, "tally.cash");
        done(&mut net, 1, "cash.issue", &issue(300));
        let paper = paper(2);
        let paper = if anonymous { hidden(&paper) } else { paper };
        done(&mut net, 1, "paper.issue", &paper);
        net.now = MATURITY_MS;
        becomes_a_robber(&mut net, 1, prey);
        let redeem = format!(r#"{{"paper":{}}}"#, json(only(&net, 2, PAPER)));
        let code = "paper.proposal_differs";
        refused(&mut net, 1, "paper.redeem", &redeem, code);
        assert_eq!(balances(&net), [300, 100, 0]);
    }
}

#[test]
fn an_issuer_that_issues_anew_signs_for_no_coin_of_its_own() {
    let mut net = Testnet::new(2);
    done(&mut net, 1, "cash.issue", &issue(100));
    done(&mut net, 1, "cash.pay", &pay(40, 2));
    // The payment's change, which the payee has seen.
    let prey = only(&net, 1, "tally.cash");
    becomes_a_robber(&mut net, 2, prey);
    let anew = format!(
        r#"{{"currency":"GBP","quantity":10,"issuer":"{}"}}"#,
        name(1)
    );
    refused(&mut net, 2, "cash.reissue", &anew, "cash.not_a_reissue");
    assert_eq!([1, 2].map(|node| net.balance(node)), [60, 40]);
}
