//! Transactions near the largest message of the network: they are delivered, or refused by the node that builds them. No message
//! stays in an outbox forever.

use kernel::port::Table;

use primitives::Encode;

use crate::pay::{issue, pay};
use crate::testnet::{Testnet, waits};
use crate::trades::name;

/// The largest message.
const MESSAGE_BYTES: u64 = 100_000;

/// Returns the arguments of a payment from node 1 to node 2 in this many states.
fn pay_in(states: u64) -> String {
    format!(
        r#"{{"currency":"GBP","issuer":"{}","payments":[{{"to":"{}","quantity":1000,"states":{states}}}]}}"#,
        name(1),
        name(2)
    )
}

#[track_caller]
fn ended(net: &mut Testnet, node: usize, flow: &str, args: &str) -> Result<bool, String> {
    let started = net.start(node, flow, args, None);
    net.settle();
    let ended = net.ended(started);
    for (index, node) in net.nodes.iter().enumerate() {
        for table in [Table::Outbox, Table::Deliveries, Table::Journal] {
            assert_eq!(node.disk.count(table), 0, "{table:?} of node {index}");
        }
    }
    ended
}

#[test]
fn what_fits_no_message_is_refused_where_it_is_built_and_the_rest_travels() {
    for validating in [false, true] {
        let mut net = Testnet::with_messages(3, validating, MESSAGE_BYTES);
        assert_eq!(ended(&mut net, 1, "cash.issue", &issue(100_000)), Ok(true));
        // Each as large as it can be: by bisection, the largest that is built is also the largest that travels.
        let (mut fits, mut too_many) = (1, 1_000);
        while too_many - fits > 1 {
            let states = (fits + too_many) / 2;
            match ended(&mut net, 1, "cash.pay", &pay_in(states)) {
                Ok(delivered) => {
                    assert!(delivered);
                    fits = states;
                }
                Err(code) => {
                    assert_eq!(code, "tx.too_large");
                    too_many = states;
                }
            }
        }
        assert!(fits > 100, "{fits} states");
        // The received cash is paid on to a node that must fetch the large transaction.
        assert_eq!(ended(&mut net, 2, "cash.pay", &pay(1, 3)), Ok(true));
        assert_eq!(net.balance(3), 1);
    }
}

#[test]
fn what_a_peer_brings_and_could_not_be_passed_on_waits() {
    // It just fits a delivery, but no message with a larger envelope.
    let size = Testnet::new(2).issued(2, 1, 10).to_bytes().len() as u64;
    let mut net = Testnet::with_messages(2, false, size + 20);
    net.script(2);
    net.heard(2);
    let coin = net.issued(2, 1, 10);
    net.deliver(2, 1, &[&coin]);
    net.settle();
    let heard = net.heard(2);
    let codes: Vec<String> = heard
        .iter()
        .filter_map(waits)
        .map(|notice| notice.rejection.code)
        .collect();
    assert_eq!(codes, ["tx.too_large"], "{heard:?}");
    assert_eq!(net.balance(1), 0);
}
