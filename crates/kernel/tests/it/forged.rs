//! Dishonest counterparties: each proposes a little more than was agreed, and no honest node signs it.

use finance::obligation::{ObligationCommand, ObligationState, builder as debts};
use finance::paper::{builder as papers, paper_name};
use finance::trade::{BidCommand, bid_code, bid_name};
use finance::{CashCommand, cash_builder, cash_name};
use ledger::{
    SignedTransaction, StateAndRef, StateRef, TimeWindow, TransactionBuilder, TransactionState,
    TxId,
};
use primitives::{Decode, Encode, Encoder, PublicKey, Timestamp};

use crate::testnet::{Testnet, key};
use crate::trades::{
    DEBT, MATURITY_MS, all, at_rest, bid, done, market, name, only, owe, paper, sell,
};

const REISSUE: &str = "cash.not_a_reissue";
const REDEMPTION: &str = "paper.proposal_differs";
const NETTING: &str = "obligation.proposal_differs";
const TRADE: &str = "trade.proposal_differs";
const CONTRACT: &str = "tx.contract_rejected";

pub fn public(node: usize) -> PublicKey {
    key(node).public().clone()
}

/// Returns a state that a node sees.
fn state(net: &Testnet, node: usize, reference: StateRef) -> StateAndRef {
    net.nodes[node].view[&reference].state.clone()
}

/// Returns the only state of a contract that a node sees.
fn one(net: &Testnet, node: usize, contract: &str) -> StateAndRef {
    state(net, node, only(net, node, contract))
}

/// Returns the cash in a node's view that `issuer` issued.
fn cash(net: &Testnet, node: usize, issuer: usize) -> Vec<StateAndRef> {
    let issuer = net.nodes[issuer].id;
    let view = net.nodes[node].view.values();
    let fungible = view.filter(|produced| {
        let facts = produced.facts.fungible.as_ref();
        facts.is_some_and(|facts| facts.issuer.id() == issuer)
    });
    fungible.map(|produced| produced.state.clone()).collect()
}

fn notary(net: &Testnet) -> ledger::Party {
    net.nodes[0].party.clone()
}

/// Builds a payment of these coins to one node; the change goes to another.
fn payment(
    net: &Testnet,
    coins: &[StateAndRef],
    to: usize,
    quantity: u64,
    rest: usize,
) -> TransactionBuilder {
    let portion = net.portion(to, quantity);
    let spending = cash_builder::pay(notary(net), coins, &[portion], &public(rest));
    spending.expect("a payment").builder
}

/// Signs a transaction with those of these nodes' keys that it requires.
fn signed(net: &Testnet, builder: TransactionBuilder, by: &[usize]) -> Vec<u8> {
    let wire = net.built(builder);
    let mut signed = SignedTransaction::new(wire, []);
    let missing = signed.missing_parties();
    for node in by.iter().filter(|node| missing.contains(&public(**node))) {
        signed = signed.signed_by(&key(*node));
    }
    signed.to_bytes()
}

/// Checks that a forged proposal fails: how the flow ends at the forger, and that nothing has changed.
#[track_caller]
fn in_vain(net: &mut Testnet, what: &str, (flow, by, with): (&str, usize, usize), code: &str) {
    let before = balances(net);
    let ended = net.forge(by, flow, with);
    assert_eq!(ended, Err(code.to_owned()), "{what}: {:#?}", net.logs);
    at_rest(net);
    assert_eq!(balances(net), before, "{what}");
}

fn balances(net: &Testnet) -> Vec<u64> {
    (0..net.nodes.len()).map(|node| net.balance(node)).collect()
}

/// Encodes the holder's message to the issuer: currency, reference, quantity, states, and whether a fresh key comes next.
pub fn terms(quantity: u64) -> Vec<u8> {
    let mut e = Encoder::new();
    e.array(5);
    "GBP"
        .parse::<finance::Currency>()
        .expect("a currency")
        .encode(&mut e);
    finance::Reference::default().encode(&mut e);
    e.u64(quantity);
    e.u64(1);
    e.bool(false);
    e.into_bytes()
}

