//! Real processes: an exchange settles swaps of cash for stock among four banks in one transaction. A bank that dies in the
//! middle and returns delays the swap. A bank without a mandate, or with too little, makes it fail and changes no balance.

use api::{FlowStatus, StartFlow, Wait};
use client::Client;
use perf::topology::{Network, Who};
use serde_json::{Value, json};

use crate::stage;

/// The exchange, which also issues the cash and the stock, and the banks: buyers and sellers in turn.
const EXCHANGE: Who = Who::Bank(0);
/// How long the test waits for a swap that can't end, in milliseconds.
const LOOK_MS: u64 = 300;

/// A start that is to be delivered; its result.
async fn run(client: &Client, flow: &str, arguments: &Value) -> Value {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let outcome = stage::completes(client, start, Wait::Delivered).await;
    let result = outcome.result.expect("a result");
    serde_json::from_str(result.get()).expect("JSON")
}

/// A start that is refused; the code.
async fn refused(client: &Client, flow: &str, arguments: &Value) -> String {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let start = start.wait(Wait::Delivered).timeout_ms(60_000);
    let refused = client.start(&start).await.expect_err("it fails");
    assert!(refused.failed_flow().is_some(), "{arguments}: {refused}");
    refused.code().to_owned()
}

/// A market: its network, the names of its banks, and its exchange.
struct Market {
    network: Network,
    names: Vec<String>,
    exchange: Client,
    cash: Value,
    stock: Value,
}

