//! One event per line, with its expected result.

use ledger::Party;
use primitives::{Coded, ErrorInfo};
use vault::{CoinRow, Selection, SelectionError, SelectionOptions, SelectionOutput};

use crate::selection::coins::*;

/// An event; coins are `(output, quantity)` of the transaction at the sequence.
enum Do<'a> {
    /// Coins of one transaction are durable.
    Produce(u64, &'a [(u32, u64)]),
    /// A flow asks for a quantity, with a deadline in ms.
    Ask(u64, u64, u64),
    /// As `Ask`, at one notary.
    AskAt(u64, u64, u64, u64),
    /// The view holds these coins and nothing else: `(sequence, output, quantity)`.
    Answer(&'a [(u64, u32, u64)], u64),
    /// A transaction is recorded at this sequence and consumes these outputs.
    Record(u64, &'a [(u64, u32)]),
    /// It is durable, at this sequence.
    Consume(&'a [(u64, u32)], u64),
    /// It is durable, consumes one coin and gives another one back.
    Change((u64, u32), u64, u64),
    /// A flow ends.
    Release(u64),
    /// It is this late.
    Tick(u64),
}
use Do::*;

/// Shows the outputs in short: `"1:a,b"` (flow 1 has these quantities), `"2!code"`, `"refill from 7"`.
fn shown(out: Vec<SelectionOutput>) -> String {
    let quantity =
        |data: &[u8]| u64::from_be_bytes(data.try_into().expect("eight bytes")).to_string();
    let each = out.into_iter().map(|output| match output {
        SelectionOutput::Selected { number, states, .. } => {
            let states: Vec<String> = states.iter().map(|s| quantity(&s.state.data)).collect();
            format!("{number}:{}", states.join(","))
        }
        SelectionOutput::Failed { number, error, .. } => format!("{number}!{}", error.code()),
        SelectionOutput::Refill(request) => match request.from {
            None => "refill".to_owned(),
            Some(from) => format!("refill from {}", from.quantity),
        },
    });
    each.collect::<Vec<_>>().join(" ")
}

fn event(selection: &mut Selection, of: &Party, event: &Do<'_>) -> String {
    let refs = |coins: &[(u64, u32)]| {
        coins
            .iter()
            .map(|(s, i)| coin_ref(*s, *i))
            .collect::<Vec<_>>()
    };
    let now = at(1_000);
    shown(match event {
        Produce(seq, coins) => {
            let coins = coins
                .iter()
                .map(|(i, q)| produced(token(1), row(*seq, *i, *q, of)));
            selection.apply(*seq, coins.collect(), now)
        }
        Ask(number, quantity, ms) => {
            let wish = wish(token(1), *quantity, None, *ms);
            selection.request(flow(*number), *number as u32, wish, now)
        }
        AskAt(number, quantity, notary_no, ms) => {
            let wish = wish(token(1), *quantity, Some(&notary(*notary_no)), *ms);
            selection.request(flow(*number), *number as u32, wish, now)
        }
        Answer(coins, seq) => {
            let mut rows: Vec<CoinRow> =
                coins.iter().map(|(s, i, q)| row(*s, *i, *q, of)).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.position()));
            let total = coins.iter().map(|(_, _, q)| u128::from(*q)).sum();
            selection.refilled(token(1), rows, *seq, total, false, now)
        }
        Record(seq, coins) => {
            selection.record(*seq, &refs(coins));
            Vec::new()
        }
        Consume(coins, seq) => {
            let coins = refs(coins).into_iter().map(|coin| consumed(coin, *seq));
            selection.apply(*seq, coins.collect(), now)
        }
        Change((seq, index), by, quantity) => {
            let given = produced(token(1), row(*by, 0, *quantity, of));
            selection.apply(*by, vec![consumed(coin_ref(*seq, *index), *by), given], now)
        }
        Release(number) => selection.release(flow(*number), now),
        Tick(ms) => selection.tick(at(*ms)),
    })
}

fn check(lines: &[(Do<'_>, &str)]) {
    let mut selection = Selection::new(SelectionOptions::default(), 0);
    for (at_line, (line, expected)) in lines.iter().enumerate() {
        let out = event(&mut selection, &notary(1), line);
        assert_eq!(out, *expected, "line {at_line}");
    }
}

#[test]
fn the_smallest_that_suffices_else_the_largest() {
    check(&[
        (Ask(1, 5, 9), "refill"),
        (
            Answer(&[(1, 0, 3), (1, 1, 7), (1, 2, 20), (1, 3, 50)], 1),
            "1:7",
        ),
        (Ask(2, 15, 9), "2:20"),
        (Ask(3, 52, 9), "3:50,3"),
        (Ask(4, 1, 9), ""),
        (Release(3), "4:3"),
    ]);
}

#[test]
fn hundreds_wait_for_one_coin_and_all_are_served_in_turn() {
    let mut selection = Selection::new(SelectionOptions::default(), 0);
    let of = notary(1);
    let mut run = |line: Do<'_>| event(&mut selection, &of, &line);
    assert_eq!(run(Ask(0, 1, 100_000)), "refill");
    for number in 1..500 {
        assert_eq!(run(Ask(number, 1, 100_000)), "");
    }
    assert_eq!(run(Answer(&[(1, 0, 1_000)], 1)), "0:1000");
    let mut coin = (1, 0);
    for number in 0..500 {
        let seq = 2 + number;
        run(Record(seq, &[coin]));
        assert_eq!(run(Release(number)), "", "what is spent is not free again");
        let rest = 999 - number;
        let served = run(Change(coin, seq, rest));
        let next = number + 1;
        assert_eq!(
            served,
            if next < 500 {
                format!("{next}:{rest}")
            } else {
                String::new()
            }
        );
        coin = (seq, 0);
    }
}

#[test]
fn lack_of_funds_is_told_at_once_and_locked_coins_are_funds() {
    check(&[
        (Ask(1, 100, 9), "refill"),
        (Answer(&[(1, 0, 60), (1, 1, 50)], 1), "1:60,50"),
        (Ask(2, 110, 9), ""),
        (Ask(3, 111, 9), ""),
        (Release(1), "2:60,50 3!vault.insufficient_funds"),
        (Ask(4, 111, 9), "4!vault.insufficient_funds"),
    ]);
}

#[test]
fn change_on_its_way_is_funds_too() {
    check(&[
        (Ask(1, 10, 9), "refill"),
        (Answer(&[(1, 0, 100)], 1), "1:100"),
        (Ask(2, 50, 9), ""),
        (Record(2, &[(1, 0)]), ""),
        (Release(1), ""),
        (Change((1, 0), 2, 90), "2:90"),
        (Ask(3, 100, 9), "3!vault.insufficient_funds"),
    ]);
}

/// A client may learn that its coins are durable, and pay with them, before the selection learns it.
#[test]
fn nothing_is_refused_before_what_was_recorded_is_durable() {
    check(&[
        (Record(1, &[]), ""),
        (Ask(1, 10, 9), "refill"),
        (Ask(2, 5, 9), ""),
        (Answer(&[], 0), ""),
        (Record(2, &[]), ""),
        (Ask(3, 7, 9), ""),
        (Produce(1, &[(0, 10)]), "1:10"),
        (Record(3, &[(1, 0)]), ""),
        (Produce(2, &[(0, 6)]), "2:6"),
        (Consume(&[(1, 0)], 3), "3!vault.insufficient_funds"),
    ]);
}

/// Flow 1 holds a coin, so its second request goes ahead of flow 2's. Until that request is judged it keeps the coins of its notary.
#[test]
fn nothing_is_refused_while_an_earlier_request_keeps_coins_that_suffice() {
    let mut selection = Selection::new(SelectionOptions::default(), 0);
    let lines: &[(u64, Do<'_>, &str)] = &[
        (2, Ask(1, 5, 9), "refill"),
        (2, Answer(&[(1, 0, 5)], 1), "1:5"),
        (1, Record(2, &[]), ""),
        (1, Ask(2, 36, 9), ""),
        (1, Record(3, &[]), ""),
        (1, AskAt(1, 98, 1, 9), ""),
        (1, Produce(2, &[(0, 31), (1, 9), (2, 29)]), ""),
        (
            1,
            Produce(3, &[(0, 1)]),
            "1!vault.insufficient_funds 2:31,9",
        ),
    ];
    for (at_line, (of, line, expected)) in lines.iter().enumerate() {
        let out = event(&mut selection, &notary(*of), line);
        assert_eq!(out, *expected, "line {at_line}");
    }
}

#[test]
fn later_ones_do_not_overtake_unless_they_hold_what_others_wait_for() {
    check(&[
        (Ask(1, 60, 9), "refill"),
        (Answer(&[(1, 0, 60), (1, 1, 30), (1, 2, 30)], 1), "1:60"),
        (Ask(2, 100, 9), ""),
        (Ask(3, 10, 9), ""),
        // Flow 1 would never end if it had to wait behind flow 2, which waits for it.
        (Ask(1, 30, 9), "1:30"),
        (Release(1), "2:60,30,30"),
        (Release(2), "3:30"),
    ]);
}

#[test]
fn deadlines() {
    check(&[
        (Ask(1, 10, 9), "refill"),
        (Answer(&[(1, 0, 10)], 1), "1:10"),
        (Ask(2, 5, 20), ""),
        (Ask(3, 5, 10), ""),
        (Tick(1_009), ""),
        (Tick(1_010), "3!vault.selection_timeout"),
        (Tick(1_030), "2!vault.selection_timeout"),
        (Release(1), ""),
        (Ask(4, 5, 10), "4:10"),
    ]);
}

#[test]
fn an_answer_from_before_is_asked_for_again() {
    check(&[
        (Record(7, &[]), ""),
        (Produce(7, &[(0, 10)]), ""),
        (Ask(1, 10, 9), "refill"),
        (Answer(&[], 6), "refill"),
        (Answer(&[(7, 0, 10)], 7), "1:10"),
    ]);
}

#[test]
fn what_was_consumed_meanwhile_is_not_taken_from_an_answer() {
    check(&[
        (Ask(1, 10, 9), "refill"),
        (Record(2, &[(1, 0)]), ""),
        (Answer(&[(1, 0, 10), (1, 1, 4)], 1), ""),
        (Consume(&[(1, 0)], 2), "1!vault.insufficient_funds"),
        (Ask(2, 4, 9), "2:4"),
    ]);
}

#[test]
fn another_notarys_coins_do_not_serve() {
    check(&[
        (AskAt(1, 10, 2, 9), "refill"),
        (Answer(&[(1, 0, 10)], 1), "1!vault.insufficient_funds"),
        (AskAt(2, 10, 1, 9), "2:10"),
    ]);
}

#[test]
fn nothing_is_given_for_nothing() {
    check(&[(Ask(1, 0, 9), "1:")]);
}

#[test]
fn restored_locks_hold() {
    let mut selection = Selection::new(SelectionOptions::default(), 5);
    let of = notary(1);
    selection.restore_lock(flow(9), &[coin_ref(1, 0)]);
    let lines = [
        (Ask(1, 10, 90), "refill"),
        (Answer(&[(1, 0, 10)], 4), "refill"),
        (Answer(&[(1, 0, 10)], 5), ""),
        (Release(9), "1:10"),
    ];
    for (line, expected) in lines {
        assert_eq!(event(&mut selection, &of, &line), expected);
    }
}

#[test]
fn what_the_notary_knows_as_consumed_is_set_aside() {
    let mut selection = Selection::new(SelectionOptions::default(), 0);
    let of = notary(1);
    event(&mut selection, &of, &Ask(1, 10, 90));
    assert_eq!(
        event(&mut selection, &of, &Answer(&[(1, 0, 10), (1, 1, 4)], 1)),
        "1:10"
    );
    assert!(selection.quarantine(coin_ref(8, 0)), "not a coin in memory");
    assert!(selection.quarantine(coin_ref(1, 0)));
    assert!(
        !selection.quarantine(coin_ref(1, 0)),
        "in quarantine already"
    );
    assert!(selection.is_quarantined(&coin_ref(8, 0)));
    let state = coin_ref(8, 0);
    assert_eq!(
        selection.lock([3; 16], &[state]),
        Err(SelectionError::StateQuarantined { state })
    );
    assert_eq!(event(&mut selection, &of, &Release(1)), "");
    assert_eq!(
        event(&mut selection, &of, &Ask(2, 10, 90)),
        "2!vault.insufficient_funds"
    );
    assert_eq!(selection.figures().quarantined, 2);
}

#[test]
fn states_that_are_named_are_locked_all_or_none() {
    let options = SelectionOptions {
        states_per_selection_max: 3,
        ..SelectionOptions::default()
    };
    let mut selection = Selection::new(options, 0);
    let of = notary(1);
    event(&mut selection, &of, &Ask(1, 10, 90));
    event(
        &mut selection,
        &of,
        &Answer(&[(1, 0, 10), (1, 1, 4), (1, 2, 5)], 1),
    );
    event(&mut selection, &of, &Record(2, &[(1, 2)]));
    // Flow 1 holds the first coin, the second is free, the third is being consumed, the fourth unknown here.
    let [held, free, spent, unknown] = [0, 1, 2, 7].map(|index| coin_ref(1, index));
    let lines: &[(u64, &[ledger::StateRef], Option<&str>)] = &[
        (2, &[free, held], Some("vault.state_locked")),
        (2, &[free, spent], Some("vault.state_consumed")),
        (2, &[free; 4], Some("vault.too_many_locks")),
        (2, &[], None),
        (2, &[free, unknown, free], None),
        (2, &[free], None),
        (3, &[unknown], Some("vault.state_locked")),
        (1, &[held], None),
    ];
    for (by, refs, expected) in lines {
        let code = selection.lock(flow(*by), refs).err().map(|e| e.code());
        assert_eq!(code, *expected, "{by} {refs:?}");
    }
    assert_eq!(event(&mut selection, &of, &Ask(4, 4, 90)), "");
    assert_eq!(event(&mut selection, &of, &Release(2)), "4:4");
    assert_eq!(selection.lock(flow(3), &[unknown]), Ok(vec![unknown]));
    assert_eq!(selection.lock(flow(3), &[unknown]), Ok(vec![]));
    // After its release, another flow can lock it. A flow cannot release a state that it does not hold.
    assert_eq!(selection.unlock(flow(2), &[unknown], at(1)), []);
    assert!(selection.lock(flow(2), &[unknown]).is_err());
    assert_eq!(selection.unlock(flow(3), &[unknown], at(1)), []);
    assert_eq!(selection.lock(flow(2), &[unknown]), Ok(vec![unknown]));
}

#[test]
fn too_many_small_coins_are_told_apart_from_too_little() {
    let options = SelectionOptions {
        states_per_selection_max: 2,
        ..SelectionOptions::default()
    };
    let mut selection = Selection::new(options, 0);
    let of = notary(1);
    event(&mut selection, &of, &Ask(1, 3, 90));
    let coins = [(1, 0, 1), (1, 1, 1), (1, 2, 1)];
    assert_eq!(
        event(&mut selection, &of, &Answer(&coins, 1)),
        "1!vault.too_fragmented"
    );
}

#[test]
fn a_bounded_line() {
    let options = SelectionOptions {
        waiting_max: 1,
        ..SelectionOptions::default()
    };
    let mut selection = Selection::new(options, 0);
    let of = notary(1);
    assert_eq!(event(&mut selection, &of, &Ask(1, 1, 90)), "refill");
    assert_eq!(
        event(&mut selection, &of, &Ask(2, 1, 90)),
        "2!vault.selection_busy"
    );
}

#[test]
fn codes_have_hints() {
    let errors = [
        SelectionError::InsufficientFunds {
            token: token(1),
            wanted: 2,
            available: 1,
        },
        SelectionError::SelectionTimeout {
            token: token(1),
            wanted: 2,
            waited_ms: 5,
        },
        SelectionError::TooFragmented {
            token: token(1),
            wanted: 2,
            states_max: 1,
        },
        SelectionError::Busy { waiting: 1 },
        SelectionError::StateQuarantined {
            state: coin_ref(1, 1),
        },
        SelectionError::StateConsumed {
            state: coin_ref(1, 0),
        },
        SelectionError::StateLocked {
            state: coin_ref(1, 0),
        },
        SelectionError::TooManyLocks {
            wanted: 2,
            states_max: 1,
        },
    ];
    for error in &errors {
        assert!(!ErrorInfo::action_of(vault::ERRORS, error.code()).is_empty());
        assert!(!error.hint().is_empty());
    }
    assert_eq!(errors.len(), vault::ERRORS.len());
}
