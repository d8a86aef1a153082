//! The turns of flows in a round: flows to restore, and queued starts. The room for flows depends on the work of those that run. So
//! their jobs are also done before the end of the round, as soon as
//! [`gathered_jobs_max`](crate::KernelOptions::gathered_jobs_max) are gathered.

use primitives::{Hash, Monotonic, Timestamp};

use crate::flows::admission::StartCapacity;
use crate::flows::queue::RoundStarts;
use crate::kernel::Kernel;
use crate::peers::lag::AHEAD_MAX;
use crate::port::{Reads, StoreFailure};

/// Maximum number of flows restored before the node is up. So few delay no start noticeably.
pub(super) const AT_ONCE_MAX: usize = 64;
/// Maximum number of flows restored in one round.
const WAKES_A_ROUND_MAX: usize = 64;
/// Maximum number of rows of the schedule that one round takes: starts that it queues, and starts that it refuses.
const SCHEDULED_ROWS_MAX: usize = 64;

impl Kernel {
    /// Returns the room for starts, so that a shell need not ask for each one. It is unbounded while all starts are refused for
    /// another reason, because the kernel has to give that reason.
    pub fn start_capacity(&self) -> StartCapacity {
        let is_rolled_back = self.integrity.is_rolled_back();
        self.flows.start_capacity(is_rolled_back, &self.context)
    }

    /// Gives their turns to all flows that may run, within the limits of a round.
    pub(super) fn run_flows(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.flows.end_idle();
        let ahead = self.links.lagging_rows(self.context.now.monotonic);
        self.flows.note_peers_behind(ahead >= AHEAD_MAX);
        self.queue_scheduled(reads)?;
        self.revive(reads)?;
        if !self.integrity.is_rolled_back() {
            self.flows.end_meeting(&mut self.context);
        }
        self.wake(WAKES_A_ROUND_MAX, reads)?;
        self.start_queued(reads)
    }

    /// Restores flows of the store, at most `count`.
    pub(super) fn wake(&mut self, count: usize, reads: &dyn Reads) -> Result<(), StoreFailure> {
        for _ in 0..count {
            let Some(flow) = self.flows.next_to_wake(&self.context) else {
                break;
            };
            self.flows.wake(flow, &mut self.context, reads)?;
            self.route(reads)?;
            self.flows.kill_if_asked(flow, &mut self.context);
            self.proceed(reads)?;
        }
        Ok(())
    }

    /// Restores flows whose retry is due or whose return an operator has ordered.
    fn revive(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        for flow in self.flows.take_revivable(&self.context) {
            self.flows.bring_back(flow, &mut self.context, reads)?;
            self.route(reads)?;
            self.proceed(reads)?;
        }
        Ok(())
    }

    /// Queues the scheduled starts whose time has come, while they may be started and there is room, in several rounds if there are many.
    fn queue_scheduled(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let mut rows_left = SCHEDULED_ROWS_MAX;
        while self.takes_scheduled() {
            let flows = &self.flows;
            let known = |key: &Hash| flows.known_start(key, reads);
            let context = &mut self.context;
            let next = self
                .schedule
                .next_start(&mut rows_left, &known, context, reads)?;
            let Some(queued) = next else {
                break;
            };
            self.flows.queue_scheduled(queued);
        }
        Ok(())
    }

    fn takes_scheduled(&self) -> bool {
        let is_rolled_back = self.integrity.is_rolled_back();
        self.flows.takes_scheduled(is_rolled_back, &self.context)
    }

    /// Returns the time of the next scheduled start, or `None` while no start can be queued. The end of a flow, which makes room,
    /// begins a round anyway.
    pub(super) fn next_scheduled(&self) -> Option<Timestamp> {
        self.schedule.next_time().filter(|_| self.takes_scheduled())
    }

    /// Runs queued starts while there is room, in several rounds if there are many.
    fn start_queued(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let mut begun = RoundStarts::default();
        while self.flows.start_next(&mut begun, &mut self.context) {
            self.route(reads)?;
            self.proceed(reads)?;
        }
        Ok(())
    }

    /// Returns the time at which the wait for peers is over.
    pub(super) fn next_meeting(&self) -> Option<Monotonic> {
        let next = self.flows.next_meeting();
        next.filter(|_| !self.integrity.is_rolled_back())
    }

    /// Returns the time at which this notary judges at the latest, if it waits for witnesses: until then requests stay in its queue.
    pub(super) fn judges_from(&self) -> Option<Monotonic> {
        // No peer vouches for a shared record.
        let notarisation = self.notarisation.as_ref().filter(|one| !one.is_shared());
        let judges = notarisation.is_some() && !self.integrity.is_rolled_back();
        judges
            .then(|| self.flows.notary_waits(self.context.now.monotonic))
            .flatten()
    }
}