impl Market {
    /// Buyers with 1000 of cash, sellers with 100 of stock, and mandates: 12 for a unit at most, 9 at least, 50 units at a time.
    async fn open(banks: usize) -> Self {
        let names: Vec<String> = (0..=banks).map(|bank| format!("N{bank}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let network = stage::network(&names);
        let names: Vec<String> = (0..=banks)
            .map(|bank| network.name(Who::Bank(bank)).to_owned())
            .collect();
        let exchange = stage::client(&network, EXCHANGE);
        let cash = json!({ "currency": "GBP", "issuer": names[0] });
        let stock = json!({ "symbol": "TLY", "issuer": names[0] });
        for bank in 1..=banks {
            let (to, client) = (&names[bank], stage::client(&network, Who::Bank(bank)));
            let (side, price) = if bank % 2 == 1 {
                ("buy", 12)
            } else {
                ("sell", 9)
            };
            let issue = match side {
                "buy" => json!({ "currency": "GBP", "quantity": 1_000, "recipient": to }),
                _ => json!({ "symbol": "TLY", "quantity": 100, "recipient": to }),
            };
            let flow = if side == "buy" {
                "cash.issue"
            } else {
                "stock.issue"
            };
            run(&exchange, flow, &issue).await;
            let mandate = json!({
                "coordinator": names[0], "side": side, "cash": cash, "stock": stock,
                "price": price, "quantity_max": 50,
            });
            run(&client, "swap.mandate", &mandate).await;
        }
        Self {
            network,
            names,
            exchange,
            cash,
            stock,
        }
    }

    /// Returns the arguments of a swap: each buyer pays `price` for `quantity` units.
    fn swap(&self, banks: &[usize], quantity: u64, price: u64) -> Value {
        let pair = |pair: &[usize]| {
            json!({
                "buyer": self.names[pair[0]], "seller": self.names[pair[1]],
                "cash": self.cash, "price": price, "stock": self.stock, "quantity": quantity,
            })
        };
        let pairs: Vec<Value> = banks.chunks(2).map(pair).collect();
        json!({ "pairs": pairs })
    }

    /// Waits until a bank holds these quantities of cash and stock.
    async fn holds(&self, bank: usize, cash: u128, stock: u128) {
        let client = stage::client(&self.network, Who::Bank(bank));
        stage::eventually(&format!("bank {bank} has {cash} and {stock}"), async || {
            let cash_held = stage::holds(&client, "GBP").await.ok()?;
            let stock_held = stage::holds(&client, "TLY").await.ok()?;
            ((cash_held, stock_held) == (cash, stock)).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_banks_swap_in_one_transaction_or_not_at_all() {
    let mut market = Market::open(4).await;
    let all = [1, 2, 3, 4];

    // All at once, and the states come back named.
    let done = run(&market.exchange, "swap.run", &market.swap(&all, 10, 100)).await;
    assert_eq!(done["pairs"].as_array().map(Vec::len), Some(2));
    for (bank, cash, stock) in [(1, 900, 10), (2, 100, 90), (3, 900, 10), (4, 100, 90)] {
        market.holds(bank, cash, stock).await;
    }
    // With the states of the swap before, as a client would that keeps track of them, one party after the other.
    let mut tracked = market.swap(&all, 5, 50);
    for (pair, before) in done["pairs"].as_array().expect("pairs").iter().enumerate() {
        tracked["pairs"][pair]["cash_states"] = json!([before["cash_change"]]);
        tracked["pairs"][pair]["stock_states"] = json!([before["stock_change"]]);
    }
    tracked["sessions"] = json!("sequential");
    tracked["resolution"] = json!("single");
    run(&market.exchange, "swap.run", &tracked).await;
    for (bank, cash, stock) in [(1, 850, 15), (2, 150, 85), (3, 850, 15), (4, 150, 85)] {
        market.holds(bank, cash, stock).await;
    }
    let again = refused(&market.exchange, "swap.run", &tracked).await;
    assert_eq!(again, "vault.state_consumed");

    // If one party refuses, or lacks the assets, the whole swap fails.
    let dear = refused(&market.exchange, "swap.run", &market.swap(&all, 10, 121)).await;
    assert_eq!(dear, "swap.over_mandate");
    let bank = stage::client(&market.network, Who::Bank(1));
    let stranger = refused(&bank, "swap.run", &market.swap(&all, 10, 100)).await;
    assert_eq!(stranger, "swap.no_mandate");
    let seller = stage::client(&market.network, Who::Bank(4));
    let away = json!({
        "symbol": "TLY", "issuer": market.names[0], "quantity": 80, "to": market.names[0],
    });
    run(&seller, "stock.transfer", &away).await;
    let short = refused(&market.exchange, "swap.run", &market.swap(&all, 10, 100)).await;
    assert_eq!(short, "vault.insufficient_funds");
    for (bank, cash, stock) in [(1, 850, 15), (2, 150, 85), (3, 850, 15), (4, 150, 5)] {
        market.holds(bank, cash, stock).await;
    }

    // A bank dies; a swap waits for it and settles when the bank is back. Meanwhile no other flow can use the locked states.
    for at_first in [true, false] {
        if at_first {
            market.network.kill(Who::Bank(3));
        }
        let start = StartFlow::new("swap.run", &market.swap(&all, 1, 10)).expect("JSON");
        let start = start.wait(Wait::None).timeout_ms(60_000);
        let accepted = market.exchange.start(&start).await.expect("accepted");
        if !at_first {
            market.network.kill(Who::Bank(3));
        }
        let flow = accepted.flow_id;
        if at_first {
            let looked = market.exchange.flow(&flow, Wait::Delivered, Some(LOOK_MS));
            let status = looked.await.expect("known").status;
            assert_eq!(status, FlowStatus::Running, "bank 3 is away");
        }
        market = tokio::task::spawn_blocking(move || {
            let started = market.network.start(Who::Bank(3));
            started.unwrap_or_else(|error| panic!("{error}"));
            market
        })
        .await
        .expect("it comes back");
        let ended = market.exchange.flow(&flow, Wait::Delivered, Some(60_000));
        let ended = ended.await.expect("known");
        assert_eq!(ended.status, FlowStatus::Delivered, "{ended:?}");
    }
    for (bank, cash, stock) in [(1, 830, 17), (2, 170, 83), (3, 830, 17), (4, 170, 3)] {
        market.holds(bank, cash, stock).await;
    }
}
