//! Random flows under random schedules: recovery after any round continues exactly as the run that never crashed.

use std::collections::BTreeMap;

use flow::{EffectResult, EngineAction, FlowError, SessionBody, SessionId, SessionMessage};
use primitives::{Encode, Timestamp};
use proptest::prelude::*;

use crate::engine::bench::{Bench, Held, engine, id, start_record};
use crate::engine::program::{Op, Ops};

/// One input, at its time.
#[derive(Clone, Debug)]
struct Input {
    at: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Start,
    Answer {
        effect: u32,
        fails: bool,
        wakes: bool,
    },
    Message {
        to: char,
        session: SessionId,
        index: u32,
        last: bool,
    },
    End {
        to: char,
        session: SessionId,
        index: u32,
    },
}

/// The pending answers and messages for the flow.
#[derive(Clone, Default)]
struct World {
    effects: BTreeMap<u32, bool>,
    sessions: BTreeMap<u32, (char, SessionId, u32, bool)>,
    ended: bool,
}

impl World {
    fn note(&mut self, action: &EngineAction) {
        match action {
            EngineAction::Effect {
                effect, request, ..
            } => {
                let wakes = matches!(request, flow::EffectRequest::Sleep { .. });
                assert!(
                    self.effects.insert(*effect, wakes).is_none(),
                    "effect {effect} issued twice"
                );
            }
            EngineAction::Cancel { effect, .. } => {
                self.effects.remove(effect);
            }
            EngineAction::SendSession { peer, message } => {
                if matches!(message.body, SessionBody::Init { .. }) {
                    let to = crate::engine::flows::letter(peer);
                    self.sessions
                        .insert(message.session.number, (to, message.session, 0, true));
                }
            }
            EngineAction::Ended { .. } => self.ended = true,
            EngineAction::Parked { reason, .. } => panic!("parked: {reason}"),
            _ => {}
        }
    }

    /// Returns the input that a number chooses.
    fn choose(&mut self, choice: u64) -> Option<What> {
        let open: Vec<u32> = self
            .sessions
            .iter()
            .filter(|(_, s)| s.3)
            .map(|(number, _)| *number)
            .collect();
        let count = self.effects.len() + open.len();
        if count == 0 {
            return None;
        }
        let index = (choice % count as u64) as usize;
        let fine = (choice / count as u64) % 8;
        if let Some((effect, wakes)) = self.effects.iter().nth(index).map(|(e, w)| (*e, *w)) {
            self.effects.remove(&effect);
            return Some(What::Answer {
                effect,
                fails: fine == 0 && !wakes,
                wakes,
            });
        }
        let session = self.sessions.get_mut(&open[index - self.effects.len()])?;
        let (to, id, index, _) = *session;
        session.2 += 1;
        match fine {
            0 => {
                session.3 = false;
                Some(What::End {
                    to,
                    session: id,
                    index,
                })
            }
            1 => {
                session.3 = false;
                Some(What::Message {
                    to,
                    session: id,
                    index,
                    last: true,
                })
            }
            _ => Some(What::Message {
                to,
                session: id,
                index,
                last: false,
            }),
        }
    }
}

fn apply(b: &mut Bench, input: &Input, ops: &[Op]) {
    give(b, input, ops);
    b.engine.run_ready(&mut b.out);
}

fn give(b: &mut Bench, input: &Input, ops: &[Op]) {
    b.engine.set_now(Timestamp::from_ms(input.at));
    match &input.what {
        What::Start => {
            let record = start_record(1, "test.program", 1, &Ops { ops: ops.to_vec() });
            b.engine.start(record).unwrap();
        }
        What::Answer {
            effect,
            fails,
            wakes,
        } => {
            let result = match (fails, wakes) {
                (true, _) => EffectResult::Failed(FlowError::new("test.down", "down", "")),
                (_, true) => EffectResult::Done,
                _ => EffectResult::External(format!("answer {effect}").to_bytes()),
            };
            b.engine.complete(id(1), *effect, result, &mut b.out);
        }
        What::Message {
            to,
            session,
            index,
            last,
        } => {
            let payload = format!("message {index}").to_bytes();
            let body = SessionBody::Data {
                index: *index,
                payload,
                last: *last,
            };
            let message = SessionMessage {
                session: *session,
                to_initiator: true,
                body,
            };
            b.engine
                .on_session(crate::engine::flows::party(*to).id(), message, &mut b.out);
        }
        What::End { to, session, index } => {
            let body = SessionBody::End {
                index: *index,
                error: None,
            };
            let message = SessionMessage {
                session: *session,
                to_initiator: true,
                body,
            };
            b.engine
                .on_session(crate::engine::flows::party(*to).id(), message, &mut b.out);
        }
    }
}

/// A round: its inputs, the actions that it caused, and the effects outstanding at its end.
struct Round {
    inputs: Vec<Input>,
    lines: Vec<String>,
    outstanding: Vec<u32>,
    journal: BTreeMap<(flow::FlowId, u32), Vec<u8>>,
}

fn live(ops: &[Op], choices: &[u64]) -> Vec<Round> {
    let mut b = Bench::new();
    let mut world = World::default();
    let mut rounds = Vec::new();
    let mut inputs = vec![Input {
        at: 1_000,
        what: What::Start,
    }];
    for (n, choice) in std::iter::once(0)
        .chain(choices.iter().copied())
        .enumerate()
    {
        // All inputs of a round come at the same time.
        let at = 1_000 + 10 * rounds.len() as u64;
        if n > 0 {
            match world.choose(choice >> 8) {
                Some(what) => inputs.push(Input { at, what }),
                None => break,
            }
        }
        let Some(input) = inputs.last() else { break };
        apply(&mut b, input, ops);
        b.out.iter().for_each(|action| world.note(action));
        // Rounds of one to four inputs.
        if choice % 4 == 0 || world.ended {
            b.engine.end_of_round(&mut b.out);
            b.work_off();
            rounds.push(Round {
                inputs: std::mem::take(&mut inputs),
                lines: std::mem::take(&mut b.lines),
                outstanding: world.effects.keys().copied().collect(),
                journal: b.journal.clone(),
            });
        } else {
            b.work_off();
        }
        if world.ended {
            break;
        }
    }
    rounds
}

