//! Flows that move states to another notary or to newer code, alone and with others.

use kernel::port::Table;
use kernel::{ConsentChange, ConsentOptions, Event, KernelOptions, Reply, Token};
use ledger::{StateRef, TransactionState};

use crate::pay::{issue, pay};
use crate::testnet::{Testnet, bond_code, deed_code, deed_name};

/// Builds two nodes and two notaries; the second notary is node 3.
fn net(consent: ConsentOptions) -> Testnet {
    let options = KernelOptions {
        consent,
        ..KernelOptions::default()
    };
    Testnet::with_two_notaries(2, false, options)
}

fn states(states: &[StateRef]) -> String {
    let each = states
        .iter()
        .map(|s| format!(r#"{{"tx":"{}","index":{}}}"#, s.tx, s.index));
    each.collect::<Vec<_>>().join(",")
}

fn to_notary(moved: &[StateRef], node: u8) -> String {
    let moved = states(moved);
    format!(r#"{{"states":[{moved}],"to":"O=Node {node}, L=London, C=GB"}}"#)
}

fn to_code(moved: &[StateRef], version: u32) -> String {
    format!(
        r#"{{"states":[{}],"to":"{}"}}"#,
        states(moved),
        deed_code(version)
    )
}

fn run(net: &mut Testnet, node: usize, flow: &str, args: &str) -> Result<bool, String> {
    let token = net.start(node, flow, args, None);
    net.settle();
    net.ended(token)
}

fn held(net: &Testnet, node: usize) -> Vec<(StateRef, TransactionState)> {
    let view = net.nodes[node].view.iter();
    view.map(|(r, produced)| (*r, produced.state.state.clone()))
        .collect()
}

/// Builds a test network with a deed between nodes 1 and 2.
fn with_a_deed(consent: ConsentOptions) -> (Testnet, StateRef) {
    let mut net = net(consent);
    assert_eq!(run(&mut net, 1, "test.make_deed", "2"), Ok(true));
    let deed = held(&net, 1)[0].0;
    assert_eq!(held(&net, 2)[0].0, deed);
    (net, deed)
}

fn is_at_rest(net: &Testnet) {
    for node in 0..net.nodes.len() {
        assert_eq!(net.figures(node).outbox_pending, 0, "of {node}");
        for table in [Table::Journal, Table::Deliveries] {
            assert_eq!(net.nodes[node].disk.count(table), 0, "{table:?} of {node}");
        }
    }
}

#[test]
fn cash_moves_to_another_notary_and_is_paid_there() {
    for validating in [false, true] {
        cash_moves(Testnet::with_two_notaries(
            2,
            validating,
            KernelOptions::default(),
        ));
    }
}

fn cash_moves(mut net: Testnet) {
    assert_eq!(run(&mut net, 1, "cash.issue", &issue(100)), Ok(true));
    let coin = held(&net, 1)[0].0;
    let moved = run(&mut net, 1, "ledger.change_notary", &to_notary(&[coin], 3));
    assert_eq!(moved, Ok(true), "{:?}", net.logs);
    assert_eq!(net.balance(1), 100);
    // By the default notary there is nothing left to be paid.
    let here = run(&mut net, 1, "cash.pay", &pay(30, 2));
    assert_eq!(here, Err("vault.insufficient_funds".to_owned()));
    let there = pay(30, 2).replacen('{', r#"{"notary":"O=Node 3, L=London, C=GB","#, 1);
    assert_eq!(run(&mut net, 1, "cash.pay", &there), Ok(true));
    assert_eq!([1, 2].map(|node| net.balance(node)), [70, 30]);
    let notarised = [0, 3].map(|node| net.nodes[node].disk.count(Table::NotaryStates));
    assert_eq!(notarised, [1, 1], "each notary consumed its own");
    let again = run(&mut net, 1, "ledger.change_notary", &to_notary(&[coin], 3));
    assert_eq!(again, Err("vault.state_consumed".to_owned()));
    is_at_rest(&net);
}

#[test]
fn all_whom_a_state_concerns_sign_its_change_of_notary() {
    let (mut net, deed) = with_a_deed(ConsentOptions::default());
    accept(&mut net, 1);
    let moved = run(&mut net, 2, "ledger.change_notary", &to_notary(&[deed], 3));
    assert_eq!(moved, Ok(true), "{:?}", net.logs);
    let notary = net.nodes[3].party.clone();
    for node in [1, 2] {
        let [(_, state)] = &held(&net, node)[..] else {
            panic!("node {node} holds one deed");
        };
        assert_eq!((&state.notary, &state.data[..]), (&notary, &[1, 1, 2][..]));
    }
    is_at_rest(&net);
}

#[test]
fn a_participant_who_does_not_agree_does_not_sign() {
    let strict = ConsentOptions {
        notary_changes: false,
        ..ConsentOptions::default()
    };
    let (mut net, deed) = with_a_deed(strict);
    let (change, upgrade) = (to_notary(&[deed], 3), to_code(&[deed], 2));
    for (flow, args, code) in [
        ("ledger.change_notary", change, "node.notary_change_refused"),
        ("ledger.upgrade", upgrade, "node.upgrade_not_authorised"),
    ] {
        assert_eq!(run(&mut net, 1, flow, &args), Err(code.to_owned()));
    }
    assert_eq!(held(&net, 1)[0].0, deed);
    is_at_rest(&net);
}

#[test]
fn a_deed_comes_under_newer_code_where_that_is_authorised() {
    let consent = ConsentOptions {
        upgrades: [(deed_code(1), deed_code(2))].into(),
        ..ConsentOptions::default()
    };
    let (mut net, deed) = with_a_deed(consent);
    let upgraded = run(&mut net, 1, "ledger.upgrade", &to_code(&[deed], 2));
    assert_eq!(upgraded, Ok(true), "{:?}", net.logs);
    for node in [1, 2] {
        let [(reference, state)] = &held(&net, node)[..] else {
            panic!("node {node} holds one deed");
        };
        assert_ne!(*reference, deed);
        assert_eq!(state.contract, deed_name());
        assert_eq!(state.data, [2, 1, 2]);
    }
    let new = held(&net, 1)[0].0;
    let again = run(&mut net, 1, "ledger.upgrade", &to_code(&[new], 2));
    assert_eq!(again, Err("tx.upgrade_not_newer".to_owned()));
    is_at_rest(&net);
}

#[test]
fn who_has_no_part_in_a_state_cannot_have_it_moved() {
    let mut net = net(ConsentOptions::default());
    assert_eq!(run(&mut net, 1, "cash.issue", &issue(100)), Ok(true));
    assert_eq!(run(&mut net, 1, "cash.pay", &pay(100, 2)), Ok(true));
    // Node 1 has the transaction, and so knows the coin of node 2.
    let coin = held(&net, 2)[0].0;
    let moved = run(&mut net, 1, "ledger.change_notary", &to_notary(&[coin], 3));
    assert_eq!(moved, Err("node.proposer_unconcerned".to_owned()));
    assert_eq!(held(&net, 2)[0].0, coin);
}

#[test]
fn a_participant_beside_the_owner_cannot_have_a_state_moved() {
    let mut net = net(ConsentOptions::default());
    let owe = format!(
        r#"{{"to":"O=Node 2, L=London, C=GB","quantity":5,"tokens":[{}],"due":900000000}}"#,
        crate::trades::token(1)
    );
    assert_eq!(run(&mut net, 1, "obligation.issue", &owe), Ok(true));
    let (debt, _) = held(&net, 2)[0].clone();
    accept(&mut net, 2);
    // The obligor takes part; the obligee owns the claim.
    let moved = run(&mut net, 1, "ledger.change_notary", &to_notary(&[debt], 3));
    assert_eq!(moved, Err("node.proposer_not_owner".to_owned()));
    assert_eq!(held(&net, 2)[0].0, debt);
    let moved = run(&mut net, 2, "ledger.change_notary", &to_notary(&[debt], 3));
    assert_eq!(moved, Ok(true), "{:?}", net.logs);
}

#[test]
fn a_state_without_an_owner_moves_if_an_operator_has_accepted_it() {
    let (mut net, deed) = with_a_deed(ConsentOptions::default());
    let change = to_notary(&[deed], 3);
    let refused = run(&mut net, 1, "ledger.change_notary", &change);
    assert_eq!(refused, Err("node.notary_change_refused".to_owned()));
    accept(&mut net, 2);
    let moved = run(&mut net, 1, "ledger.change_notary", &change);
    assert_eq!(moved, Ok(true), "{:?}", net.logs);
}

#[test]
fn arguments_that_name_nothing_that_can_be_moved() {
    let (mut net, deed) = with_a_deed(ConsentOptions::default());
    let mut absent = deed;
    absent.index = 7;
    for (args, code) in [
        (to_notary(&[], 3), "flow.no_states"),
        (to_notary(&[absent], 3), "flow.no_states"),
        (to_notary(&[deed], 2), "flow.not_a_notary"),
        (to_notary(&[deed], 9), "flow.unknown_party"),
        (to_notary(&[deed], 0), "tx.transition_same_notary"),
    ] {
        let refused = run(&mut net, 1, "ledger.change_notary", &args);
        assert_eq!(refused, Err(code.to_owned()), "{args}");
    }
}

fn use_bond(bond: Option<StateRef>, version: u32) -> String {
    let bond = bond.map_or("null".to_owned(), |bond| states(&[bond]));
    format!(r#"{{"bond":{bond},"version":{version}}}"#)
}

#[test]
fn newer_code_of_the_same_signer_needs_no_upgrade_and_there_is_no_way_back() {
    let mut net = net(ConsentOptions::default());
    let only = |net: &Testnet| held(net, 1)[0].0;
    for version in [1, 1, 2, 2] {
        let bond = held(&net, 1).first().map(|(bond, _)| *bond);
        let used = run(&mut net, 1, "test.use_bond", &use_bond(bond, version));
        assert_eq!(used, Ok(true), "{version}: {:?}", net.logs);
    }
    let back = use_bond(Some(only(&net)), 1);
    let refused = run(&mut net, 1, "test.use_bond", &back);
    assert_eq!(refused, Err("tx.contract_downgraded".to_owned()));
    // Neither does a change of notary forget which code made it, or take code that is older.
    for node in [3, 0] {
        let change = to_notary(&[only(&net)], node);
        assert_eq!(run(&mut net, 1, "ledger.change_notary", &change), Ok(true));
    }
    let back = use_bond(Some(only(&net)), 1);
    let refused = run(&mut net, 1, "test.use_bond", &back);
    assert_eq!(refused, Err("tx.contract_downgraded".to_owned()));
    let on = use_bond(Some(only(&net)), 2);
    assert_eq!(run(&mut net, 1, "test.use_bond", &on), Ok(true));
}

#[test]
fn a_bond_can_be_upgraded_explicitly_and_stays_its_authors() {
    let mut net = net(ConsentOptions::default());
    let made = run(&mut net, 1, "test.use_bond", &use_bond(None, 1));
    assert_eq!(made, Ok(true));
    let (bond, before) = held(&net, 1)[0].clone();
    let to = format!(
        r#"{{"states":[{}],"to":"{}"}}"#,
        states(&[bond]),
        bond_code(2)
    );
    assert_eq!(run(&mut net, 1, "ledger.upgrade", &to), Ok(true));
    let (_, after) = held(&net, 1)[0].clone();
    assert_eq!(
        (after.data, after.constraint),
        (vec![2, 1], before.constraint)
    );
}

/// Accepts changes of notary, as a node's operator.
fn accept(net: &mut Testnet, node: usize) {
    let said = say_at(net, node, ConsentChange::NotaryChanges(Some(true)));
    assert_eq!(said.map(|(_, accepts)| accepts), Ok(true));
}

/// Applies a consent of node 2's operator. Returns the number of upgrades authorised at run time, and whether changes of notary
/// are signed.
fn say(net: &mut Testnet, change: ConsentChange) -> Result<(usize, bool), String> {
    say_at(net, 2, change)
}

/// Like [`say`], for the operator of any node.
fn say_at(net: &mut Testnet, node: usize, change: ConsentChange) -> Result<(usize, bool), String> {
    let token = Token(net.token());
    let event = Event::Consents {
        change: Some(change),
        user: "ann".to_owned(),
        token,
    };
    net.tell(node, event);
    net.settle();
    match net.replies.remove(&token.0) {
        Some(Reply::Consents(held)) => Ok((held.upgrades.len(), held.notary_change())),
        Some(Reply::Rejected(rejection)) => Err(rejection.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_operator_consents_while_the_node_runs_and_over_restarts() {
    let (mut net, deed) = with_a_deed(ConsentOptions::default());
    let (from, to) = (deed_code(1), deed_code(2));
    let authorise = ConsentChange::Authorise { from, to };
    let withdraw = ConsentChange::Withdraw { from, to };
    let unknown = ConsentChange::Authorise {
        from,
        to: primitives::Hash::ZERO,
    };
    for (change, expected) in [
        (withdraw, Err("node.unknown_consent")),
        (unknown, Err("node.unknown_contract")),
        (ConsentChange::NotaryChanges(Some(false)), Ok((0, false))),
        (authorise, Ok((1, false))),
        (authorise, Ok((1, false))),
    ] {
        let said = say(&mut net, change);
        assert_eq!(said, expected.map_err(str::to_owned), "{change:?}");
    }
    net.down(2);
    net.up(2);
    net.settle();
    let refused = run(&mut net, 1, "ledger.change_notary", &to_notary(&[deed], 3));
    assert_eq!(refused, Err("node.notary_change_refused".to_owned()));
    let configured = say(&mut net, ConsentChange::NotaryChanges(None));
    assert_eq!(configured, Ok((1, true)));
    let upgraded = run(&mut net, 1, "ledger.upgrade", &to_code(&[deed], 2));
    assert_eq!(upgraded, Ok(true), "{:?}", net.logs);
    assert_eq!(say(&mut net, withdraw), Ok((0, true)));
    net.down(2);
    net.up(2);
    net.settle();
    assert_eq!(run(&mut net, 1, "test.make_deed", "2"), Ok(true));
    let old = held(&net, 1)
        .into_iter()
        .find(|(_, state)| state.data[0] == 1);
    let (old, _) = old.expect("the new deed");
    let refused = run(&mut net, 1, "ledger.upgrade", &to_code(&[old], 2));
    assert_eq!(refused, Err("node.upgrade_not_authorised".to_owned()));
}

#[test]
fn what_the_configuration_authorises_is_not_withdrawn_elsewhere() {
    let (from, to) = (deed_code(1), deed_code(2));
    let options = ConsentOptions {
        upgrades: [(from, to)].into(),
        ..ConsentOptions::default()
    };
    let mut net = net(options);
    let refused = say(&mut net, ConsentChange::Withdraw { from, to });
    assert_eq!(refused, Err("node.consent_configured".to_owned()));
}
