//! Tests of the list of locked states and their holders.

use vault::{Lock, Selection, SelectionOptions};

use crate::selection::coins::*;

fn told(selection: &Selection, of: Option<&[[u8; 16]]>) -> Vec<(u64, u32, Option<u64>)> {
    let (locks, more) = selection.locks(of, 100);
    assert!(!more);
    let mut told: Vec<_> = locks
        .into_iter()
        .map(|Lock { state, by, seq }| (u128::from_be_bytes(by) as u64, state.index, seq))
        .collect();
    told.sort_unstable();
    told
}

#[test]
fn what_flows_hold_is_told_until_it_is_spent_or_given_back() {
    let mut selection = Selection::new(SelectionOptions::default(), 0);
    selection.restore_lock(flow(9), &[coin_ref(1, 7)]);
    assert_eq!(told(&selection, None), [(9, 7, None)], "from a journal");
    selection.request(flow(1), 1, wish(token(1), 5, None, 1_000), at(1_000));
    assert_eq!(told(&selection, None), [(9, 7, None)], "waiting is no lock");
    let rows = vec![row(3, 2, 20, &notary(1)), row(2, 1, 10, &notary(1))];
    selection.refilled(token(1), rows, 3, 30, false, at(1_000));
    assert_eq!(
        told(&selection, None),
        [(1, 1, Some(2)), (9, 7, None)],
        "the smallest that suffices"
    );
    let held = selection.lock(flow(2), &[coin_ref(3, 2), coin_ref(4, 3)]);
    held.expect("free");
    let all = [(1, 1, Some(2)), (2, 2, Some(3)), (2, 3, None), (9, 7, None)];
    assert_eq!(told(&selection, None), all);
    assert_eq!(told(&selection, Some(&[flow(2)])), all[1..3]);
    assert_eq!(
        told(&selection, Some(&[flow(9), flow(1), flow(5)])),
        [all[0], all[3]]
    );
    assert_eq!(told(&selection, Some(&[])), []);

    let (few, more) = selection.locks(None, 3);
    assert_eq!((few.len(), more), (3, true));
    let (few, more) = selection.locks(None, 4);
    assert_eq!((few.len(), more), (4, false));

    selection.record(5, &[coin_ref(2, 1)]);
    assert_eq!(told(&selection, None), all[1..], "recorded, so nobody's");
    selection.release(flow(2), at(2_000));
    assert_eq!(told(&selection, None), all[3..]);
    selection.apply(5, vec![consumed(coin_ref(1, 7), 5)], at(2_000));
    assert_eq!(told(&selection, None), []);
}
