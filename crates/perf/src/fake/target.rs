//! The fake target itself.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::behaviour::Behaviour;
use super::queue::Queue;
use crate::load::Fault;
use crate::load::engine::{Clock, Driven, Ended};

/// The code of a unit that is refused because too many are waiting.
const BUSY: &str = "fake.busy";

/// A target on a clock. It is exact on a virtual clock. On the real one, units end up to two milliseconds late.
pub struct Target<C> {
    clock: C,
    behaviour: Behaviour,
    queue: Mutex<Queue>,
    /// The origin of its stalls.
    begun: Duration,
}

impl<C: Clock> Target<C> {
    /// Creates a target that begins now.
    pub fn new(clock: &C, behaviour: Behaviour) -> Self {
        Self {
            clock: clock.clone(),
            queue: Mutex::new(Queue::new(&behaviour)),
            behaviour,
            begun: clock.now(),
        }
    }

    /// Runs one unit to its end. Returns the number of retries and the outcome.
    pub async fn serve(&self, unit: u64) -> (u32, Result<(), Fault>) {
        let unit = self.behaviour.unit(unit);
        let now = self.clock.now() - self.begun;
        let end = {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.end(now, unit.service)
        };
        let fault = |code: &str, message: &str| Fault {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        let Some(end) = end else {
            return (
                0,
                Err(fault(BUSY, "too many units wait at the fake target")),
            );
        };
        self.clock.sleep_until(self.begun + end).await;
        let outcome = match unit.error {
            None => Ok(()),
            Some(code) => Err(fault(&code, "the fake target fails some units on purpose")),
        };
        (unit.retries, outcome)
    }
}

impl<C: Clock> Driven for Target<C> {
    async fn run(&self, _slot: u32, unit: u64, _due: Duration) -> Ended {
        let (retries, outcome) = self.serve(unit).await;
        Ended {
            work: 0,
            outcome,
            retries,
        }
    }
}
