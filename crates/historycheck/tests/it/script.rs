//! Histories in short form, so that tests read like tables.
//!
//! Statements are separated by bars. Each is one event, 1 ms after the one before:
//! ```text
//! ask 1 A x y / z    request 1 asks for transaction A, which consumes the states x and y and reads z
//! ask 2 A            the same transaction again
//! signed 1           conflict 1 x:B /z:C       refused 1 code       unanswered 1
//! +6000              the clock advances by 6,000 ms
//! majority_lost, majority_returning, majority_back, fault K, healed K, end_phase, end
//! ```
//! The event `begin` with a limit of 5 s comes first.

use std::collections::HashMap;

use historycheck::{ConflictingState, Digest, Event, EventKind, HistoryError, StateRef, Verdict};

/// Client of a request.
const CLIENTS: u64 = 3;

fn letter(text: &str) -> u8 {
    assert_eq!(text.len(), 1, "'{text}' is no letter");
    text.as_bytes()[0]
}

pub fn transaction(text: &str) -> Digest {
    Digest::from([letter(text); 32])
}

pub fn consumed_as(text: &str) -> Digest {
    Digest::from([letter(text) | 0x80; 32])
}

pub fn state(text: &str) -> StateRef {
    StateRef {
        transaction: Digest::from([letter(text); 32]),
        index: 7,
    }
}

pub fn events(script: &str) -> Vec<Event> {
    let mut at_us = 0;
    let mut known: HashMap<String, (Vec<StateRef>, Vec<StateRef>)> = HashMap::new();
    let mut events = vec![Event {
        at_us,
        kind: EventKind::Begin {
            seed: 1,
            answers_within_ms: 5_000,
        },
    }];
    for statement in script.split('|').map(str::trim) {
        if let Some(pause) = statement.strip_prefix('+') {
            at_us += pause.parse::<u64>().expect("a pause in ms") * 1_000;
            continue;
        }
        at_us += 1_000;
        let words: Vec<&str> = statement.split(' ').collect();
        let number = |place: usize| words[place].parse::<u64>().expect("a request number");
        let request = |place| (number(place) % CLIENTS, number(place));
        let kind = match words[0] {
            "ask" => {
                let (client, request) = request(1);
                if words.len() > 3 {
                    let mut parts = words[3..].split(|word| *word == "/");
                    let mut states = || -> Vec<StateRef> {
                        let part = parts.next().unwrap_or_default();
                        part.iter().map(|word| state(word)).collect()
                    };
                    known.insert(words[2].to_owned(), (states(), states()));
                }
                let (consumes, reads) = known.get(words[2]).cloned().unwrap_or_default();
                EventKind::Ask {
                    client,
                    request,
                    transaction: transaction(words[2]),
                    consumed_as: consumed_as(words[2]),
                    consumes,
                    reads,
                }
            }
            "signed" => {
                let (client, request) = request(1);
                EventKind::Signed { client, request }
            }
            "unanswered" => {
                let (client, request) = request(1);
                EventKind::Unanswered { client, request }
            }
            "conflict" => {
                let (client, request) = request(1);
                let states = words[2..].iter().map(|word| {
                    let (of, by) = word.split_once(':').expect("STATE:TRANSACTION");
                    ConflictingState {
                        state: state(of.trim_start_matches('/')),
                        consumed_by: consumed_as(by),
                        is_reference: of.starts_with('/'),
                    }
                });
                let states = states.collect();
                EventKind::Conflict {
                    client,
                    request,
                    states,
                }
            }
            "refused" => {
                let (client, request) = request(1);
                EventKind::Refused {
                    client,
                    request,
                    code: words[2].to_owned(),
                    message: "no".to_owned(),
                }
            }
            "majority_lost" => EventKind::MajorityLost,
            "majority_returning" => EventKind::MajorityReturning,
            "majority_back" => EventKind::MajorityBack,
            "fault" => EventKind::Fault {
                kind: words[1].to_owned(),
            },
            "healed" => EventKind::Healed {
                kind: words[1].to_owned(),
            },
            "end_phase" => EventKind::EndPhase,
            "end" => EventKind::End,
            other => panic!("'{other}' is no event"),
        };
        events.push(Event { at_us, kind });
    }
    events
}

pub fn text(events: &[Event]) -> String {
    let lines = events.iter().map(|event| {
        let line = serde_json::to_string(event).expect("an event is JSON");
        line + "\n"
    });
    lines.collect()
}

pub fn check(script: &str) -> Result<Verdict, HistoryError> {
    historycheck::check(text(&events(script)).as_bytes())
}
