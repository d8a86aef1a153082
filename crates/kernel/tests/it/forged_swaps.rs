//! A dishonest coordinator proposes a little more than was agreed, or a little less, and no party signs it.

use finance::stock::builder::stock_code;
use finance::stock::{StockCommand, StockState, StockToken, stock_name};
use finance::swap::{Mandate, MandateCommand, Market, Side, mandate_code, mandate_name};
use finance::{CashCommand, CashState, IssuedToken, Reference, cash_builder, cash_name};
use ledger::{SignedTransaction, StateAndRef, TimeWindow, TransactionBuilder};
use primitives::{Encode, Encoder, PublicKey, Timestamp};

use crate::settlement::{MANDATE, holds, market};
use crate::testnet::{Testnet, key};
use crate::trades::{at_rest, done, name};

const DIFFERS: &str = "swap.proposal_differs";
/// The coordinator, which is also the seller.
const FORGER: usize = 3;
/// The buyer: 10 units for 100, out of a coin of 1000.
const BUYER: usize = 4;

fn public(node: usize) -> PublicKey {
    key(node).public().clone()
}

fn cash(net: &Testnet) -> IssuedToken {
    IssuedToken {
        issuer: net.nodes[1].party.clone(),
        reference: Reference::default(),
        currency: "GBP".parse().expect("a currency"),
    }
}

fn stock(net: &Testnet, symbol: &str) -> StockToken {
    StockToken {
        issuer: net.nodes[2].party.clone(),
        symbol: symbol.parse().expect("a symbol"),
    }
}

/// Returns the state with which a node holds `quantity` of `symbol`.
fn held(net: &Testnet, node: usize, symbol: &str, quantity: u64) -> StateAndRef {
    let mut view = net.nodes[node].view.values();
    let found = view.find(|produced| {
        let facts = produced.facts.fungible.as_ref();
        facts.is_some_and(|held| held.symbol == symbol && held.quantity == quantity)
    });
    found.expect("held").state.clone()
}

/// A proposal in the making.
struct Proposal<'a> {
    net: &'a Testnet,
    builder: TransactionBuilder,
}

impl<'a> Proposal<'a> {
    fn new(net: &'a Testnet, inputs: &[&StateAndRef]) -> Self {
        let builder = TransactionBuilder::new(net.nodes[0].party.clone())
            .attachment(cash_builder::cash_code().0)
            .attachment(stock_code().0)
            .inputs(inputs.iter().copied());
        Self { net, builder }
    }

    fn pays(mut self, to: usize, quantity: u64) -> Self {
        let (token, owner) = (cash(self.net), public(to));
        let state = CashState {
            token,
            quantity,
            owner,
        };
        let constraint = cash_builder::cash_code().1.clone();
        let data = state.to_bytes();
        self.builder = self
            .builder
            .output_data(cash_name().clone(), constraint, data);
        self
    }

    fn gives(mut self, to: usize, quantity: u64) -> Self {
        let (token, owner) = (stock(self.net, "TLY"), public(to));
        let state = StockState {
            token,
            quantity,
            owner,
        };
        let constraint = stock_code().1.clone();
        let data = state.to_bytes();
        self.builder = self
            .builder
            .output_data(stock_name().clone(), constraint, data);
        self
    }

    /// Moves both sides: the cash by the buyer, and the stock by these nodes. The window ends after `within_ms`.
    fn moved(mut self, stock_by: &[usize], within_ms: Option<u64>) -> TransactionBuilder {
        let value = CashCommand::Move.to_bytes();
        let cash_by = vec![public(BUYER)];
        self.builder = self.builder.command(cash_name().clone(), value, cash_by);
        if !stock_by.is_empty() {
            let value = StockCommand::Move.to_bytes();
            let by = stock_by.iter().map(|node| public(*node)).collect();
            self.builder = self.builder.command(stock_name().clone(), value, by);
        }
        match within_ms {
            Some(ms) => {
                let until = Timestamp::from_ms(self.net.now + ms);
                self.builder.time_window(TimeWindow::until(until))
            }
            None => self.builder,
        }
    }
}

/// Encodes the coordinator's request to the buyer: this coin for 10 units, without dependencies.
fn leg(net: &Testnet, coin: &StateAndRef) -> Vec<u8> {
    let mut e = Encoder::new();
    e.array(8);
    Market {
        side: Side::Buy,
        cash: cash(net),
        stock: stock(net, "TLY"),
    }
    .encode(&mut e);
    e.u64(10);
    e.u64(100);
    net.nodes[0].party.encode(&mut e);
    vec![coin.reference].encode(&mut e);
    e.bool(false);
    e.u64(1_000);
    e.array(1);
    e.u64(1);
    e.into_bytes()
}