/// An empty list of proofs, as sent by a holder whose cash is owned by the key that the network map lists.
pub fn no_proofs() -> Vec<u8> {
    Vec::<ledger::OwnershipProof>::new().to_bytes()
}

#[test]
fn an_issuer_exits_nothing_of_its_own_and_nothing_but_what_is_asked_for() {
    let mut net = market();
    done(
        &mut net,
        3,
        "cash.issue",
        r#"{"currency":"GBP","quantity":50}"#,
    );
    let (own, theirs) = (cash(&net, 1, 1), cash(&net, 3, 1));
    let foreign = cash(&net, 3, 3);
    let both = [own.clone(), theirs.clone()].concat();
    let exit = |net: &Testnet, coins: &[StateAndRef], quantity: u64| {
        let exit = cash_builder::exit(notary(net), coins, quantity, &public(3));
        exit.expect("an exit").builder
    };
    let read = own[0].reference;
    let more = |builder: TransactionBuilder| {
        let signers = vec![public(1), public(3)];
        builder.command(cash_name().clone(), CashCommand::Move.to_bytes(), signers)
    };
    for (what, builder, code) in [
        ("cash of the issuer alone", exit(&net, &own, 100), REISSUE),
        ("cash of the issuer too", exit(&net, &both, 100), REISSUE),
        ("another amount", exit(&net, &theirs, 99), REISSUE),
        ("another token", exit(&net, &foreign, 50), REISSUE),
        ("another command", more(exit(&net, &theirs, 100)), REISSUE),
        (
            "a state read",
            exit(&net, &theirs, 100).reference(read),
            REISSUE,
        ),
        ("a payment", payment(&net, &theirs, 1, 100, 3), REISSUE),
    ] {
        let proposal = signed(&net, builder, &[3]);
        net.forger(3, vec![terms(100), proposal, no_proofs()], 1);
        in_vain(&mut net, what, ("cash.reissue", 3, 1), code);
    }
    // The same transaction without the fault.
    let good = signed(&net, exit(&net, &theirs, 100), &[3]);
    net.forger(3, vec![terms(100), good, no_proofs()], 1);
    assert_eq!(net.forge(3, "cash.reissue", 1), Ok(true));
    net.repent(3);
    at_rest(&mut net);
    assert_eq!(balances(&net), [0, 180, 0, 170]);
}

