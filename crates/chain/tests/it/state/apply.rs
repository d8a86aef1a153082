//! Tests that apply and undo blocks.

use chain::state::undo_block;

use crate::state::kit::{EACH, Net, account};
use chain::ChainId;
use chain::port::Table;
use primitives::storage::TableSet;

#[test]
fn payments_and_fees_arrive_and_an_undone_block_leaves_no_trace() {
    let mut net = Net::new();
    net.forge_empty(3);
    net.commit();
    let before: Vec<_> = Table::ALL
        .iter()
        .map(|table| net.store.rows(*table))
        .collect();
    let tip = net.overlay.tip().clone();
    let parent = net.payment(1, 2, 1, 500, 100);
    let child = net.payment(3, 4, 2, 70, 5);
    let bundle = net.bundle(5, vec![child.clone()]);
    let block = net.block(vec![Net::entry(parent.clone()), bundle]);
    let (forger, _) = net.next();
    net.apply(&block).unwrap();
    let has = |net: &Net, who: usize, chain: u8| {
        let fees = if who == forger && chain == 1 { 110 } else { 0 };
        let balance = net.overlay.balance(&account(who), ChainId(chain));
        balance.unwrap().get() - fees
    };
    assert_eq!(has(&net, 1, 1), EACH - 600);
    assert_eq!(has(&net, 2, 1), EACH + 500);
    assert_eq!(has(&net, 3, 2), EACH - 75);
    assert_eq!(has(&net, 4, 2), EACH + 70);
    assert_eq!(has(&net, 5, 2), EACH + 5);
    assert_eq!(has(&net, 5, 1), EACH - 10);
    assert!(net.overlay.contains(&parent.id).unwrap());
    net.commit();
    let undone = undo_block(&mut net.overlay, &net.genesis).unwrap();
    assert_eq!(*undone, block);
    assert_eq!(*net.overlay.tip(), tip);
    assert!(!net.overlay.contains(&child.id).unwrap());
    net.commit();
    let after: Vec<_> = Table::ALL
        .iter()
        .map(|table| net.store.rows(*table))
        .collect();
    assert_eq!(after, before);
}
