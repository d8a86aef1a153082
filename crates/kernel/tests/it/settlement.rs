//! Swaps of cash for stock among several kernels: the transfers, the mandates that allow them, refusals, absences and restarts.

use ledger::StateRef;

use crate::testnet::{Crash, Last, Testnet};
use crate::trades::{all, at_rest, done, json, name, only, persist, refused};

/// The coordinator; node 1 issues the cash, node 2 the stock.
const EXCHANGE: usize = 3;
pub const MANDATE: &str = "tally.mandate";

/// Returns the nodes of buyers and sellers: 4 and 5, 6 and 7, and so on.
fn parties(pairs: usize) -> Vec<(usize, usize)> {
    (0..pairs)
        .map(|pair| (4 + 2 * pair, 5 + 2 * pair))
        .collect()
}

pub fn mandate(side: &str, price: u64, quantity_max: u64) -> String {
    format!(
        r#"{{"coordinator":"{}","side":"{side}","cash":{},"stock":{},"price":{price},"quantity_max":{quantity_max}}}"#,
        name(EXCHANGE as u64),
        cash(),
        stock()
    )
}

fn cash() -> String {
    format!(r#"{{"currency":"GBP","issuer":"{}"}}"#, name(1))
}

fn stock() -> String {
    format!(r#"{{"symbol":"TLY","issuer":"{}"}}"#, name(2))
}

/// Returns the arguments of a swap of `quantity` stock at `price` in each pair, with `more` arguments.
pub fn swap(pairs: &[(usize, usize)], quantity: u64, price: u64, more: &str) -> String {
    let pair = |(buyer, seller): &(usize, usize)| {
        format!(
            r#"{{"buyer":"{}","seller":"{}","cash":{},"price":{price},"stock":{},"quantity":{quantity}}}"#,
            name(*buyer as u64),
            name(*seller as u64),
            cash(),
            stock()
        )
    };
    let pairs: Vec<String> = pairs.iter().map(pair).collect();
    format!(r#"{{"pairs":[{}]{more}}}"#, pairs.join(","))
}

/// Returns the quantities of a symbol that a node holds, sorted.
pub fn holds(net: &Testnet, node: usize, symbol: &str) -> Vec<u64> {
    let view = net.nodes[node].view.values();
    let of = view.filter_map(|produced| produced.facts.fungible.as_ref());
    let mut held: Vec<u64> = of
        .filter(|fungible| fungible.symbol == symbol)
        .map(|fungible| fungible.quantity)
        .collect();
    held.sort_unstable();
    held
}

/// Builds a market of `pairs` pairs. Each buyer has 1000 of cash, each seller 100 of stock. Mandates allow up to 12 for a unit,
/// and 50 units at a time.
pub fn market(pairs: usize) -> Testnet {
    let others = u8::try_from(EXCHANGE + 2 * pairs).expect("few");
    let mut net = Testnet::new(others);
    for (buyer, seller) in parties(pairs) {
        let issue = format!(
            r#"{{"currency":"GBP","quantity":1000,"recipient":"{}"}}"#,
            name(buyer as u64)
        );
        done(&mut net, 1, "cash.issue", &issue);
        let issue = format!(
            r#"{{"symbol":"TLY","quantity":100,"recipient":"{}"}}"#,
            name(seller as u64)
        );
        done(&mut net, 2, "stock.issue", &issue);
        done(&mut net, buyer, "swap.mandate", &mandate("buy", 12, 50));
        done(&mut net, seller, "swap.mandate", &mandate("sell", 9, 50));
    }
    net
}

#[track_caller]
fn swapped(net: &Testnet, pairs: &[(usize, usize)]) {
    for (buyer, seller) in pairs {
        assert_eq!(holds(net, *buyer, "GBP"), [900], "buyer {buyer}");
        assert_eq!(holds(net, *buyer, "TLY"), [10], "buyer {buyer}");
        assert_eq!(holds(net, *seller, "GBP"), [100], "seller {seller}");
        assert_eq!(holds(net, *seller, "TLY"), [90], "seller {seller}");
    }
}

#[test]
fn all_pairs_swap_at_once_in_every_way_of_asking() {
    for pairs in [1, 2, 5] {
        for more in [
            "",
            r#","sessions":"sequential""#,
            r#","resolution":"single""#,
            r#","sessions":"sequential","resolution":"single""#,
            r#","anonymous":true"#,
            r#","anonymous":true,"sessions":"sequential","resolution":"single""#,
        ] {
            let mut net = market(pairs);
            let pairs = parties(pairs);
            let before = net.nodes[0].disk.count(kernel::port::Table::NotaryTxs);
            done(&mut net, EXCHANGE, "swap.run", &swap(&pairs, 10, 100, more));
            at_rest(&mut net);
            swapped(&net, &pairs);
            let after = net.nodes[0].disk.count(kernel::port::Table::NotaryTxs);
            assert_eq!(after, before + 1, "one transaction");
            // Assets received by fresh keys can be swapped like others.
            let (buyer, seller) = pairs[0];
            let back = swap(&[(buyer, seller)], 10, 100, "");
            done(&mut net, EXCHANGE, "swap.run", &back);
            assert_eq!(holds(&net, buyer, "TLY"), [10, 10], "{more}");
            let pay = format!(
                r#"{{"currency":"GBP","issuer":"{}","payments":[{{"to":"{}","quantity":200}}]}}"#,
                name(1),
                name(1)
            );
            done(&mut net, seller, "cash.pay", &pay);
            at_rest(&mut net);
        }
    }
}

#[test]
fn the_coordinator_may_be_a_party_and_needs_no_mandate_for_itself() {
    for (pair, role) in [((EXCHANGE, 5), "buyer"), ((4, EXCHANGE), "seller")] {
        let mut net = market(1);
        let exchange = name(EXCHANGE as u64);
        let cash = format!(r#"{{"currency":"GBP","quantity":1000,"recipient":"{exchange}"}}"#);
        done(&mut net, 1, "cash.issue", &cash);
        let stock = format!(r#"{{"symbol":"TLY","quantity":100,"recipient":"{exchange}"}}"#);
        done(&mut net, 2, "stock.issue", &stock);
        let anonymous = r#","anonymous":true"#;
        done(
            &mut net,
            EXCHANGE,
            "swap.run",
            &swap(&[pair], 10, 100, anonymous),
        );
        at_rest(&mut net);
        let held = |node| (holds(&net, node, "GBP"), holds(&net, node, "TLY"));
        match role {
            "buyer" => assert_eq!(held(EXCHANGE), (vec![900], vec![10, 100])),
            _ => assert_eq!(held(EXCHANGE), (vec![100, 1000], vec![90])),
        }
    }
}

#[test]
fn states_named_are_used_and_no_others() {
    let mut net = market(1);
    let issue = format!(
        r#"{{"currency":"GBP","quantity":100,"recipient":"{}"}}"#,
        name(4)
    );
    done(&mut net, 1, "cash.issue", &issue);
    let exact = |net: &Testnet, quantity: u64| {
        let mut view = net.nodes[4].view.iter();
        let found = view.find(|(_, p)| {
            p.facts
                .fungible
                .as_ref()
                .is_some_and(|f| f.quantity == quantity)
        });
        *found.expect("held").0
    };
    let (hundred, thousand) = (exact(&net, 100), exact(&net, 1000));
    let stock = all(&net, 5, "tally.stock")[0];
    let with = |cash: &[StateRef], stock: &[StateRef]| {
        let list = |states: &[StateRef]| {
            let states: Vec<String> = states.iter().map(|state| json(*state)).collect();
            states.join(",")
        };
        let states = format!(
            r#""cash_states":[{}],"stock_states":[{}],"cash""#,
            list(cash),
            list(stock)
        );
        swap(&[(4, 5)], 10, 100, "").replacen(r#""cash""#, &states, 1)
    };
    for (args, code) in [
        (with(&[stock], &[]), "node.unknown_state"),
        (with(&[], &[hundred]), "node.unknown_state"),
        (with(&[hundred, hundred], &[]), "swap.states"),
        (
            with(&[], &[StateRef::new(stock.tx, 9)]),
            "node.unknown_state",
        ),
    ] {
        refused(&mut net, EXCHANGE, "swap.run", &args, code);
    }
    // Another's state, which this one has seen.
    let pay = format!(
        r#"{{"currency":"GBP","issuer":"{}","payments":[{{"to":"{}","quantity":1000}}]}}"#,
        name(1),
        name(5)
    );
    done(&mut net, 4, "cash.pay", &pay);
    let args = with(&[], &[all(&net, 5, "tally.cash")[0]]);
    refused(
        &mut net,
        EXCHANGE,
        "swap.run",
        &args,
        "swap.state_not_given",
    );
    let paid = only(&net, 4, "tally.cash");
    let theirs = all(&net, 5, "tally.cash")[0];
    let args = with(&[theirs], &[stock]);
    refused(
        &mut net,
        EXCHANGE,
        "swap.run",
        &args,
        "swap.state_not_given",
    );
    let args = with(&[thousand], &[stock]);
    refused(
        &mut net,
        EXCHANGE,
        "swap.run",
        &args,
        "vault.state_consumed",
    );
    at_rest(&mut net);

    done(&mut net, EXCHANGE, "swap.run", &with(&[paid], &[stock]));
    at_rest(&mut net);
    assert!(holds(&net, 4, "GBP").len() < 2 && holds(&net, 4, "TLY") == [10]);
    assert_eq!(holds(&net, 5, "TLY"), [90]);
}

#[test]
fn no_party_gives_anything_beyond_its_mandate() {
    let table = [
        // Quantity, price, code.
        (10, 121, "swap.over_mandate"),
        (10, 89, "swap.over_mandate"),
        (51, 510, "swap.over_mandate"),
        (0, 100, "swap.zero"),
        (10, 0, "swap.zero"),
    ];
    for (quantity, price, code) in table {
        let mut net = market(1);
        let args = swap(&[(4, 5)], quantity, price, "");
        refused(&mut net, EXCHANGE, "swap.run", &args, code);
        at_rest(&mut net);
        assert_eq!(holds(&net, 4, "GBP"), [1000]);
    }
    let mut net = market(1);
    let fair = swap(&[(4, 5)], 10, 100, "");
    // A node without a mandate cannot coordinate a swap, not even as one of its parties.
    for stranger in [1, 2, 5] {
        refused(&mut net, stranger, "swap.run", &fair, "swap.no_mandate");
    }
    // The other side of the market, other stock, other cash.
    let turned = swap(&[(5, 4)], 10, 100, "");
    refused(&mut net, EXCHANGE, "swap.run", &turned, "swap.no_mandate");
    for (from, to) in [("TLY", "TLX"), ("GBP", "USD")] {
        let other = fair.replace(from, to);
        refused(&mut net, EXCHANGE, "swap.run", &other, "swap.no_mandate");
    }
    let before = only(&net, 4, MANDATE);
    done(&mut net, 4, "swap.mandate", &mandate("buy", 9, 50));
    let replaced = only(&net, 4, MANDATE);
    assert_ne!(before, replaced, "one mandate for one market");
    refused(&mut net, EXCHANGE, "swap.run", &fair, "swap.over_mandate");
    let revoke = format!(r#"{{"mandate":{}}}"#, json(replaced));
    refused(&mut net, 5, "swap.revoke", &revoke, "node.unknown_state");
    done(&mut net, 4, "swap.revoke", &revoke);
    refused(&mut net, EXCHANGE, "swap.run", &fair, "swap.no_mandate");
    let until = net.now + 1_000;
    let ending = mandate("buy", 12, 50);
    let ending = ending.replacen('{', &format!(r#"{{"until":{until},"#), 1);
    done(&mut net, 4, "swap.mandate", &ending);
    net.now = until;
    refused(&mut net, EXCHANGE, "swap.run", &fair, "swap.mandate_ended");
    refused(&mut net, 4, "swap.mandate", &ending, "swap.mandate_ended");
    at_rest(&mut net);
    assert_eq!(holds(&net, 4, "GBP"), [1000]);
    assert_eq!(holds(&net, 5, "TLY"), [100]);
}

#[test]
fn one_that_has_too_little_stops_all_and_nothing_stays_locked() {
    let mut net = market(2);
    let transfer = format!(
        r#"{{"symbol":"TLY","issuer":"{}","quantity":95,"to":"{}"}}"#,
        name(2),
        name(2)
    );
    done(&mut net, 7, "stock.transfer", &transfer);
    let pairs = parties(2);
    let args = swap(&pairs, 10, 100, "");
    refused(
        &mut net,
        EXCHANGE,
        "swap.run",
        &args,
        "vault.insufficient_funds",
    );
    at_rest(&mut net);
    for (node, symbol, held) in [
        (4, "GBP", 1000),
        (5, "TLY", 100),
        (6, "GBP", 1000),
        (7, "TLY", 5),
    ] {
        assert_eq!(holds(&net, node, symbol), [held]);
    }
    // The locked states are free again.
    done(
        &mut net,
        EXCHANGE,
        "swap.run",
        &swap(&pairs[..1], 10, 100, ""),
    );
    at_rest(&mut net);
    swapped(&net, &pairs[..1]);
    for (args, code) in [
        (swap(&[], 10, 100, ""), "swap.count"),
        (swap(&parties(6)[..0].repeat(3), 1, 9, ""), "swap.count"),
        (swap(&[(4, 5), (6, 5)], 10, 100, ""), "swap.party_twice"),
        (swap(&[(4, 4)], 10, 100, ""), "swap.party_twice"),
        (swap(&[(4, 5); 6], 10, 100, ""), "swap.count"),
    ] {
        refused(&mut net, EXCHANGE, "swap.run", &args, code);
    }
}

#[test]
fn a_party_that_is_away_is_waited_for_and_the_others_with_it() {
    for more in ["", r#","sessions":"sequential""#] {
        let mut net = market(2);
        let pairs = parties(2);
        net.down(6);
        let args = swap(&pairs, 10, 100, more);
        let started = net.start(EXCHANGE, "swap.run", &args, None);
        net.settle();
        assert!(!net.replies.contains_key(&started));
        assert_eq!(holds(&net, 4, "GBP"), [1000]);
        net.up(6);
        net.settle();
        assert_eq!(net.ended(started), Ok(true), "{:#?}", net.logs);
        at_rest(&mut net);
        swapped(&net, &pairs);
    }
}

#[test]
fn back_chains_of_all_parties_are_resolved_by_all() {
    for more in [
        "",
        r#","resolution":"single""#,
        r#","sessions":"sequential","resolution":"single""#,
    ] {
        let mut net = market(2);
        let pairs = parties(2);
        // Depth: each holder's states go to the issuer's other customers and back.
        for (buyer, seller) in &pairs {
            for _ in 0..6 {
                for (flow, node, what) in [
                    ("cash.pay", *buyer, "cash"),
                    ("stock.transfer", *seller, "stock"),
                ] {
                    let (issuer, me) = (if what == "cash" { 1 } else { 2 }, name(node as u64));
                    let args = match what {
                        "cash" => format!(
                            r#"{{"currency":"GBP","issuer":"{}","payments":[{{"to":"{me}","quantity":1000}}]}}"#,
                            name(issuer)
                        ),
                        _ => format!(
                            r#"{{"symbol":"TLY","issuer":"{}","quantity":100,"to":"{me}"}}"#,
                            name(issuer)
                        ),
                    };
                    done(&mut net, node, flow, &args);
                }
            }
        }
        done(&mut net, EXCHANGE, "swap.run", &swap(&pairs, 10, 100, more));
        at_rest(&mut net);
        swapped(&net, &pairs);
        let resolved: Vec<u64> = (4..8)
            .map(|node| net.figures(node).resolved_transactions)
            .collect();
        assert_eq!(
            resolved, [21; 4],
            "of three others, seven transactions each"
        );
    }
}

#[test]
fn a_crash_of_anyone_settles_all_or_nothing() {
    for more in ["", r#","sessions":"sequential","resolution":"single""#] {
        let mut count = 0;
        for node in [0, EXCHANGE, 4, 7] {
            for after in 1..=10 {
                for last in [Last::Lost, Last::Durable, Last::Performed] {
                    let mut net = market(2);
                    let pairs = parties(2);
                    let at = net.nodes[node].commits + after;
                    net.crashes = vec![Crash { node, at, last }];
                    let args = swap(&pairs, 10, 100, more);
                    let ended = persist(&mut net, EXCHANGE, "swap.run", &args);
                    assert_eq!(ended, Ok(true), "{node} {after} {last:?}: {:#?}", net.logs);
                    count += usize::from(net.crashes.is_empty());
                    net.crashes.clear();
                    at_rest(&mut net);
                    swapped(&net, &pairs);
                }
            }
        }
        assert!(count > 40, "{count} crashes came");
    }
}

#[test]
fn stock_is_issued_split_passed_on_and_exited() {
    let mut net = Testnet::new(3);
    let issue = |more: &str| format!(r#"{{"symbol":"BRK.B","quantity":10{more}}}"#);
    done(&mut net, 1, "stock.issue", &issue(r#","outputs":3"#));
    assert_eq!(holds(&net, 1, "BRK.B"), [3, 3, 4]);
    for (args, code) in [
        (issue(r#","outputs":11"#), "stock.split_impossible"),
        (issue(r#","outputs":0"#), "stock.split_impossible"),
        (issue("").replace("10", "0"), "stock.zero_quantity"),
    ] {
        refused(&mut net, 1, "stock.issue", &args, code);
    }
    let transfer = |quantity: u64, to: u64, more: &str| {
        let (issuer, to) = (name(1), name(to));
        format!(
            r#"{{"symbol":"BRK.B","issuer":"{issuer}","quantity":{quantity},"to":"{to}"{more}}}"#
        )
    };
    for (node, quantity, more, code) in [
        (1, 11, "", "vault.insufficient_funds"),
        (2, 1, "", "vault.insufficient_funds"),
        (1, 0, "", "stock.zero_quantity"),
        (1, 5, r#","states":6"#, "stock.split_impossible"),
    ] {
        let args = transfer(quantity, 2, more);
        refused(&mut net, node, "stock.transfer", &args, code);
    }
    let hidden = r#","states":2,"anonymous":true"#;
    done(&mut net, 1, "stock.transfer", &transfer(8, 2, hidden));
    assert_eq!(holds(&net, 2, "BRK.B"), [4, 4]);
    assert_eq!(holds(&net, 1, "BRK.B"), [2]);
    done(&mut net, 2, "stock.transfer", &transfer(7, 3, ""));
    assert_eq!(holds(&net, 3, "BRK.B"), [7]);
    assert_eq!(holds(&net, 2, "BRK.B"), [1]);

    // Only the issuer can exit the stock, and only as much as it holds.
    let exit = |quantity: u64| format!(r#"{{"symbol":"BRK.B","quantity":{quantity}}}"#);
    for (node, quantity, code) in [
        (3, 1, "vault.insufficient_funds"),
        (1, 3, "vault.insufficient_funds"),
        (1, 0, "stock.zero_quantity"),
    ] {
        refused(&mut net, node, "stock.exit", &exit(quantity), code);
    }
    done(&mut net, 1, "stock.exit", &exit(1));
    done(&mut net, 3, "stock.transfer", &transfer(7, 1, ""));
    done(&mut net, 1, "stock.exit", &exit(8));
    at_rest(&mut net);
    assert!(holds(&net, 1, "BRK.B").is_empty());
    assert_eq!(holds(&net, 2, "BRK.B"), [1]);
}