#[test]
fn a_holder_signs_nothing_but_the_redemption_of_its_papers() {
    let mut net = market();
    let pay = format!(
        r#"{{"currency":"GBP","payments":[{{"to":"{}","quantity":7}}]}}"#,
        name(2)
    );
    done(&mut net, 1, "cash.pay", &pay);
    done(&mut net, 1, "paper.issue", &paper(2).replace("100", "90"));
    done(&mut net, 1, "test.make_deed", "2");
    let held = all(&net, 2, paper_name().as_str());
    let held: Vec<StateAndRef> = held.iter().map(|held| state(&net, 2, *held)).collect();
    let face = |held: &StateAndRef| finance::paper::PaperState::from_bytes(&held.state.data);
    let of = |wanted: u64| {
        held.iter()
            .find(|held| face(held).is_ok_and(|p| p.face == wanted))
    };
    let (this, other) = (
        of(100).expect("held").clone(),
        of(90).expect("held").clone(),
    );
    let deed = one(&net, 2, "test.deed");
    net.now = MATURITY_MS;
    let (own, theirs) = (cash(&net, 1, 1), cash(&net, 2, 1));
    let redeem = |paying: TransactionBuilder| {
        let payment = cash_builder::Spending {
            builder: paying,
            owners: Vec::new(),
            change: 0,
        };
        papers::redeem(payment, &this)
            .expect("a redemption")
            .builder
    };
    let fair = |net: &Testnet| redeem(payment(net, &own, 2, 100, 1));
    let all_cash = [own.clone(), theirs.clone()].concat();
    let also_moved = |builder: TransactionBuilder| papers::transfer(builder, &other, public(1));
    let use_deed = |builder: TransactionBuilder| {
        let builder = builder
            .attachment(crate::testnet::deed_code(1))
            .input(&deed);
        builder.command(crate::testnet::deed_name(), vec![], vec![public(1)])
    };
    let early = TimeWindow::from(Timestamp::from_ms(MATURITY_MS - 1));
    for (what, builder, code) in [
        (
            "too little",
            redeem(payment(&net, &own, 2, 99, 1)),
            CONTRACT,
        ),
        (
            "to another",
            redeem(payment(&net, &own, 3, 100, 1)),
            CONTRACT,
        ),
        (
            "paid out of its own",
            redeem(payment(&net, &all_cash, 2, 106, 1)),
            CONTRACT,
        ),
        (
            "its own cash too",
            redeem(payment(&net, &all_cash, 2, 107, 1)),
            REDEMPTION,
        ),
        (
            "another paper too",
            also_moved(fair(&net)).expect("a move"),
            REDEMPTION,
        ),
        (
            "a deed that may count the cash",
            use_deed(fair(&net)),
            CONTRACT,
        ),
        ("cash that is bound", fair(&net).bind(&[0, 1]), CONTRACT),
        (
            "before it is mature",
            fair(&net).time_window(early),
            CONTRACT,
        ),
        (
            "a state read",
            fair(&net).reference(deed.reference),
            REDEMPTION,
        ),
        ("nothing of it", payment(&net, &own, 2, 100, 1), REDEMPTION),
    ] {
        let proposal = signed(&net, builder, &[1]);
        net.forger(1, vec![proposal], 1);
        in_vain(&mut net, what, ("paper.redeem", 1, 2), code);
    }
    let good = signed(&net, fair(&net), &[1]);
    net.forger(1, vec![good], 1);
    assert_eq!(net.forge(1, "paper.redeem", 2), Ok(true));
}

#[test]
fn a_party_signs_nothing_but_a_netting() {
    let mut net = market();
    done(&mut net, 2, "obligation.issue", &owe(3, 100));
    done(&mut net, 3, "obligation.issue", &owe(2, 30));
    let found = all(&net, 2, DEBT);
    let found: Vec<StateAndRef> = found.iter().map(|debt| state(&net, 2, *debt)).collect();
    let by = |obligor: usize| {
        let of = |debt: &StateAndRef| debts::open(debt).expect("an obligation").obligor.key;
        let debt = found.iter().find(|debt| of(debt) == public(obligor));
        debt.expect("it owes").clone()
    };
    let (owed, claim) = (by(2), by(3));
    let open = |debt: &StateAndRef| debts::open(debt).expect("an obligation");
    let less = |debt: &StateAndRef, by: u64| {
        let before = open(debt);
        let quantity = before.quantity - by;
        (quantity > 0).then_some(ObligationState { quantity, ..before })
    };
    let new = |net: &Testnet| TransactionBuilder::new(notary(net));
    let both = vec![public(2), public(3)];
    let ids = vec![open(&owed).id, open(&claim).id];
    let netting = |builder: TransactionBuilder, of_owed: u64, of_claim: u64| {
        let builder = debts::change(builder, &owed, less(&owed, of_owed).as_ref());
        let builder = debts::change(builder, &claim, less(&claim, of_claim).as_ref());
        debts::command(builder, &ObligationCommand::Net(ids.clone()), both.clone())
    };
    let coins = cash(&net, 3, 1);
    let moved = {
        let mut after = open(&claim);
        after.obligee = public(1);
        let builder = debts::change(new(&net), &claim, Some(&after));
        let command = ObligationCommand::Move(vec![after.id]);
        debts::command(builder, &command, vec![public(2)])
    };
    let forgiven = {
        let builder = debts::change(new(&net), &claim, None);
        let command = ObligationCommand::Exit(vec![open(&claim).id]);
        debts::command(builder, &command, vec![public(2)])
    };
    let made = {
        let id = primitives::Hash::plain(b"another");
        let debt = ObligationState { id, ..open(&owed) };
        let builder = debts::make(netting(new(&net), 30, 30), &debt);
        debts::command(
            builder,
            &ObligationCommand::Issue(vec![id]),
            vec![public(2)],
        )
    };
    let bound = netting(payment(&net, &coins, 2, 20, 3), 30, 30);
    for (what, builder, code) in [
        ("its claim", moved, NETTING),
        ("its claim for nothing", forgiven, NETTING),
        ("another debt too", made, NETTING),
        ("less of what it owes", netting(new(&net), 29, 30), CONTRACT),
        ("states that are bound", bound.bind(&[0, 2]), NETTING),
        (
            "a state read",
            netting(new(&net), 30, 30).reference(coins[0].reference),
            NETTING,
        ),
        ("nothing of it", payment(&net, &coins, 2, 20, 3), NETTING),
    ] {
        let proposal = signed(&net, builder, &[3]);
        net.forger(3, vec![vec![0x80], proposal], 2);
        in_vain(&mut net, what, ("obligation.net", 3, 2), code);
        assert_eq!(all(&net, 2, DEBT).len(), 2, "{what}");
    }
    let good = signed(&net, netting(new(&net), 30, 30), &[3]);
    net.forger(3, vec![vec![0x80], good], 2);
    assert_eq!(net.forge(3, "obligation.net", 2), Ok(true));
}

