//! A correct service in memory makes clean histories. Every random change of one has to be reported.

use std::collections::HashMap;

use historycheck::{
    ConflictingState, Digest, EventKind, HistoryWriter, StateRef, Verdict, ViolationKind::*,
};

/// Seeds of each test.
const SEEDS: u64 = 20;
/// Transactions of a history.
const TRANSACTIONS: u64 = 60;
/// States that they compete for.
const STATES: u64 = 25;

/// A small generator of random numbers (SplitMix64), so that a failure names a seed that repeats it.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn digest(kind: u8, number: u64) -> Digest {
    let mut bytes = [kind; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Digest::from(bytes)
}

fn state(number: u64) -> StateRef {
    StateRef {
        transaction: digest(1, number),
        index: 0,
    }
}

/// Runs clients against a correct service, and returns the events.
fn clean(random: &mut Random) -> Vec<EventKind> {
    let mut consumers: HashMap<StateRef, u64> = HashMap::new();
    let transactions: Vec<Vec<StateRef>> = (0..TRANSACTIONS)
        .map(|_| {
            let first = random.below(STATES);
            let second = (first + 1 + random.below(STATES - 1)) % STATES;
            vec![state(first), state(second)]
        })
        .collect();
    let mut events = Vec::new();
    let mut final_asks = Vec::new();
    let mut request = 0;
    let mut ask = |events: &mut Vec<EventKind>, number: u64, is_lost: bool| {
        request += 1;
        let (client, consumes) = (request % 4, &transactions[number as usize]);
        events.push(EventKind::Ask {
            client,
            request,
            transaction: digest(2, number),
            consumed_as: digest(3, number),
            consumes: consumes.clone(),
            reads: Vec::new(),
        });
        let taken = |state: &StateRef| {
            let by = *consumers.get(state).filter(|by| **by != number)?;
            Some(ConflictingState {
                state: *state,
                consumed_by: digest(3, by),
                is_reference: false,
            })
        };
        let states: Vec<_> = consumes.iter().filter_map(taken).collect();
        let is_signed = states.is_empty();
        if is_signed {
            consumers.extend(consumes.iter().map(|state| (*state, number)));
        }
        events.push(match (is_lost, is_signed) {
            (true, _) => EventKind::Unanswered { client, request },
            (false, true) => EventKind::Signed { client, request },
            (false, false) => EventKind::Conflict {
                client,
                request,
                states,
            },
        });
        is_signed
    };
    for number in 0..TRANSACTIONS {
        let is_lost = random.below(8) == 0;
        if ask(&mut events, number, is_lost) || is_lost {
            final_asks.push(number);
        }
    }
    events.push(EventKind::EndPhase);
    for number in final_asks {
        ask(&mut events, number, false);
    }
    events
}

fn verdict(events: &[EventKind]) -> Verdict {
    let writer = HistoryWriter::begin(Vec::new(), 1, 5_000).expect("memory");
    for event in events {
        writer.write(event.clone()).expect("memory");
    }
    let text = writer.end().expect("memory");
    historycheck::check(&*text).expect("a history")
}

/// Applies `change` to one event that it takes, chosen at random, of each seed's history.
fn reported(
    mut change: impl FnMut(&EventKind) -> Option<EventKind>,
    kinds: &[historycheck::ViolationKind],
) {
    for seed in 0..SEEDS {
        let random = &mut Random(seed);
        let mut events = clean(random);
        let found = verdict(&events);
        assert!(found.is_clean(), "seed {seed}: {found:#?}");
        assert!(
            found.conflicts > 10 && found.unanswered > 0,
            "seed {seed}: {found:?}"
        );
        let begun = events
            .iter()
            .take_while(|event| **event != EventKind::EndPhase);
        let places: Vec<usize> = (0..begun.count())
            .filter(|place| change(&events[*place]).is_some())
            .collect();
        let place = places[random.below(places.len() as u64) as usize];
        events[place] = change(&events[place]).expect("it was found");
        let found = verdict(&events);
        let names = kinds.iter().any(|kind| found.has(*kind));
        assert!(
            names,
            "seed {seed}, event {place} {:?}: {found:#?}",
            events[place]
        );
    }
}

#[test]
fn a_signature_for_a_refused_transaction_is_reported() {
    let change = |event: &EventKind| match *event {
        EventKind::Conflict {
            client, request, ..
        } => Some(EventKind::Signed { client, request }),
        _ => None,
    };
    reported(change, &[DoubleSpend]);
}

#[test]
fn a_refusal_of_a_signed_transaction_is_reported() {
    let change = |event: &EventKind| match *event {
        EventKind::Signed { client, request } => Some(EventKind::Conflict {
            client,
            request,
            states: vec![ConflictingState {
                state: state(0),
                consumed_by: digest(3, 0),
                is_reference: false,
            }],
        }),
        _ => None,
    };
    reported(
        change,
        &[ForeignState, SelfConflict, WrongConsumer, SignedAndRefused],
    );
}

#[test]
fn another_consumer_in_a_refusal_is_reported() {
    let change = |event: &EventKind| match event {
        EventKind::Conflict {
            client,
            request,
            states,
        } => {
            let mut states = states.clone();
            let number = u64::from(states[0].consumed_by == digest(3, 0));
            states[0].consumed_by = digest(3, number);
            Some(EventKind::Conflict {
                client: *client,
                request: *request,
                states,
            })
        }
        _ => None,
    };
    reported(
        change,
        &[
            WrongConsumer,
            UnknownConsumer,
            ConsumerNotSigned,
            SelfConflict,
            ConsumersDiffer,
        ],
    );
}

#[test]
fn a_lost_signature_is_reported() {
    for seed in 0..SEEDS {
        let random = &mut Random(seed);
        let mut events = clean(random);
        let end = events
            .iter()
            .position(|event| *event == EventKind::EndPhase)
            .expect("it is there");
        let signed = |place: &usize| matches!(events[*place], EventKind::Signed { .. });
        let places: Vec<usize> = (end..events.len()).filter(signed).collect();
        let place = places[random.below(places.len() as u64) as usize];
        let EventKind::Signed { client, request } = events[place] else {
            unreachable!("filtered");
        };
        events[place] = EventKind::Unanswered { client, request };
        let found = verdict(&events);
        // Without an earlier signature, only refusals can prove that the transaction was accepted.
        let was_signed = found.has(SignatureLost) || found.has(ConsumerNotSigned);
        let was_unknown = found.is_clean()
            && found.signed_transactions < verdict(&clean(&mut Random(seed))).signed_transactions;
        assert!(was_signed || was_unknown, "seed {seed}: {found:#?}");
        // Without the request at all.
        events.drain(place - 1..=place);
        let found = verdict(&events);
        assert!(found.has(NotAskedAgain), "seed {seed}: {found:#?}");
    }
}