fn proposed(net: &Testnet, builder: TransactionBuilder) -> Vec<u8> {
    let mut signed = SignedTransaction::new(net.built(builder), []);
    if signed.missing_parties().contains(&public(FORGER)) {
        signed = signed.signed_by(&key(FORGER));
    }
    let mut e = Encoder::new();
    e.array(2);
    e.u64(1);
    signed.encode(&mut e);
    e.into_bytes()
}

/// Builds a test network in which the buyer has another coin and stock of its own, and the coordinator has stock and cash.
fn fair() -> Testnet {
    let mut net = market(1);
    for (flow, issuer, what, quantity, to) in [
        ("cash.issue", 1, r#""currency":"GBP""#, 500, BUYER),
        ("stock.issue", 2, r#""symbol":"TLY""#, 7, BUYER),
        ("stock.issue", 2, r#""symbol":"TLY""#, 60, FORGER),
    ] {
        let to = name(to as u64);
        let args = format!(r#"{{{what},"quantity":{quantity},"recipient":"{to}"}}"#);
        done(&mut net, issuer, flow, &args);
    }
    net
}

#[test]
fn a_buyer_signs_nothing_but_the_swap_that_it_agreed_to() {
    let mut net = fair();
    let coin = held(&net, BUYER, "GBP", 1_000);
    let other = held(&net, BUYER, "GBP", 500);
    let own_stock = held(&net, BUYER, "TLY", 7);
    let sold = held(&net, FORGER, "TLY", 60);
    let soon = Some(60_000);
    let both = [&coin, &sold];
    let fair = |net: &Testnet| -> TransactionBuilder {
        let swap = Proposal::new(net, &both);
        let swap = swap.pays(FORGER, 100).gives(BUYER, 10);
        swap.pays(BUYER, 900)
            .gives(FORGER, 50)
            .moved(&[FORGER], soon)
    };
    let issued = |net: &Testnet| {
        let token = stock(net, "TLY");
        let token = StockToken {
            issuer: net.nodes[FORGER].party.clone(),
            ..token
        };
        let state = StockState {
            token: token.clone(),
            quantity: 5,
            owner: public(FORGER),
        };
        let (token, quantity) = (token.id(), 5);
        let value = StockCommand::Issue { token, quantity }.to_bytes();
        let constraint = stock_code().1.clone();
        let builder = fair(net).output_data(stock_name().clone(), constraint, state.to_bytes());
        builder.command(stock_name().clone(), value, vec![public(FORGER)])
    };
    let mandated = |net: &Testnet| {
        let mandate = Mandate {
            owner: net.nodes[FORGER].party.clone(),
            coordinator: net.nodes[1].party.clone(),
            market: Market {
                side: Side::Buy,
                cash: cash(net),
                stock: stock(net, "TLY"),
            },
            price: 1,
            quantity_max: 1,
            until: None,
        };
        let (code, constraint) = mandate_code();
        let builder = fair(net).attachment(*code);
        let data = mandate.to_bytes();
        let builder = builder.output_data(mandate_name().clone(), constraint.clone(), data);
        let value = MandateCommand::Give.to_bytes();
        builder.command(mandate_name().clone(), value, vec![public(FORGER)])
    };
    type Case<'a> = (&'a str, TransactionBuilder, &'a str);
    let cases: Vec<Case<'_>> = {
        let net = &net;
        let of = |inputs: &[&StateAndRef]| Proposal::new(net, inputs);
        vec![
            (
                "another coin too",
                of(&[&coin, &other, &sold])
                    .pays(FORGER, 100)
                    .gives(BUYER, 10)
                    .pays(BUYER, 900)
                    .pays(BUYER, 500)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], soon),
                DIFFERS,
            ),
            (
                "another coin that the forger takes",
                of(&[&coin, &other, &sold])
                    .pays(FORGER, 600)
                    .gives(BUYER, 10)
                    .pays(BUYER, 900)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], soon),
                DIFFERS,
            ),
            (
                "another coin instead",
                of(&[&other, &sold])
                    .pays(FORGER, 100)
                    .gives(BUYER, 10)
                    .pays(BUYER, 400)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], soon),
                DIFFERS,
            ),
            (
                "less stock",
                of(&both)
                    .pays(FORGER, 100)
                    .gives(BUYER, 9)
                    .pays(BUYER, 900)
                    .gives(FORGER, 51)
                    .moved(&[FORGER], soon),
                DIFFERS,
            ),
            (
                "less change",
                of(&both)
                    .pays(FORGER, 101)
                    .gives(BUYER, 10)
                    .pays(BUYER, 899)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], soon),
                DIFFERS,
            ),
            (
                "change in pieces",
                of(&both)
                    .pays(FORGER, 100)
                    .gives(BUYER, 10)
                    .pays(BUYER, 899)
                    .pays(BUYER, 1)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], soon),
                DIFFERS,
            ),
            (
                "stock in pieces",
                of(&both)
                    .pays(FORGER, 100)
                    .gives(BUYER, 5)
                    .gives(BUYER, 5)
                    .pays(BUYER, 900)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], soon),
                DIFFERS,
            ),
            (
                "the buyer's own stock",
                of(&[&coin, &sold, &own_stock])
                    .pays(FORGER, 100)
                    .gives(BUYER, 10)
                    .pays(BUYER, 900)
                    .gives(FORGER, 57)
                    .moved(&[FORGER, BUYER], soon),
                DIFFERS,
            ),
            (
                "the buyer's own stock back",
                of(&[&coin, &own_stock])
                    .pays(FORGER, 100)
                    .gives(BUYER, 7)
                    .pays(BUYER, 900)
                    .moved(&[BUYER], soon),
                DIFFERS,
            ),
            (
                "no stock",
                of(&[&coin])
                    .pays(FORGER, 100)
                    .pays(BUYER, 900)
                    .moved(&[], soon),
                DIFFERS,
            ),
            (
                "for ever",
                of(&both)
                    .pays(FORGER, 100)
                    .gives(BUYER, 10)
                    .pays(BUYER, 900)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], None),
                DIFFERS,
            ),
            (
                "for too long",
                of(&both)
                    .pays(FORGER, 100)
                    .gives(BUYER, 10)
                    .pays(BUYER, 900)
                    .gives(FORGER, 50)
                    .moved(&[FORGER], Some(700_000)),
                DIFFERS,
            ),
            ("states that are bound", fair(net).bind(&[1, 3]), DIFFERS),
            (
                "a state read",
                fair(net).reference(other.reference),
                DIFFERS,
            ),
            ("an issue beside it", issued(net), DIFFERS),
            ("a mandate beside it", mandated(net), DIFFERS),
            (
                "more than there is",
                of(&both)
                    .pays(FORGER, 100)
                    .gives(BUYER, 10)
                    .pays(BUYER, 900)
                    .gives(FORGER, 51)
                    .moved(&[FORGER], soon),
                "tx.contract_rejected",
            ),
        ]
    };
    let good = fair(&net);
    for (what, builder, code) in cases {
        let said = vec![leg(&net, &coin), proposed(&net, builder)];
        net.forger(FORGER, said, 2);
        let ended = net.forge(FORGER, "swap.run", BUYER);
        assert_eq!(ended, Err(code.to_owned()), "{what}: {:#?}", net.logs);
        at_rest(&mut net);
        assert_eq!(holds(&net, BUYER, "GBP"), [500, 1_000], "{what}");
        assert_eq!(holds(&net, BUYER, "TLY"), [7], "{what}");
    }
    // The same transaction without the fault.
    let said = vec![leg(&net, &coin), proposed(&net, good)];
    net.forger(FORGER, said, 2);
    assert_eq!(net.forge(FORGER, "swap.run", BUYER), Ok(true));
    assert_eq!(crate::trades::all(&net, BUYER, MANDATE).len(), 1);
}

#[test]
fn a_stranger_locks_nothing_and_learns_nothing() {
    let mut net = fair();
    let coin = held(&net, BUYER, "GBP", 1_000);
    let said = vec![leg(&net, &coin)];
    net.forger(1, said, 1);
    let ended = net.forge(1, "swap.run", BUYER);
    assert_eq!(ended, Err("swap.no_mandate".to_owned()));
    net.repent(1);
    at_rest(&mut net);
    let pay = format!(
        r#"{{"currency":"GBP","issuer":"{}","payments":[{{"to":"{}","quantity":1500}}]}}"#,
        name(1),
        name(1)
    );
    done(&mut net, BUYER, "cash.pay", &pay);
}
