//! Setting flows aside, and restoring them from their journals.

use flow::{FlowError, FlowId, Pause};
use primitives::Timestamp;

use crate::command::{Command, SelectionCommand};
use crate::context::Context;
use crate::errors;
use crate::event::Reply;
use crate::flows::Flows;
use crate::flows::filter::{FlowFilter, Standing, standing};
use crate::flows::orders::{Order, is_for};
use crate::pages::{WALK_PAGE, row_page};
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{journal_key, split_journal_row};

/// Maximum number of flows restored from their journals in one round.
const REVIVED_A_ROUND_MAX: usize = 64;
impl Flows {
    /// Returns whether the node keeps so many flows for an operator that no more are started.
    pub(super) fn keeps_too_many(&self, context: &Context) -> bool {
        self.hospital.kept.len() >= context.options.kept_flows_max
    }

    /// Stops all work for a flow that no longer runs. Its locks stay.
    fn set_aside(&mut self, flow: FlowId, context: &mut Context) {
        self.hospital.dismiss(&flow);
        let number = context.commits.next();
        self.hospital.rows_in.insert(flow, number);
        self.stop_waiting(flow);
        context.command(Command::StopWork { flow });
    }

    /// Ends the waits of a flow inside this part.
    pub(super) fn stop_waiting(&mut self, flow: FlowId) {
        self.waits.cancel_flow(flow);
        self.look_ups.cancel_flow(flow);
    }

    /// Handles a flow that is tried again after a while.
    pub(super) fn on_retrying(
        &mut self,
        flow: FlowId,
        reason: &FlowError,
        at: Timestamp,
        context: &mut Context,
    ) {
        self.set_aside(flow, context);
        context.figures.flow_retries += 1;
        // A time that has passed is due at once.
        let in_ms = at.since_ms(context.now.wall).unwrap_or(0);
        // Read from the store after the clock was set back, it can be far off.
        let in_ms = in_ms.min(context.options.flow.retry_wait_max_ms());
        let due = context.now.monotonic.plus_ms(in_ms);
        // A time past the end of time is clipped to now. The wait above is bounded, so this cannot happen in practice.
        let due = due.unwrap_or(context.now.monotonic);
        self.hospital.due.insert((due, flow));
        self.hospital.at.insert(flow, due);
        assert_eq!(
            self.hospital.due.len(),
            self.hospital.at.len(),
            "each flow that is tried again has one time"
        );
        if let Some(live) = self.clients.live_mut(&flow) {
            live.step = "waiting to be tried again";
        }
        let text = format!("flow {flow} is tried again in {in_ms} ms: {reason}");
        context.inform(errors::RETRIED.code, text);
    }

    /// Handles a flow that is kept for an operator.
    pub(super) fn on_parked(&mut self, flow: FlowId, reason: &FlowError, context: &mut Context) {
        self.set_aside(flow, context);
        let status = self.runner.engine().status(&flow);
        let start = status.and_then(|status| status.start);
        if start.is_none_or(|start| start.origin.is_none()) {
            self.hospital.kept.insert(flow);
        }
        let text = format!("flow {flow} is parked: {reason}");
        context.warn(errors::PARKED.code, text);
        self.stand_still(flow, &reason.to_string(), context);
    }

    /// Handles a flow that was paused, by an operator or because it is an older copy's.
    pub(super) fn on_paused(&mut self, flow: FlowId, context: &mut Context) {
        self.set_aside(flow, context);
        self.hospital.paused.insert(flow);
        self.stand_still(flow, "paused until an operator resumes it", context);
    }

    fn stand_still(&mut self, flow: FlowId, step: &str, context: &mut Context) {
        let (waits, place) = self.clients.park(flow, step);
        if let Some(place) = place {
            self.starts.free_place(place, context.now.monotonic);
        }
        for (token, _) in waits {
            let step = step.to_owned();
            let standing = self.standing_of(&flow);
            context.reply(
                token,
                Reply::Running {
                    flow,
                    step,
                    standing,
                },
            );
        }
    }

    /// Returns the standing of a flow, as clients see it.
    pub(super) fn standing_of(&self, flow: &FlowId) -> Standing {
        let status = self.runner.engine().status(flow);
        status.map_or(Standing::Running, |status| standing(&status))
    }

