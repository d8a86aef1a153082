//! Flows that are set aside, and flows that come back from their journals.

use crate::errors;
use crate::event::{Reply, Token};
use crate::flows::filter::{FlowFilter, Standing, standing};
use crate::flows::orders::{ORDERED_FLOWS_MAX, Order, Ordered, is_for};
use crate::kernel::Kernel;
use crate::pages::row_page;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{journal_key, split_journal_row};
use flow::{FlowError, FlowId, Kill, Pause};
use primitives::Timestamp;

/// Most flows that come back from their journals in one round.
const REVIVED_A_ROUND_MAX: usize = 64;
/// Rows and bytes of a journal read at once.
const PAGE: (usize, usize) = (10_000, 4 << 20);
/// Most flows that the answer to an order names.
const NAMED_MAX: usize = 100;

impl Kernel {
    /// Whether so many flows are kept that no more are started.
    pub(crate) fn keeps_too_many(&self) -> bool {
        self.hospital.kept.len() >= self.context.options.kept_flows_max
    }

    /// A flow takes no step any more: nothing is done for it, but its locks stay.
    fn set_aside(&mut self, flow: FlowId) {
        self.hospital.dismiss(&flow);
        self.hospital
            .rows_in
            .insert(flow, self.context.commits.next());
        self.forget_requests_of(flow);
        self.waits.cancel_flow(flow);
        self.look_ups.cancel_flow(flow);
        while let Some(item) = self.intake.of_flow(flow) {
            self.drop_item(item);
        }
    }

    pub(crate) fn on_flow_retrying(&mut self, flow: FlowId, reason: &FlowError, at: Timestamp) {
        self.set_aside(flow);
        self.context.figures.flow_retries += 1;
        let in_ms = at.since_ms(self.context.now.wall).unwrap_or(0);
        // Read from the store after the clock was set back, it can be far off.
        let in_ms = in_ms.min(self.context.options.flow.retry_wait_max_ms());
        let due = self.context.now.monotonic.plus_ms(in_ms);
        let due = due.unwrap_or(self.context.now.monotonic);
        self.hospital.due.insert((due, flow));
        self.hospital.at.insert(flow, due);
        if let Some(live) = self.clients.live_mut(&flow) {
            live.step = "waiting to be tried again";
        }
        let text = format!("flow {flow} is tried again in {in_ms} ms: {reason}");
        self.context.inform(errors::RETRIED.code, text);
    }

    pub(crate) fn on_flow_parked(&mut self, flow: FlowId, reason: &FlowError) {
        self.set_aside(flow);
        let is_ours = self
            .runner
            .engine()
            .status(&flow)
            .and_then(|status| status.start)
            .is_none_or(|start| start.origin.is_none());
        if is_ours {
            self.hospital.kept.insert(flow);
        }
        self.context.warn(
            errors::PARKED.code,
            format!("flow {flow} is parked: {reason}"),
        );
        self.stand_still(flow, &reason.to_string());
    }

    pub(crate) fn on_flow_paused(&mut self, flow: FlowId) {
        self.set_aside(flow);
        self.hospital.paused.insert(flow);
        self.stand_still(flow, "paused by an operator");
    }

    fn stand_still(&mut self, flow: FlowId, step: &str) {
        let (waits, place) = self.clients.park(flow, step);
        if let Some(place) = place {
            self.starts.free_place(place, self.context.now.monotonic);
        }
        for (token, _) in waits {
            let step = step.to_owned();
            self.context.reply(
                token,
                Reply::Running {
                    flow,
                    step,
                    standing: self.standing_of(&flow),
                },
            );
        }
    }

    pub(crate) fn standing_of(&self, flow: &FlowId) -> Standing {
        let status = self.runner.engine().status(flow);
        status.map_or(Standing::Running, |status| standing(&status))
    }

    /// Whether flows wait only for this round to come back.
    pub(crate) fn can_revive(&self) -> bool {
        let hospital = &self.hospital;
        hospital.wanted.iter().any(|flow| self.is_readable(flow))
    }

    pub(crate) fn is_readable(&self, flow: &FlowId) -> bool {
        let written = self.hospital.rows_in.get(flow).copied().unwrap_or(0);
        self.runner.engine().is_written(flow) && written <= self.context.commits.durable()
    }

