//! The orders of operators and clients, carried out: flows are listed, cancelled, killed, paused and let back.

use flow::{FlowId, Kill};
use ledger::Rejection;

use crate::context::Context;
use crate::errors;
use crate::event::{Reply, Token};
use crate::flows::Flows;
use crate::flows::filter::FlowFilter;
use crate::flows::orders::{ORDERED_FLOWS_MAX, Order, Ordered};
use crate::flows::starting::refused_on_older_copy;
use crate::flows::views::FlowViews;
use crate::port::{Reads, StoreFailure};

/// Returns the refusal of an order for one flow that is carried out only after the notary's answer.
fn waits_for_notary(flow: &FlowId) -> Rejection {
    let text = format!("flow {flow} waits for the notary");
    errors::rejection(&errors::KILL_PENDING, text)
}

/// Maximum number of flows that the answer to an order names.
const NAMED_MAX: usize = 100;

impl Flows {
    /// Tells a client the flows that meet a filter, after an id, in order of their ids.
    pub(crate) fn list(
        &self,
        filter: &FlowFilter,
        after: Option<FlowId>,
        limit: usize,
        token: Token,
        context: &mut Context,
    ) {
        let ids = self.engine().flow_ids().into_iter();
        let ids = ids.filter(|id| after.is_none_or(|after| *id > after));
        let flows = ids
            .filter_map(|id| self.engine().status(&id))
            .filter(|status| filter.meets(status, context.now.wall));
        let flows = flows.take(limit).collect();
        context.reply(token, Reply::Flows(flows));
    }

    /// Cancels a flow for a client.
    pub(super) fn on_cancel(
        &mut self,
        flow: FlowId,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.cancel_queued(flow, token, context) {
            return Ok(());
        }
        let reply = match self.kill_in_any_stage(flow, context, reads)? {
            Kill::Done => Reply::Done,
            Kill::Waiting => Reply::Rejected(waits_for_notary(&flow)),
            Kill::Unknown => {
                let text = format!("no live flow {flow}: it has ended, or never was");
                Reply::Rejected(errors::rejection(&errors::UNKNOWN_FLOW_ID, text))
            }
        };
        context.reply(token, reply);
        Ok(())
    }

    fn kill_in_any_stage(
        &mut self,
        flow: FlowId,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<Kill, StoreFailure> {
        self.wake_to_kill(flow, context, reads)?;
        Ok(self.kill(flow, context))
    }

    /// Carries an operator's order out for flows that meet a filter, after an id, in order of their ids.
    pub(crate) fn on_order(
        &mut self,
        order: Order,
        filter: &FlowFilter,
        after: Option<FlowId>,
        (dry_run, token): (bool, Token),
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let reads = views.reads;
        let lets_back = matches!(order, Order::Retry | Order::Resume);
        if !dry_run && lets_back && self.is_drained_for_good() {
            let rejection = errors::rejection(&errors::DRAINING, "the node is drained");
            context.reply(token, Reply::Rejected(rejection));
            return Ok(());
        }
        if let Some(data_until) = views.older_copy.filter(|_| !dry_run && lets_back) {
            context.reply(token, Reply::Rejected(refused_on_older_copy(data_until)));
            return Ok(());
        }
        let mut answer = Ordered::default();
        let mut last = None;
        for flow in self.engine().flow_ids() {
            let now = context.now.wall;
            if after.is_some_and(|after| flow <= after)
                || !self.is_ordered(&flow, order, filter, now)
            {
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
                let is_done = self.carry_out(order, flow, context, reads)?;
                answer.done += u64::from(is_done);
                answer.waiting += u64::from(!is_done);
            }
        }
        assert!(
            dry_run || answer.done + answer.waiting == answer.matched,
            "an order for {} flows was carried out for {} and waits for {}",
            answer.matched,
            answer.done,
            answer.waiting
        );
        let reply = match filter.flow {
            Some(flow) if answer.waiting > 0 => Reply::Rejected(waits_for_notary(&flow)),
            _ => Reply::Ordered(answer),
        };
        context.reply(token, reply);
        Ok(())
    }

    fn carry_out(
        &mut self,
        order: Order,
        flow: FlowId,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        Ok(match order {
            Order::Retry | Order::Resume => {
                self.let_back(flow);
                true
            }
            Order::Pause => self.pause(flow, context),
            Order::Kill => self.kill_in_any_stage(flow, context, reads)? == Kill::Done,
        })
    }
}
