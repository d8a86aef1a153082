//! The calls of the rest of the kernel into the flows: results of effects, events of the round, and journals.

use flow::{CHART_STEP, EffectResult, FlowEngine, FlowId, FlowStep, FlowStepped};
use flow::{SessionMessage, SleepClocks};
use ledger::{PartyId, SignedTransaction, StateRef, TxId};
use primitives::{Decode, Moment, Timestamp};

use crate::context::Context;
use crate::errors;
use crate::event::{Action, Token};
use crate::figures::{CacheFigures, Figures};
use crate::flows::Flows;
use crate::flows::caller::{Caller, client_of};
use crate::flows::clients::{Clients, LiveFlow};
use crate::flows::waits::EffectId;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{journal_key, journal_row, split_journal_row};

impl Flows {
    /// Returns the engine, for questions about its flows.
    pub(crate) fn engine(&self) -> &FlowEngine {
        self.runner.engine()
    }

    /// Advances the clocks that flows see.
    pub(crate) fn advance(&mut self, now: Moment) {
        self.runner.advance(now);
    }

    /// Gives an effect its result. Its flow continues within this round.
    pub(crate) fn complete(
        &mut self,
        flow: FlowId,
        effect: u32,
        result: EffectResult,
        context: &mut Context,
    ) {
        self.runner.complete(flow, effect, result, context);
    }

    /// Gives a session message of a peer to its flow.
    pub(crate) fn on_session(
        &mut self,
        peer: PartyId,
        message: SessionMessage,
        context: &mut Context,
    ) {
        self.runner.on_session(peer, message, context);
    }

    /// Ends flows whose peers have been silent for too long.
    pub(crate) fn end_idle(&mut self) {
        self.runner.end_idle();
    }

    /// Takes the steps of all flows that have got an input.
    pub(crate) fn take_ready(&mut self) -> Vec<FlowStep> {
        self.runner.take_ready()
    }

    /// Takes the result of a step.
    pub(crate) fn stepped(&mut self, stepped: FlowStepped, context: &mut Context) {
        self.runner.stepped(stepped, context);
    }

    /// Asks for the oldest rows of the history, if some have to be deleted.
    pub(crate) fn tend_history(&mut self, trusts_wall: bool, context: &mut Context) {
        self.history.tend(trusts_wall, context);
    }

    /// Ends a round: each flow that has changed writes one journal row.
    pub(crate) fn end_of_round(&mut self, context: &mut Context) {
        self.runner.end_of_round(context);
    }

    /// Handles a client that no longer waits.
    pub(super) fn detach(&mut self, token: Token) {
        self.clients.detach(token);
        self.starts.queue.detach(token);
    }

    /// Holds starts back while peers have to catch up with deliveries.
    pub(crate) fn note_peers_behind(&mut self, peers_behind: bool) {
        self.starts.admission.note_peers_behind(peers_behind);
    }

    /// Begins the drain of the node.
    pub(crate) fn drain(&mut self) {
        self.starts.drain();
    }

    /// Returns whether the drain was reported as complete. After that no flow may begin to run.
    pub(super) fn is_drained_for_good(&self) -> bool {
        self.starts.is_drained_for_good()
    }

    /// Reports the drain once it is complete.
    pub(crate) fn report_drain(&mut self, context: &mut Context) {
        // Flows that an operator has just wanted back are about to run. Parked ones are among the live ones.
        let running = self.engine().live().saturating_sub(self.clients.parked());
        if self.starts.is_drained(running + self.hospital.wanted()) {
            self.starts.drain_reported();
            context.act(Action::Drained);
        }
    }

    /// Raises the weight of a client's flow, because it handles an item of `bytes`.
    pub(crate) fn weigh(&mut self, flow: &FlowId, bytes: usize) {
        let live = self.clients.live_mut(flow);
        if let Some(place) = live.and_then(|live| live.place.as_mut()) {
            self.starts.admission.weigh(place, bytes);
        }
    }

    /// Writes a row of a flow's journal.
    pub(super) fn write_journal(
        &mut self,
        flow: FlowId,
        step: u32,
        row: &[u8],
        context: &mut Context,
    ) {
        context.figures.journal_rows += 1;
        let number = context.commits.next();
        self.hospital.row_written(&flow, number);
        self.weigh(&flow, row.len());
        let row = journal_row(self.clients.unjournaled(&flow), row);
        let mut rows = context.rows::<Clients>();
        rows.put(Table::Journal, journal_key(&flow, step), row);
    }

    /// Writes the chart of a flow's failures, or deletes it.
    pub(super) fn write_chart(
        &mut self,
        flow: FlowId,
        row: Option<Vec<u8>>,
        context: &mut Context,
    ) {
        let key = journal_key(&flow, CHART_STEP);
        let number = context.commits.next();
        self.hospital.row_written(&flow, number);
        let mut rows = context.rows::<Clients>();
        match row {
            Some(row) => rows.put(Table::Journal, key, journal_row(&[], &row)),
            None => rows.delete(Table::Journal, key),
        }
    }

    /// Deletes the journal of a flow that has ended.
    pub(super) fn delete_journal(&mut self, flow: FlowId, steps: u32, context: &mut Context) {
        let mut rows = context.rows::<Clients>();
        for step in 0..steps {
            rows.delete(Table::Journal, journal_key(&flow, step));
        }
        self.copied.forget(&flow, &mut context.round.batch);
    }

    /// Notes the progress of a flow, for its clients.
    pub(super) fn on_progress(&mut self, flow: FlowId, step: &'static str) {
        if let Some(live) = self.clients.live_mut(&flow) {
            live.step = step;
        }
        self.runner.note_step(flow, step);
    }

