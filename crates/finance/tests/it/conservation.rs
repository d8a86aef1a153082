//! Checks random transactions against an oracle that counts in 128 bits. An accepted transaction changes the amount of
//! cash only by an issuer's command, and the owners of the consumed cash have signed it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use finance::{CashCommand, CashContract, IssuedToken};
use ledger::Contract;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::fixtures::*;

/// Few tokens and owners, so that random transactions collide.
const TOKENS: [&str; 4] = ["A GBP", "A USD", "A GBP 01", "B GBP"];
const OWNERS: [char; 3] = ['A', 'B', 'C'];

/// A token's index, a quantity, an owner.
type Cash = (usize, u64, char);
/// A verb (0 issue, 1 move, 2 exit), a token's index, a quantity, signers.
type Order = (u8, usize, u64, String);

fn quantity() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1u64..6, 1 => u64::MAX - 3..=u64::MAX]
}

fn some_cash() -> impl Strategy<Value = Vec<Cash>> {
    let one = (
        0..TOKENS.len(),
        quantity(),
        prop::sample::select(OWNERS.to_vec()),
    );
    prop::collection::vec(one, 0..5)
}

fn some_orders() -> impl Strategy<Value = Vec<Order>> {
    let signers = prop::sample::subsequence(OWNERS.to_vec(), 1..=3)
        .prop_map(|letters| letters.into_iter().collect());
    prop::collection::vec((0u8..3, 0..TOKENS.len(), 0u64..6, signers), 0..4)
}

/// Generates outputs that balance the inputs and the orders, so that many of the transactions are valid.
fn balanced(inputs: &[Cash], orders: &[Order], owners: &[char]) -> Vec<Cash> {
    let mut sums: BTreeMap<usize, i128> = BTreeMap::new();
    for (token, quantity, _) in inputs {
        *sums.entry(*token).or_default() += i128::from(*quantity);
    }
    for (verb, token, quantity, _) in orders {
        let sign = [1, 0, -1][*verb as usize];
        *sums.entry(*token).or_default() += sign * i128::from(*quantity);
    }
    let mut owners = owners.iter().cycle();
    sums.into_iter()
        .filter_map(|(token, sum)| Some((token, u64::try_from(sum).ok()?)))
        .filter(|(_, sum)| *sum > 0)
        .map(|(token, sum)| (token, sum, *owners.next().unwrap()))
        .collect()
}

fn oracle(inputs: &[Cash], outputs: &[Cash], orders: &[Order]) -> bool {
    let moves: Vec<_> = orders.iter().filter(|order| order.0 == 1).collect();
    if moves.len() > 1 || (!moves.is_empty() && inputs.is_empty()) {
        return false;
    }
    let present: BTreeSet<usize> = inputs.iter().chain(outputs).map(|cash| cash.0).collect();
    let mut ordered = BTreeSet::new();
    for (verb, token, quantity, _) in orders {
        if *verb != 1 && (*quantity == 0 || !ordered.insert(*token) || !present.contains(token)) {
            return false;
        }
    }
    present.into_iter().all(|token| {
        let sum = |cash: &[Cash]| {
            cash.iter()
                .filter(|c| c.0 == token)
                .map(|c| u128::from(c.1))
                .sum::<u128>()
        };
        let order = orders.iter().find(|order| order.0 != 1 && order.1 == token);
        let issuer = TOKENS[token].chars().next().unwrap();
        let issuer_signs = order.is_none_or(|order| order.3.contains(issuer));
        let (issued, exited) = match order {
            Some((0, _, quantity, _)) => (u128::from(*quantity), 0),
            Some((_, _, quantity, _)) => (0, u128::from(*quantity)),
            None => (0, 0),
        };
        let (consumed, made) = (sum(inputs), sum(outputs));
        let fits = [consumed, made, consumed + issued, made + exited]
            .iter()
            .all(|sum| *sum <= u128::from(u64::MAX));
        let signers = match order {
            Some((2, _, _, signers)) => signers.as_str(),
            _ => moves.first().map_or("", |order| order.3.as_str()),
        };
        let owners_sign = inputs
            .iter()
            .filter(|c| c.0 == token)
            .all(|c| signers.contains(c.2));
        consumed + issued == made + exited && fits && issuer_signs && owners_sign
    })
}

fn verdict(inputs: &[Cash], outputs: &[Cash], orders: &[Order]) -> bool {
    let tokens: Vec<IssuedToken> = TOKENS.iter().map(|text| token(text)).collect();
    let states = |list: &[Cash]| {
        list.iter()
            .map(|(t, quantity, owner)| cash(&tokens[*t], *quantity, *owner))
            .collect()
    };
    let commands = orders
        .iter()
        .map(|(verb, t, quantity, signers)| {
            let (token, quantity) = (tokens[*t].id(), *quantity);
            let value = match verb {
                0 => CashCommand::Issue { token, quantity },
                1 => CashCommand::Move,
                _ => CashCommand::Exit { token, quantity },
            };
            command(&value, signers)
        })
        .collect();
    CashContract
        .verify(&transaction(states(inputs), states(outputs), commands))
        .is_ok()
}

proptest! {
    #![proptest_config(properties::config!(4_000))]

    #[test]
    fn any_transaction(inputs in some_cash(), outputs in some_cash(), orders in some_orders()) {
        prop_assert_eq!(
            verdict(&inputs, &outputs, &orders),
            oracle(&inputs, &outputs, &orders)
        );
    }
}

#[test]
fn balanced_transactions() {
    let owners = prop::collection::vec(prop::sample::select(OWNERS.to_vec()), 1..4);
    let off_by = prop::option::weighted(0.25, any::<prop::sample::Index>());
    let (mut accepted, mut refused) = (0, 0);
    let mut runner = TestRunner::new(properties::config!(4_000));
    let mut check = |inputs: &[Cash], outputs: &[Cash], orders: &[Order]| {
        let verdict = verdict(inputs, outputs, orders);
        *if verdict { &mut accepted } else { &mut refused } += 1;
        verdict == oracle(inputs, outputs, orders)
    };
    let check = RefCell::new(&mut check);
    runner
        .run(
            &(some_cash(), some_orders(), owners, off_by),
            |(inputs, orders, owners, off_by)| {
                let mut outputs = balanced(&inputs, &orders, &owners);
                if let Some(index) = off_by
                    && !outputs.is_empty()
                {
                    let index = index.index(outputs.len());
                    outputs[index].1 = outputs[index].1.saturating_add(1);
                }
                prop_assert!((check.borrow_mut())(&inputs, &outputs, &orders));
                Ok(())
            },
        )
        .unwrap();
    assert!(
        accepted > 200 && refused > 200,
        "{accepted} accepted, {refused} refused"
    );
}
