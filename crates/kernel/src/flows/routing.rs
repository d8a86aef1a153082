//! The router's dealings with the flows: the end of a flow, an order about flows, and the return of a flow concern several parts.

use flow::{FlowId, Kill};
use primitives::{Monotonic, Timestamp};

use crate::errors;
use crate::event::{Reply, Token};
use crate::flows::admission::Room;
use crate::flows::filter::FlowFilter;
use crate::flows::orders::{ORDERED_FLOWS_MAX, Order, Ordered};
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

/// Flows that come back before the node is up: few enough to delay no start noticeably.
pub(crate) const AT_ONCE_MAX: usize = 64;
/// Flows that come back in one round.
pub(crate) const WAKES_A_ROUND_MAX: usize = 64;
/// Most flows that the answer to an order names.
const NAMED_MAX: usize = 100;

impl Kernel {
    /// Returns the room for starts, so that a shell need not ask for each one. It is unbounded while all starts are refused for
    /// another reason, because the kernel has to give that reason.
    pub fn room(&self) -> Room {
        self.flows.room(self.is_rolled_back(), &self.context)
    }

    pub(crate) fn on_cancel(
        &mut self,
        flow: FlowId,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.flows.cancel_queued(flow, token, &mut self.context) {
            return Ok(());
        }
        let reply = match self.kill_flow(flow, reads)? {
            Kill::Done => Reply::Done,
            Kill::Waiting => {
                let text = format!("flow {flow} waits for the notary");
                Reply::Rejected(errors::rejection(&errors::KILL_PENDING, text))
            }
            Kill::Unknown => {
                let text = format!("no live flow {flow}");
                Reply::Rejected(errors::rejection(&errors::UNKNOWN_FLOW_ID, text))
            }
        };
        self.context.reply(token, reply);
        Ok(())
    }

    fn kill_flow(&mut self, flow: FlowId, reads: &dyn Reads) -> Result<Kill, StoreFailure> {
        self.flows.wake_to_kill(flow, &mut self.context, reads)?;
        self.route(reads)?;
        Ok(self.flows.kill(flow, &mut self.context))
    }

    /// Brings flows of the store back, at most so many.
    pub(crate) fn wake(&mut self, count: usize, reads: &dyn Reads) -> Result<(), StoreFailure> {
        for _ in 0..count {
            let Some(flow) = self.flows.next_to_wake(&self.context) else {
                break;
            };
            self.flows.wake(flow, &mut self.context, reads)?;
            self.route(reads)?;
            self.flows.kill_if_asked(flow, &mut self.context);
            self.settle(reads)?;
        }
        Ok(())
    }

    /// Brings back flows whose time has come or that an operator wants back.
    pub(crate) fn revive(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        for flow in self.flows.take_revivable(&self.context) {
            self.flows.bring_back(flow, &mut self.context, reads)?;
            self.route(reads)?;
            self.settle(reads)?;
        }
        Ok(())
    }

    /// Queues the scheduled starts whose time has come, while they may be started and there is room.
    pub(crate) fn queue_scheduled(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while self.takes_scheduled() {
            let flows = &self.flows;
            let known = |key: &primitives::Hash| flows.known_start(key, reads);
            let context = &mut self.context;
            let Some(queued) = self.schedule.next_start(&known, context, reads)? else {
                break;
            };
            self.flows.queue_scheduled(queued);
        }
        Ok(())
    }

    fn takes_scheduled(&self) -> bool {
        let is_rolled_back = self.is_rolled_back();
        self.flows.takes_scheduled(is_rolled_back, &self.context)
    }

    /// Returns the time of the next scheduled start. There is none without room, because the end of a flow is a round of its own.
    pub(crate) fn next_scheduled(&self) -> Option<Timestamp> {
        self.schedule.next_time().filter(|_| self.takes_scheduled())
    }

    /// Runs queued starts while there is room, in several rounds if there are many.
    pub(crate) fn start_queued(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let mut begun = 0;
        while self.flows.start_next(begun, &mut self.context) {
            begun += 1;
            self.route(reads)?;
            self.settle(reads)?;
        }
        Ok(())
    }

    /// Returns the time at which the wait for peers is over.
    pub(crate) fn next_meeting(&self) -> Option<Monotonic> {
        let next = self.flows.next_meeting();
        next.filter(|_| !self.is_rolled_back())
    }

    /// Returns the time at which this notary judges at the latest, if it waits for witnesses: until then requests stay in its queue.
    pub(crate) fn judges_from(&self) -> Option<Monotonic> {
        let is_notary = self.notarisation.is_some() && !self.is_rolled_back();
        is_notary
            .then(|| self.flows.notary_waits(self.context.now.monotonic))
            .flatten()
    }

    /// Carries an operator's order out for flows that meet a filter, after an id, in order of their ids.
    pub(crate) fn on_order(
        &mut self,
        order: Order,
        filter: &FlowFilter,
        after: Option<FlowId>,
        (dry_run, token): (bool, Token),
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let lets_back = matches!(order, Order::Retry | Order::Resume);
        if !dry_run && lets_back && self.flows.is_drained_for_good() {
            let rejection = errors::rejection(&errors::DRAINING, "the node is drained");
            self.context.reply(token, Reply::Rejected(rejection));
            return Ok(());
        }
        let mut answer = Ordered::default();
        let mut last = None;
        for flow in self.flows.engine().flow_ids() {
            let now = self.context.now.wall;
            if after.is_some_and(|after| flow <= after)
                || !self.flows.is_ordered(&flow, order, filter, now)
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
                let is_done = self.carry_out(order, flow, reads)?;
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
        self.context.reply(token, Reply::Ordered(answer));
        Ok(())
    }

    fn carry_out(
        &mut self,
        order: Order,
        flow: FlowId,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        Ok(match order {
            Order::Retry | Order::Resume => {
                self.flows.let_back(flow);
                true
            }
            Order::Pause => self.flows.pause(flow, &mut self.context),
            Order::Kill => self.kill_flow(flow, reads)? == Kill::Done,
        })
    }
}