/// Builds a market: node 3 bids 95 for a paper of node 2. Node 2 has a second paper with the same terms, an obligation of node 3
/// for 10, and a deed with node 3.
fn fair() -> Testnet {
    let mut net = market();
    done(&mut net, 1, "paper.issue", &paper(2));
    done(&mut net, 3, "trade.bid", &bid(2, 95));
    done(&mut net, 3, "test.make_deed", "2");
    done(
        &mut net,
        3,
        "cash.issue",
        r#"{"currency":"GBP","quantity":500}"#,
    );
    let pay = format!(
        r#"{{"currency":"GBP","payments":[{{"to":"{}","quantity":7}}]}}"#,
        name(2)
    );
    done(&mut net, 1, "cash.pay", &pay);
    net
}

#[test]
fn a_seller_gives_nothing_but_the_asset_and_only_for_the_price() {
    let mut net = fair();
    let papers_held = all(&net, 2, paper_name().as_str());
    let [this, other] = papers_held.as_slice() else {
        panic!("two papers");
    };
    let (this, other) = (state(&net, 2, *this), state(&net, 2, *other));
    let (placed, deed) = (one(&net, 3, "tally.bid"), one(&net, 2, "test.deed"));
    let coins = cash(&net, 3, 1);
    let all_coins = [coins.clone(), cash(&net, 2, 1)].concat();
    let buy = |builder: TransactionBuilder| {
        let close = BidCommand::Close.to_bytes();
        builder.attachment(bid_code().0).input(&placed).command(
            bid_name().clone(),
            close,
            vec![public(3)],
        )
    };
    let take = |builder: TransactionBuilder| {
        papers::transfer(builder, &this, public(3)).expect("a transfer")
    };
    let fair = |net: &Testnet| take(buy(payment(net, &coins, 2, 90, 3)));
    let and_other = |builder: TransactionBuilder| {
        let mut paper = finance::paper::PaperState::from_bytes(&other.state.data).expect("one");
        paper.owner = public(3);
        let constraint = other.state.constraint.clone();
        builder
            .input(&other)
            .output_data(paper_name().clone(), constraint, paper.to_bytes())
    };
    let use_deed = |builder: TransactionBuilder| {
        let builder = builder
            .attachment(crate::testnet::deed_code(1))
            .input(&deed);
        builder.command(crate::testnet::deed_name(), vec![], vec![public(3)])
    };
    let twice = |builder: TransactionBuilder| {
        let code = &deed.state.constraint;
        builder.output_data(crate::testnet::deed_name(), code.clone(), vec![1, 2, 3])
    };
    let late = TimeWindow::from(Timestamp::from_ms(MATURITY_MS));
    let foreign = payment(&net, &cash(&net, 3, 3), 2, 90, 3);
    for (what, builder, code) in [
        (
            "too little",
            take(buy(payment(&net, &coins, 2, 89, 3))),
            TRADE,
        ),
        (
            "paid to another",
            take(buy(payment(&net, &coins, 1, 90, 3))),
            TRADE,
        ),
        ("paid in other cash", take(buy(foreign)), TRADE),
        (
            "paid out of its own",
            take(buy(payment(&net, &all_coins, 2, 90, 3))),
            TRADE,
        ),
        ("not the asset", buy(payment(&net, &coins, 2, 90, 3)), TRADE),
        ("a second asset", and_other(fair(&net)), TRADE),
        (
            "a deed that may count the cash",
            use_deed(fair(&net)),
            TRADE,
        ),
        ("a deed anew", twice(use_deed(fair(&net))), TRADE),
        ("cash that is bound", fair(&net).bind(&[0, 1]), TRADE),
        ("a state read", fair(&net).reference(deed.reference), TRADE),
        (
            "at another time",
            fair(&net).time_window(late),
            "notary.time_window_invalid",
        ),
    ] {
        let proposal = signed(&net, builder, &[3]);
        net.forger(3, vec![proposal], 1);
        let before = balances(&net);
        let sale = sell(this.reference, placed.reference, 90);
        let sold = net.start(2, "trade.sell", &sale, None);
        net.settle();
        assert_eq!(net.ended(sold), Err(code.to_owned()), "{what}");
        at_rest(&mut net);
        assert_eq!(balances(&net), before, "{what}");
    }
}