    /// Brings back flows whose time has come or that an operator wants back.
    pub(crate) fn revive(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while let Some((at, flow)) = self.hospital.due.first().copied() {
            if at > self.context.now.monotonic {
                break;
            }
            self.hospital.forget_time(&flow);
            self.hospital.wanted.insert(flow);
        }
        let wanted = self.hospital.wanted.iter();
        let ready: Vec<FlowId> = wanted
            .copied()
            .filter(|flow| self.is_readable(flow))
            .take(REVIVED_A_ROUND_MAX)
            .collect();
        for flow in ready {
            self.revive_one(flow, reads)?;
        }
        Ok(())
    }

    fn revive_one(&mut self, flow: FlowId, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.bring_back(flow, reads)?;
        self.settle(reads)
    }

    /// Brings a flow back from its journal. Nothing that it asks for is carried out before the kernel settles.
    pub(crate) fn bring_back(
        &mut self,
        flow: FlowId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let rows = self.journal_of(flow, reads)?;
        let start = self
            .runner
            .engine()
            .status(&flow)
            .and_then(|status| status.start);
        let start =
            start.map(|start| (start.origin.is_none(), start.flow.clone(), start.args.len()));
        let (is_ours, name, args) = start.unwrap_or_default();
        let loaded = self.runner.load(flow, &rows);
        self.hospital.dismiss(&flow);
        let out = self
            .selection
            .keep_only(flow.0, &loaded.locked, self.context.now.monotonic);
        if let Some(place) = self.clients.unpark(&flow, is_ours) {
            *place = Some(
                self.starts
                    .admission
                    .take(&name, args, self.context.now.monotonic),
            );
        }
        self.runner.retry(flow, reads, &mut self.context);
        self.on_selection(out);
        Ok(())
    }

    /// The rows of a flow's journal, its chart last.
    fn journal_of(
        &self,
        flow: FlowId,
        reads: &dyn Reads,
    ) -> Result<Vec<(u32, Vec<u8>)>, StoreFailure> {
        let mut rows = Vec::new();
        let mut from = journal_key(&flow, 0);
        let to = crate::rows::prefix_end(flow.as_bytes());
        loop {
            let page = row_page(reads, Table::Journal, from, to.as_deref(), PAGE.0, PAGE.1)?;
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

    /// An operator's order for flows that meet a filter, after an id, in order of their ids.
    pub(crate) fn on_order(
        &mut self,
        order: Order,
        filter: &FlowFilter,
        after: Option<FlowId>,
        (dry_run, token): (bool, Token),
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if !dry_run
            && self.starts.is_drained_for_good()
            && matches!(order, Order::Retry | Order::Resume)
        {
            let rejection = errors::rejection(&errors::DRAINING, "the node is drained");
            self.context.reply(token, Reply::Rejected(rejection));
            return Ok(());
        }
        let mut answer = Ordered::default();
        let mut last = None;
        for flow in self.runner.engine().flow_ids() {
            if after.is_some_and(|after| flow <= after) {
                continue;
            }
            let Some(status) = self.runner.engine().status(&flow) else {
                continue;
            };
            if !filter.meets(&status, self.context.now.wall) || !is_for(order, &status.stage) {
                continue;
            }
            if answer.matched as usize >= ORDERED_FLOWS_MAX {
                answer.next = last;
                break;
            }
            last = Some(flow);
            answer.matched += 1;
            if answer.flows.len() < NAMED_MAX {
                answer.flows.push(flow);
            }
            if !dry_run {
                self.carry_out(order, flow, &mut answer, reads)?;
            }
        }
        self.context.reply(token, Reply::Ordered(answer));
        Ok(())
    }

    fn carry_out(
        &mut self,
        order: Order,
        flow: FlowId,
        answer: &mut Ordered,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let done = match order {
            Order::Retry | Order::Resume if self.release_shelved(flow) => true,
            Order::Retry | Order::Resume => {
                self.hospital.forget_time(&flow);
                self.hospital.wanted.insert(flow);
                true
            }
            Order::Pause => self.runner.pause(flow, &mut self.context) == Pause::Done,
            Order::Kill => self.kill_flow(flow, reads)? == Kill::Done,
        };
        answer.done += u64::from(done);
        answer.waiting += u64::from(!done);
        Ok(())
    }
}