    /// Returns whether flows are ready to be restored in this round.
    pub(crate) fn can_revive(&self, context: &Context) -> bool {
        let mut wanted = self.hospital.wanted.iter();
        wanted.any(|flow| self.is_readable(flow, context))
    }

    /// Returns whether all rows of a flow's journal are durable.
    pub(super) fn is_readable(&self, flow: &FlowId, context: &Context) -> bool {
        // The rows of a flow that was not set aside in this run are durable since before the start.
        let written = self.hospital.rows_in.get(flow).copied().unwrap_or(0);
        self.runner.engine().is_written(flow) && written <= context.commits.durable()
    }

    /// Returns the flows to restore in this round: their retry is due, or an operator has ordered it.
    pub(crate) fn take_revivable(&mut self, context: &Context) -> Vec<FlowId> {
        while let Some((at, flow)) = self.hospital.due.first().copied() {
            if at > context.now.monotonic {
                break;
            }
            self.hospital.want(flow);
        }
        let wanted = self.hospital.wanted.iter().copied();
        wanted
            .filter(|flow| self.is_readable(flow, context))
            .take(REVIVED_A_ROUND_MAX)
            .collect()
    }

    /// Brings a flow back from its journal. Nothing that it asks for is carried out before the kernel settles.
    pub(crate) fn bring_back(
        &mut self,
        flow: FlowId,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let rows = journal_of(flow, reads)?;
        let status = self.runner.engine().status(&flow);
        let start = status.and_then(|status| status.start);
        let start =
            start.map(|start| (start.origin.is_none(), start.flow.clone(), start.args.len()));
        // A start that cannot be read is not counted among those of clients.
        let (is_ours, name, args) = start.unwrap_or_default();
        let locked = self.runner.load(flow, &rows).locked;
        self.hospital.dismiss(&flow);
        if let Some(place) = self.clients.unpark(&flow, is_ours) {
            let admission = &mut self.starts.admission;
            *place = Some(admission.take(&name, args, context.now.monotonic));
        }
        self.runner.retry(flow, reads, context)?;
        let states = locked;
        context.command(SelectionCommand::KeepOnly { flow, states });
        Ok(())
    }

    /// Returns whether an operator's order is for a flow, and the flow meets the order's filter.
    pub(super) fn is_ordered(
        &self,
        flow: &FlowId,
        order: Order,
        filter: &FlowFilter,
        now: Timestamp,
    ) -> bool {
        let status = self.runner.engine().status(flow);
        status.is_some_and(|status| filter.meets(&status, now) && is_for(order, &status.stage))
    }

    /// Restores a flow by an operator's order.
    pub(super) fn let_back(&mut self, flow: FlowId) {
        if !self.release_shelved(flow) {
            self.hospital.want(flow);
        }
    }

    /// Pauses a flow for an operator. Returns false if it pauses later.
    pub(crate) fn pause(&mut self, flow: FlowId, context: &mut Context) -> bool {
        self.runner.pause(flow, context) == Pause::Done
    }
}

/// Reads the rows of a flow's journal, its chart last.
fn journal_of(flow: FlowId, reads: &dyn Reads) -> Result<Vec<(u32, Vec<u8>)>, StoreFailure> {
    let mut rows = Vec::new();
    let mut from = journal_key(&flow, 0);
    let to = crate::rows::prefix_end(flow.as_bytes());
    loop {
        let page = row_page(
            reads,
            Table::Journal,
            from,
            to.as_deref(),
            WALK_PAGE.0,
            WALK_PAGE.1,
        )?;
        for (key, value) in &page.rows {
            let step = key
                .last_chunk::<4>()
                .map_or(0, |step| u32::from_be_bytes(*step));
            // A row that cannot be split does not decode either, so the flow is parked.
            let row = split_journal_row(value).map_or(&[][..], |(_, row)| row);
            rows.push((step, row.to_vec()));
        }
        match page.rows.last() {
            Some((last, _)) if page.more => from = crate::pages::after(last),
            _ => return Ok(rows),
        }
    }
}