/// Crashes after each round. If not `at_once`, a step is taken only when the next input or the end of the round needs it.
fn check(ops: &[Op], choices: &[u64], at_once: bool) -> Result<(), TestCaseError> {
    let rounds = live(ops, choices);
    for (k, at) in rounds.iter().enumerate() {
        let mut b = Bench::new();
        b.journal = at.journal.clone();
        b.engine = engine('A', &b.registry, b.limits);
        let rows: Vec<(u32, Vec<u8>)> = b
            .journal
            .iter()
            .map(|((_, step), row)| (*step, row.clone()))
            .collect();
        if rows.is_empty() {
            prop_assert!(k + 1 == rounds.len(), "a live flow without a journal");
            continue;
        }
        let last = at.inputs.last().map_or(0, |input| input.at);
        b.engine.set_now(Timestamp::from_ms(last + 1));
        b.engine.load(id(1), &rows);
        b.engine.resume(id(1), &Held::default(), &mut b.out);
        let mut again = Vec::new();
        for action in &b.out {
            match action {
                EngineAction::Effect { effect, .. } => again.push(*effect),
                other => prop_assert!(false, "round {k}: {other:?}"),
            }
        }
        prop_assert_eq!(&again, &at.outstanding, "after round {}", k);
        b.out.clear();
        for (n, round) in rounds.iter().enumerate().skip(k + 1) {
            for input in &round.inputs {
                match at_once {
                    true => apply(&mut b, input, ops),
                    false => give(&mut b, input, ops),
                }
            }
            b.work_off();
            b.engine.end_of_round(&mut b.out);
            b.work_off();
            let lines = std::mem::take(&mut b.lines);
            prop_assert_eq!(&lines, &round.lines, "crash after round {}, round {}", k, n);
            // The journals are the same, byte for byte.
            prop_assert_eq!(&b.journal, &round.journal);
        }
    }
    Ok(())
}

/// Pauses the flow after a round and restores it from its journal.
fn check_paused(ops: &[Op], choices: &[u64]) -> Result<(), TestCaseError> {
    let rounds = live(ops, choices);
    for k in 0..rounds.len() {
        let mut b = Bench::new();
        for (n, round) in rounds.iter().enumerate() {
            for input in &round.inputs {
                apply(&mut b, input, ops);
                b.work_off();
            }
            b.engine.end_of_round(&mut b.out);
            b.work_off();
            let lines = std::mem::take(&mut b.lines);
            prop_assert_eq!(&lines, &round.lines, "pause after round {}, round {}", k, n);
            if n != k || !b.engine.is_live(&id(1)) {
                continue;
            }
            prop_assert_eq!(b.engine.pause(id(1), &mut b.out), flow::Pause::Done);
            b.engine.end_of_round(&mut b.out);
            b.work_off();
            prop_assert_eq!(std::mem::take(&mut b.lines), vec!["paused".to_owned()]);
            let rows = b.journal.iter();
            let rows: Vec<(u32, Vec<u8>)> = rows.map(|((_, s), row)| (*s, row.clone())).collect();
            b.engine.load(id(1), &rows);
            b.engine.retry(id(1), &Held::default(), &mut b.out);
            let again = b.out.iter().filter_map(|action| match action {
                EngineAction::Effect { effect, .. } => Some(*effect),
                _ => None,
            });
            prop_assert_eq!(again.collect::<Vec<u32>>(), round.outstanding.clone());
            b.work_off();
            b.lines.clear();
        }
        // Except for the chart, the journals are the same, byte for byte.
        b.journal.remove(&(id(1), flow::CHART_STEP));
        let last = rounds.last().map(|round| round.journal.clone());
        prop_assert_eq!(Some(b.journal), last);
    }
    Ok(())
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let leaf = prop_oneof![
        4 => Just(Op::Ask),
        1 => Just(Op::AskAndCatch),
        1 => Just(Op::Now),
        1 => Just(Op::Random),
        1 => (0..100u64).prop_map(Op::Nap),
        2 => any::<u8>().prop_map(Op::Open),
        2 => Just(Op::Send),
        2 => Just(Op::Hear),
        1 => Just(Op::Close),
    ];
    let op = leaf.prop_recursive(3, 24, 5, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            3 => list().prop_map(Op::Sub),
            2 => (list(), list()).prop_map(|(left, right)| Op::Both(left, right)),
            1 => (0..50u64, list()).prop_map(|(ms, ops)| Op::Limit(ms, ops)),
            1 => list().prop_map(|mut ops| {
                ops.push(Op::Fail);
                Op::Sub(ops)
            }),
        ]
    });
    prop::collection::vec(op, 1..8)
}

proptest! {
    #![proptest_config(properties::config!(1_500))]

    #[test]
    fn replay_after_any_round_continues_the_same(ops in ops(), choices in prop::collection::vec(any::<u64>(), 0..60)) {
        check(&ops, &choices, true)?;
        check(&ops, &choices, false)?;
    }

    #[test]
    fn a_pause_after_any_round_changes_nothing(ops in ops(), choices in prop::collection::vec(any::<u64>(), 0..40)) {
        check_paused(&ops, &choices)?;
    }
}
