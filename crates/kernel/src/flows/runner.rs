//! The flow engine within the kernel: its actions become work of the round at once.
//!
//! # Invariants
//! - No action of the engine outlives the call that made it. Each method that makes actions passes them on before it returns.

use flow::{EffectResult, EngineAction, FlowEngine, FlowError, FlowId, FlowStep, FlowStepped};
use flow::{Kill, Loaded, Pause, SessionMessage, StartRecord};
use ledger::PartyId;
use primitives::{Moment, Monotonic};

use crate::context::Context;
use crate::flows::steps::Steps;
use crate::part::Part;
use crate::port::{Reads, StoreFailure};
use crate::round::Work;
use crate::stored::Stored;

/// The engine, its actions that the round has not taken yet, and the steps that clients follow.
pub(crate) struct Runner {
    engine: FlowEngine,
    /// The actions of the present call. Empty between two calls.
    actions: Vec<EngineAction>,
    steps: Steps,
}

impl Part for Runner {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.engine.next_idle()
    }
}

impl Runner {
    /// Creates the runner of an engine. Flows that return from their journals set deadlines before the first event, so the engine
    /// gets the time at once.
    pub(crate) fn new(mut engine: FlowEngine, now: Moment) -> Self {
        engine.set_now(now.wall);
        Self {
            engine,
            actions: Vec::new(),
            steps: Steps::default(),
        }
    }

    /// Returns the engine, for questions about its flows.
    pub(crate) fn engine(&self) -> &FlowEngine {
        &self.engine
    }

    /// Advances the clocks that flows see.
    pub(crate) fn advance(&mut self, now: Moment) {
        self.engine.set_now(now.wall);
        self.engine.set_monotonic(now.monotonic);
    }

    /// Starts a flow. After an error nothing was started.
    pub(crate) fn start(&mut self, record: StartRecord) -> Result<(), FlowError> {
        self.engine.start(record)
    }

    /// Takes the steps of all flows that have got an input.
    pub(super) fn take_ready(&mut self) -> Vec<FlowStep> {
        self.engine.take_ready()
    }

    /// Takes the result of a step.
    pub(super) fn stepped(&mut self, stepped: FlowStepped, context: &mut Context) {
        self.engine.stepped(stepped, &mut self.actions);
        self.queue_actions(context);
    }

    /// Gives an effect its result. Its flow continues within this round.
    pub(crate) fn complete(
        &mut self,
        flow: FlowId,
        effect: u32,
        result: EffectResult,
        context: &mut Context,
    ) {
        self.engine
            .complete(flow, effect, result, &mut self.actions);
        self.queue_actions(context);
    }

    /// Gives a session message of a peer to its flow.
    pub(crate) fn on_session(
        &mut self,
        peer: PartyId,
        message: SessionMessage,
        context: &mut Context,
    ) {
        self.engine.on_session(peer, message, &mut self.actions);
        self.queue_actions(context);
    }

    /// Pauses a flow.
    pub(crate) fn pause(&mut self, flow: FlowId, context: &mut Context) -> Pause {
        let paused = self.engine.pause(flow, &mut self.actions);
        self.queue_actions(context);
        paused
    }

    /// Pauses a flow at once, even while an irrevocable request of it is in flight.
    pub(super) fn halt(&mut self, flow: FlowId, context: &mut Context) {
        let halted = self.engine.halt(flow, &mut self.actions);
        assert_ne!(halted, Pause::Waiting, "a halt waits for nothing");
        self.queue_actions(context);
    }

    /// Kills a flow, at once or as soon as it may end.
    pub(crate) fn kill(&mut self, flow: FlowId, context: &mut Context) -> Kill {
        let killed = self.engine.kill(flow, &mut self.actions);
        self.queue_actions(context);
        killed
    }

    /// Reads the journal of a flow without running it.
    pub(crate) fn load(&mut self, flow: FlowId, rows: &[(u32, Vec<u8>)]) -> Loaded {
        self.engine.load(flow, rows)
    }

    /// Sets a loaded flow aside: only its journal is left until it is brought back. Returns false if a flow stays as it is.
    pub(super) fn shelve(&mut self, flow: FlowId) -> bool {
        self.engine.shelve(flow)
    }

    /// Continues a loaded flow that was not shelved.
    pub(crate) fn resume(
        &mut self,
        flow: FlowId,
        reads: &dyn Reads,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let stored = Stored::new(reads);
        self.engine.resume(flow, &stored, &mut self.actions);
        stored.checked()?;
        self.queue_actions(context);
        Ok(())
    }

    /// Restores a flow that was set aside from its journal.
    pub(crate) fn retry(
        &mut self,
        flow: FlowId,
        reads: &dyn Reads,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let stored = Stored::new(reads);
        self.engine.retry(flow, &stored, &mut self.actions);
        stored.checked()?;
        self.queue_actions(context);
        Ok(())
    }

    /// Ends flows whose peers have been silent for too long.
    pub(crate) fn end_idle(&mut self) {
        self.engine.end_idle();
    }

    /// Ends a round: each flow that has changed writes one journal row.
    pub(crate) fn end_of_round(&mut self, context: &mut Context) {
        self.engine.end_of_round(&mut self.actions);
        self.queue_actions(context);
    }

    /// Notes the progress of a flow, for clients that follow it.
    pub(super) fn note_step(&mut self, flow: FlowId, step: &'static str) {
        self.steps.note(flow, step);
    }

    /// Returns the steps since the last call, in order.
    pub(crate) fn take_steps(&mut self, watched: bool) -> Vec<(FlowId, &'static str)> {
        self.steps.take(watched)
    }

    /// Queues the engine's actions as work of the round.
    fn queue_actions(&mut self, context: &mut Context) {
        let actions = self.actions.drain(..);
        context.work.extend(actions.map(Work::Engine));
    }
}
