//! The bench: one node's engine with its journal, and its actions as lines of text.

use std::collections::BTreeMap;
use std::sync::Arc;

use flow::{
    EffectRequest, EffectResult, EngineAction, FlowEngine, FlowError, FlowId, FlowLimits,
    FlowRegistry, Kill, Rehydrate, SessionBody, SessionMessage, StartRecord,
};
use ledger::{PartyId, SignedTransaction, StateAndRef, StateRef, TxId};
use primitives::{Decode, Encode, Monotonic, Timestamp};

use crate::engine::flows;

/// The node under test.
pub struct Bench {
    pub me: char,
    pub engine: FlowEngine,
    pub registry: Arc<FlowRegistry>,
    pub limits: FlowLimits,
    pub now: u64,
    pub held: Held,
    pub journal: BTreeMap<(FlowId, u32), Vec<u8>>,
    pub sent: Vec<(PartyId, SessionMessage)>,
    pub lines: Vec<String>,
    pub out: Vec<EngineAction>,
    pub outcomes: BTreeMap<FlowId, Result<Vec<u8>, FlowError>>,
}

/// The ledger of the node.
#[derive(Default)]
pub struct Held {
    pub states: BTreeMap<StateRef, StateAndRef>,
    pub transactions: BTreeMap<TxId, SignedTransaction>,
}

impl Rehydrate for Held {
    fn states(&self, refs: &[StateRef]) -> Option<Vec<StateAndRef>> {
        refs.iter().map(|r| self.states.get(r).cloned()).collect()
    }

    fn transaction(&self, id: &TxId) -> Option<SignedTransaction> {
        self.transactions.get(id).cloned()
    }
}

pub fn id(n: u8) -> FlowId {
    FlowId([n; 16])
}

pub fn start_record(n: u8, flow: &str, version: u32, args: &impl Encode) -> StartRecord {
    StartRecord {
        id: id(n),
        flow: flow.to_owned(),
        version,
        args: args.to_bytes(),
        seed: [n; 32].into(),
        at: Timestamp::from_ms(1),
        origin: None,
        caller: Vec::new(),
    }
}

impl Bench {
    pub fn new() -> Bench {
        Bench::of('A', FlowLimits::default())
    }

    pub fn of(me: char, limits: FlowLimits) -> Bench {
        let registry = Arc::new(flows::registry());
        Bench {
            me,
            engine: engine(me, &registry, limits),
            registry,
            limits,
            now: 1_000,
            held: Held::default(),
            journal: BTreeMap::new(),
            sent: Vec::new(),
            lines: Vec::new(),
            out: Vec::new(),
            outcomes: BTreeMap::new(),
        }
    }

    /// Starts flow number `n`.
    pub fn start(&mut self, n: u8, flow: &str, args: &impl Encode, expected: &[&str]) {
        let version = self.registry.current_version(flow).unwrap();
        self.tick();
        self.engine
            .start(start_record(n, flow, version, args))
            .unwrap();
        self.expect(expected);
    }

    /// Starts flow number `n`, which the engine refuses.
    pub fn refused(&mut self, n: u8, flow: &str, args: &impl Encode) -> FlowError {
        let version = self.registry.current_version(flow).unwrap();
        self.tick();
        let record = start_record(n, flow, version, args);
        let error = self.engine.start(record).unwrap_err();
        self.expect(&[]);
        error
    }

    pub fn complete(&mut self, n: u8, effect: u32, result: EffectResult, expected: &[&str]) {
        self.tick();
        self.engine.complete(id(n), effect, result, &mut self.out);
        self.expect(expected);
    }

    /// Completes an external effect with a text.
    pub fn text(&mut self, n: u8, effect: u32, text: &str, expected: &[&str]) {
        self.complete(
            n,
            effect,
            EffectResult::External(text.to_owned().to_bytes()),
            expected,
        );
    }

    pub fn message(&mut self, from: char, message: SessionMessage, expected: &[&str]) {
        self.tick();
        self.engine
            .on_session(flows::party(from).id(), message, &mut self.out);
        self.expect(expected);
    }

    pub fn kill(&mut self, n: u8, became: Kill, expected: &[&str]) {
        self.tick();
        assert_eq!(self.engine.kill(id(n), &mut self.out), became);
        self.expect(expected);
    }

    pub fn round(&mut self, expected: &[&str]) {
        self.engine.run_ready(&mut self.out);
        self.engine.end_of_round(&mut self.out);
        self.expect(expected);
    }

    /// Loses the memory and recovers from the journal.
    pub fn crash(&mut self, expected: &[&str]) {
        self.engine = engine(self.me, &self.registry, self.limits);
        self.out.clear();
        let mut flows: BTreeMap<FlowId, Vec<(u32, Vec<u8>)>> = BTreeMap::new();
        for ((flow, step), row) in &self.journal {
            flows.entry(*flow).or_default().push((*step, row.clone()));
        }
        for (flow, rows) in &flows {
            self.engine.load(*flow, rows);
        }
        self.tick();
        for flow in flows.keys() {
            self.engine.resume(*flow, &self.held, &mut self.out);
        }
        self.expect(expected);
    }

    /// Loads a flow that is set aside from its journal and retries it.
    pub fn retry(&mut self, n: u8, expected: &[&str]) {
        self.tick();
        assert!(self.engine.is_written(&id(n)), "between rounds");
        let rows = self.journal.range((id(n), 0)..=(id(n), u32::MAX));
        let rows: Vec<(u32, Vec<u8>)> = rows.map(|((_, s), row)| (*s, row.clone())).collect();
        self.engine.load(id(n), &rows);
        self.engine.retry(id(n), &self.held, &mut self.out);
        self.expect(expected);
    }

