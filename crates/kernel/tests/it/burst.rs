//! Large transactions, many at once: windows fill, the rest waits in the store, and all of it arrives.

use crate::testnet::Testnet;

#[test]
fn nine_hundred_large_payments_arrive() {
    let mut net = Testnet::new(2);
    let coins = r#"{"currency":"GBP","quantity":160000,"outputs":1000}"#;
    let issued = net.start(1, "cash.issue", coins, None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    let pay = r#"{"currency":"GBP","issuer":"O=Node 1, L=London, C=GB","payments":[{"to":"O=Node 2, L=London, C=GB","quantity":160,"states":160}]}"#;
    let started: Vec<u64> = (0..900)
        .map(|_| net.start(1, "cash.pay", pay, None))
        .collect();
    net.settle();
    for token in started {
        assert_eq!(net.ended(token), Ok(true));
    }
    assert_eq!([1, 2].map(|node| net.balance(node)), [16_000, 144_000]);
}
