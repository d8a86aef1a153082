//! The clients that follow the progress of flows.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flow::FlowId;
use tokio::sync::Notify;

/// Steps held for a follower that has not read them.
const STEPS_HELD_MAX: usize = 64;

/// All followers of a node. Publishing costs nothing while there are none.
#[derive(Debug, Default)]
pub struct Followers {
    open: Mutex<HashMap<FlowId, Vec<Arc<Steps>>>>,
    count: AtomicUsize,
}

/// One follower; dropping it ends the following.
#[derive(Debug)]
pub(super) struct Follower {
    followers: Arc<Followers>,
    flow: FlowId,
    steps: Arc<Steps>,
}

/// More steps came than are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missed;

#[derive(Debug, Default)]
struct Steps {
    held: Mutex<FollowerQueue>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct FollowerQueue {
    steps: VecDeque<&'static str>,
    missed: bool,
}

impl Followers {
    /// Returns whether any flow has a follower.
    pub fn is_watched(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Gives followers the new steps of flows. Never blocks.
    pub fn publish(&self, steps: &[(FlowId, &'static str)]) {
        if steps.is_empty() || !self.is_watched() {
            return;
        }
        let open = lock(&self.open);
        for (flow, step) in steps {
            for follower in open.get(flow).into_iter().flatten() {
                let mut held = lock(&follower.held);
                if held.steps.len() < STEPS_HELD_MAX {
                    held.steps.push_back(step);
                } else {
                    held.missed = true;
                }
                drop(held);
                follower.arrived.notify_one();
            }
        }
    }

    /// Follows a flow from now on.
    pub(super) fn follow(self: &Arc<Self>, flow: FlowId) -> Follower {
        let steps = Arc::new(Steps::default());
        let mut open = lock(&self.open);
        open.entry(flow).or_default().push(Arc::clone(&steps));
        drop(open);
        self.count.fetch_add(1, Ordering::AcqRel);
        Follower {
            followers: Arc::clone(self),
            flow,
            steps,
        }
    }
}

impl Follower {
    /// Takes the steps that have arrived and were not read yet, without waiting.
    pub(super) fn read(&self) -> Result<VecDeque<&'static str>, Missed> {
        let mut held = lock(&self.steps.held);
        if held.missed {
            return Err(Missed);
        }
        Ok(std::mem::take(&mut held.steps))
    }

    /// Waits until something has arrived.
    pub(super) async fn arrived(&self) {
        self.steps.arrived.notified().await;
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut open = lock(&self.followers.open);
        if let Some(of_flow) = open.get_mut(&self.flow) {
            of_flow.retain(|steps| !Arc::ptr_eq(steps, &self.steps));
            if of_flow.is_empty() {
                open.remove(&self.flow);
            }
        }
        drop(open);
        self.followers.count.fetch_sub(1, Ordering::AcqRel);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_hear_of_their_flow_only_and_leave_nothing_behind() {
        let followers = Arc::new(Followers::default());
        let (a, b) = (FlowId::derive(&[b"a"]), FlowId::derive(&[b"b"]));
        followers.publish(&[(a, "nobody hears")]);
        let (first, second) = (followers.follow(a), followers.follow(a));
        followers.publish(&[(a, "one"), (b, "other"), (a, "two")]);
        assert_eq!(first.read(), Ok(["one", "two"].into()));
        assert_eq!(first.read(), Ok(VecDeque::new()));
        drop(first);
        for _ in 0..STEPS_HELD_MAX {
            followers.publish(&[(a, "more")]);
        }
        assert_eq!(second.read(), Err(Missed));
        drop(second);
        assert!(!followers.is_watched() && lock(&followers.open).is_empty());
    }
}