    /// Returns the steps that flows came to since the last call, in order.
    pub(crate) fn take_steps(&mut self, watched: bool) -> Vec<(FlowId, &'static str)> {
        self.runner.take_steps(watched)
    }

    /// Answers an effect whose transaction is in the ledger, and counts the transaction among those of the flow.
    pub(super) fn on_recorded(
        &mut self,
        flow: FlowId,
        effect: u32,
        id: TxId,
        context: &mut Context,
    ) {
        self.clients.recorded(flow, id);
        self.complete(flow, effect, EffectResult::Done, context);
    }

    /// Answers an effect whose signatures were checked.
    pub(crate) fn on_checked(
        &mut self,
        flow: FlowId,
        effect: u32,
        is_good: bool,
        context: &mut Context,
    ) {
        let result = if is_good {
            EffectResult::Done
        } else {
            let text = "a signature is not valid";
            EffectResult::Failed(errors::failed(&errors::SIGNATURE_INVALID, text))
        };
        self.complete(flow, effect, result, context);
    }

    /// Gives a transaction that is recorded now to the flows that wait for it.
    pub(crate) fn transaction_recorded(
        &mut self,
        transaction: &SignedTransaction,
        context: &mut Context,
    ) {
        for (flow, effect) in self.waits.recorded(&transaction.id()) {
            let found = Some(transaction.clone());
            self.complete(flow, effect, EffectResult::Transaction(found), context);
        }
    }

    /// Returns whether a flow waits for a transaction.
    pub(crate) fn expects(&self, id: &TxId) -> bool {
        self.waits.expects(id)
    }

    /// Makes an effect wait for a transaction.
    pub(super) fn wait_for_transaction(&mut self, effect: EffectId, id: TxId) {
        self.waits.for_transaction(effect, id);
    }

    /// Makes an effect wait for a time. Returns false if the time has passed.
    pub(crate) fn sleep(
        &mut self,
        effect: EffectId,
        until: Timestamp,
        clocks: SleepClocks,
        trusts_wall: bool,
        now: Moment,
    ) -> bool {
        self.waits.sleep(effect, until, clocks, trusts_wall, now)
    }

    /// Gives their result to effects that wait for a time which has passed.
    pub(crate) fn wake_sleepers(&mut self, trusts_wall: bool, context: &mut Context) {
        while let Some((flow, effect)) = self.waits.due(context.now, trusts_wall) {
            self.complete(flow, effect, EffectResult::Done, context);
        }
    }

    /// Gives up the waits of an effect.
    pub(super) fn cancel_effect(&mut self, effect: EffectId) {
        self.waits.cancel(effect);
        self.look_ups.cancel(effect);
    }

    /// Gives up all waits of a flow.
    pub(crate) fn end_waits(&mut self, flow: FlowId) {
        self.stop_waiting(flow);
    }

    /// Handles the refusal of a transaction by a participant.
    pub(crate) fn on_refused(&mut self, id: &TxId) {
        self.clients.refused(id);
    }

    /// Reads the journal of a flow while the node opens. No flow runs yet. Returns the states that it has locked, and whether the flow
    /// stays as it is.
    pub(super) fn load_journal(
        &mut self,
        flow: FlowId,
        rows: Vec<(u32, Vec<u8>)>,
        context: &Context,
    ) -> (Vec<StateRef>, bool) {
        let bytes = rows.iter().map(|(_, row)| row.len()).sum();
        let mut live = LiveFlow::default();
        let mut steps = Vec::with_capacity(rows.len());
        for (step, value) in rows {
            // A row that is too short does not decode: that flow is parked, the node starts.
            let (recorded, row) = split_journal_row(&value).unwrap_or_default();
            live.transactions.extend(recorded);
            steps.push((step, row.to_vec()));
        }
        let loaded = self.runner.load(flow, &steps);
        if let Some(start) = &loaded.start
            && start.origin.is_none()
        {
            let caller = Caller::from_bytes(&start.caller).ok();
            live.client = caller.as_ref().and_then(client_of);
            let (name, args) = (&start.flow, start.args.len());
            let now = context.now.monotonic;
            live.place = Some(self.starts.admission.take(name, args, now));
        }
        self.clients.resume(flow, live);
        let is_shelved = self.runner.shelve(flow);
        if is_shelved {
            let origin = self.engine().origin_of(&flow);
            let mut peers = self.engine().peers_of(&flow);
            peers.remove(&context.my_id);
            let is_gated = self.gate.hold(flow, peers);
            self.waking.found(flow, origin, bytes, is_gated);
            self.hospital.shelve(flow);
        }
        (loaded.locked, !is_shelved)
    }

    /// Continues a loaded flow that was not shelved.
    pub(crate) fn resume(
        &mut self,
        flow: FlowId,
        reads: &dyn Reads,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        self.runner.resume(flow, reads, context)
    }

    /// Adds the gauges of the flows to the metrics.
    pub(crate) fn add_figures(&self, figures: &mut Figures) {
        figures.flows_live = self.engine().live() as u64;
        figures.flows_bytes = self.starts.admission.bytes() as u64;
        figures.flows_queued = self.starts.queue.len() as u64;
        // Between two commits a paused flow may be counted before it is parked.
        let parked = self.clients.parked();
        figures.flows_parked = parked.saturating_sub(self.hospital.paused()) as u64;
        figures.flows_retrying = self.hospital.retrying() as u64;
        figures.flows_paused = self.hospital.paused() as u64;
        figures.flows_shelved = self.waking.len() as u64;
        figures.flows_in_history = self.history.len();
        figures.held = self.gate.held();
    }

    /// Returns the figures of the cache of outcomes.
    pub(crate) fn cache_figures(&self) -> CacheFigures {
        self.clients.cache_figures()
    }
}