    pub fn pause(&mut self, n: u8, became: flow::Pause, expected: &[&str]) {
        self.tick();
        assert_eq!(self.engine.pause(id(n), &mut self.out), became);
        self.expect(expected);
    }

    pub fn halt(&mut self, n: u8, became: flow::Pause, expected: &[&str]) {
        self.tick();
        assert_eq!(self.engine.halt(id(n), &mut self.out), became);
        self.expect(expected);
    }

    fn tick(&mut self) {
        self.now += 1;
        self.engine.set_now(Timestamp::from_ms(self.now));
        self.engine.set_monotonic(Monotonic::from_ms(self.now));
    }

    /// Expects the lines caused by the calls since the last expectation.
    pub fn expect_after(&mut self, expected: &[&str]) {
        self.expect(expected);
    }

    #[track_caller]
    fn expect(&mut self, expected: &[&str]) {
        self.work_off();
        let lines = std::mem::take(&mut self.lines);
        assert_eq!(lines, expected);
    }

    /// Executes the actions: journals them and keeps them as lines.
    pub fn work_off(&mut self) {
        self.engine.run_ready(&mut self.out);
        for action in std::mem::take(&mut self.out) {
            // Charts get no line, because they follow from the lines next to them.
            if !matches!(action, EngineAction::Chart { .. }) {
                self.lines.push(line(&action));
            }
            match action {
                EngineAction::Journal { flow, step, row } => {
                    assert!(self.journal.insert((flow, step), row).is_none());
                }
                EngineAction::Forget { flow, steps } => {
                    for step in 0..steps {
                        assert!(self.journal.remove(&(flow, step)).is_some());
                    }
                }
                EngineAction::Chart { flow, row } => match row {
                    Some(row) => drop(self.journal.insert((flow, flow::CHART_STEP), row)),
                    None => assert!(self.journal.remove(&(flow, flow::CHART_STEP)).is_some()),
                },
                EngineAction::SendSession { peer, message } => self.sent.push((peer, message)),
                EngineAction::Ended { flow, outcome, .. } => {
                    assert!(self.outcomes.insert(flow, outcome).is_none());
                }
                _ => {}
            }
        }
    }
}

pub fn engine(me: char, registry: &Arc<FlowRegistry>, limits: FlowLimits) -> FlowEngine {
    FlowEngine::new(
        registry.clone(),
        flows::party(me),
        flows::network(),
        [9; 32].into(),
        limits,
    )
}

/// Formats an action as a line.
pub fn line(action: &EngineAction) -> String {
    match action {
        EngineAction::Effect {
            effect, request, ..
        } => {
            format!("effect {} {}", number(*effect), request_line(request))
        }
        EngineAction::Cancel { effect, .. } => format!("cancel {}", number(*effect)),
        EngineAction::Journal { step, .. } => format!("journal {step}"),
        EngineAction::Forget { steps, .. } => format!("forget {steps}"),
        EngineAction::SendSession { peer, message } => {
            format!("send {} {}", flows::letter(peer), message_line(message))
        }
        EngineAction::Ended {
            outcome: Ok(bytes), ..
        } => format!("ended {}", text(bytes)),
        EngineAction::Ended {
            outcome: Err(error),
            ..
        } => format!("failed {}", error.code),
        EngineAction::Parked { reason, .. } => format!("parked {}", reason.code),
        EngineAction::Retrying { reason, at, .. } => {
            format!("retrying {} at {}", reason.code, at.as_ms())
        }
        EngineAction::Paused { .. } => "paused".to_owned(),
        EngineAction::Chart { .. } => "chart".to_owned(),
        EngineAction::Progress { step, .. } => format!("progress {step}"),
    }
}

/// Formats an effect's number: `scope/number`, or the number alone in the flow itself.
fn number(effect: u32) -> String {
    match effect >> 16 {
        0 => effect.to_string(),
        scope => format!("{scope}/{}", effect & 0xffff),
    }
}

fn request_line(request: &EffectRequest) -> String {
    match request {
        EffectRequest::External { name, .. } => name.clone(),
        EffectRequest::Sleep { until, .. } => format!("sleep until {}", until.as_ms()),
        EffectRequest::Request {
            party, irrevocable, ..
        } => {
            let kind = if *irrevocable {
                "irrevocable"
            } else {
                "request"
            };
            format!("{kind} {}", flows::letter(party))
        }
        other => other.kind().name().to_owned(),
    }
}

fn message_line(message: &SessionMessage) -> String {
    let back = if message.to_initiator { "back " } else { "" };
    let body = match &message.body {
        SessionBody::Init {
            flow,
            versions,
            first,
        } => {
            let first = first
                .as_ref()
                .map_or(String::new(), |bytes| format!(" {}", text(bytes)));
            format!("init {flow} {versions:?}{first}")
        }
        SessionBody::Confirm { version } => format!("confirm {version}"),
        SessionBody::Data {
            index,
            payload,
            last,
        } => {
            format!(
                "data {index} {}{}",
                text(payload),
                if *last { " last" } else { "" }
            )
        }
        SessionBody::End { error: None, .. } => "end".to_owned(),
        SessionBody::End {
            error: Some(error), ..
        } => format!("end {}", error.code),
    };
    format!("{back}{body}")
}

/// Shows bytes that encode a text as that text, others by their length.
pub fn text(bytes: &[u8]) -> String {
    String::from_bytes(bytes).unwrap_or_else(|_| format!("{} bytes", bytes.len()))
}