/// Encodes a seller's message to the buyer.
pub fn offer(bid: StateRef, reference: StateRef, state: &TransactionState, price: u64) -> Vec<u8> {
    let mut e = Encoder::new();
    e.array(4);
    bid.encode(&mut e);
    reference.encode(&mut e);
    state.encode(&mut e);
    e.u64(price);
    e.into_bytes()
}

#[test]
fn a_buyer_locks_and_pays_nothing_for_an_offer_that_lies() {
    let mut net = fair();
    let this = state(&net, 2, all(&net, 2, paper_name().as_str())[0]);
    let placed = only(&net, 3, "tally.bid");
    let coin = cash(&net, 3, 1)[0].reference;
    let nowhere = StateRef::new(TxId::from_array([7; 32]), 0);
    let theirs = cash(&net, 2, 1)[0].reference;
    let (good, at) = (&this.state, this.reference);
    let mut elsewhere = good.clone();
    elsewhere.notary = net.nodes[1].party.clone();
    for (what, by, said, code) in [
        (
            "another seller",
            1,
            offer(placed, at, good, 90),
            "trade.no_bid",
        ),
        ("no bid", 2, offer(coin, at, good, 90), "trade.no_bid"),
        (
            "nowhere",
            2,
            offer(nowhere, at, good, 90),
            "node.unknown_state",
        ),
        (
            "a price over the bid",
            2,
            offer(placed, at, good, 96),
            "trade.price_over_bid",
        ),
        (
            "no price",
            2,
            offer(placed, at, good, 0),
            "trade.price_over_bid",
        ),
        (
            "another notary",
            2,
            offer(placed, at, &elsewhere, 90),
            "trade.bid_differs",
        ),
        (
            "another state",
            2,
            offer(placed, theirs, good, 90),
            CONTRACT,
        ),
        (
            "a state from nowhere",
            2,
            offer(placed, nowhere, good, 90),
            "tx.dependency_unavailable",
        ),
        ("garbage", 2, vec![0x80], "flow.message_malformed"),
    ] {
        net.forger(by, vec![said], 1);
        in_vain(&mut net, what, ("trade.sell", by, 3), code);
        net.repent(by);
    }
    done(&mut net, 2, "trade.sell", &sell(at, placed, 90));
}
