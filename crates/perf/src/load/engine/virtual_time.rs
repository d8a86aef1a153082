//! A clock that jumps from one event to the next, with the tasks that live on it: an hour of load in a moment, exact to
//! the microsecond, the same every time.
//!
//! Everything runs on the caller's thread. Processor time is the time that tasks [burn](Virtual::burn), while nothing
//! else runs. This can simulate a starved generator.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::clock::{Clock, TICK, Ticks, whole_tick};
use crate::measure::whole_millis;

/// A virtual clock; clones are the same clock.
#[derive(Clone, Default)]
pub struct Virtual {
    world: Arc<Mutex<World>>,
}

#[derive(Default)]
struct World {
    now: Duration,
    burnt: Duration,
    sleepers: BTreeMap<(Duration, u64), Waker>,
    next_sleeper: u64,
    ready: VecDeque<Arc<Task>>,
}

struct Task {
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    queued: AtomicBool,
    world: Arc<Mutex<World>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let world = Arc::clone(&self.world);
            lock(&world).ready.push_back(self);
        }
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl Virtual {
    /// Runs `main` to its end, together with all spawned tasks. Unfinished tasks are then dropped.
    ///
    /// # Panics
    /// Panics if `main` waits for something that no task and no time will bring.
    pub fn run<F: Future>(&self, main: F) -> F::Output {
        let mut main = pin!(main);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        loop {
            if woken.0.swap(false, Ordering::AcqRel)
                && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker))
            {
                self.clear();
                return output;
            }
            let task = lock(&self.world).ready.pop_front();
            if let Some(task) = task {
                task.poll();
            } else if !woken.0.load(Ordering::Acquire) {
                self.advance();
            }
        }
    }

    /// Uses the only processor for this long. All other tasks wait.
    pub fn burn(&self, time: Duration) {
        let mut world = lock(&self.world);
        world.now += time;
        world.burnt += time;
    }

    /// Advances to the next time at which a task wakes.
    fn advance(&self) {
        let mut world = lock(&self.world);
        let ((at, _), waker) = world
            .sleepers
            .pop_first()
            .expect("a task waits for something that never comes");
        world.now = world.now.max(at);
        drop(world);
        waker.wake();
    }

    /// Drops tasks outside the lock, since dropping a sleeper takes it.
    fn clear(&self) {
        let (ready, sleepers) = {
            let mut world = lock(&self.world);
            let ready = std::mem::take(&mut world.ready);
            (ready, std::mem::take(&mut world.sleepers))
        };
        drop((ready, sleepers));
    }
}

impl Task {
    fn poll(self: &Arc<Self>) {
        self.queued.store(false, Ordering::Release);
        let waker = Waker::from(Arc::clone(self));
        let mut future = lock(&self.future);
        if let Some(running) = future.as_mut()
            && running
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
        {
            *future = None;
        }
    }
}

impl Clock for Virtual {
    type Ticks = VirtualTicks;

    fn now(&self) -> Duration {
        lock(&self.world).now
    }

    fn sleep_until(&self, at: Duration) -> impl Future<Output = ()> + Send {
        Sleep {
            clock: self.clone(),
            at,
            number: None,
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = Arc::new(Task {
            future: Mutex::new(Some(Box::pin(task))),
            queued: AtomicBool::new(true),
            world: Arc::clone(&self.world),
        });
        lock(&self.world).ready.push_back(task);
    }

    fn ticks(&self) -> VirtualTicks {
        VirtualTicks {
            clock: self.clone(),
            due: whole_tick(self.now() + TICK),
        }
    }

    fn processor_time(&self) -> Duration {
        lock(&self.world).burnt
    }

    fn unix_ms(&self, at: Duration) -> u64 {
        whole_millis(at)
    }
}

/// See [`Clock::ticks`].
pub struct VirtualTicks {
    clock: Virtual,
    due: Duration,
}

impl Ticks for VirtualTicks {
    async fn next(&mut self) -> Duration {
        let due = self.due;
        self.clock.sleep_until(due).await;
        self.due = whole_tick(self.clock.now().max(due + TICK));
        due
    }
}

struct Sleep {
    clock: Virtual,
    at: Duration,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let world = Arc::clone(&self.clock.world);
        let mut world = lock(&world);
        if world.now >= self.at {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| {
            world.next_sleeper += 1;
            world.next_sleeper
        });
        world
            .sleepers
            .insert((self.at, number), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let gone = lock(&self.clock.world).sleepers.remove(&(self.at, number));
            // Outside the lock: a waker may be the last that holds a task with sleepers of its own.
            drop(gone);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_wake_in_the_order_of_their_times() {
        let clock = Virtual::default();
        let (to, mut from) = tokio::sync::mpsc::unbounded_channel();
        let seen = clock.run(async {
            for at in [30, 10, 20] {
                let (clock, to) = (clock.clone(), to.clone());
                clock.clone().spawn(async move {
                    let at = Duration::from_secs(at);
                    clock.sleep_until(at).await;
                    to.send(clock.now()).expect("somebody listens");
                });
            }
            drop(to);
            let mut seen = Vec::new();
            while let Some(at) = from.recv().await {
                seen.push(at.as_secs());
            }
            seen
        });
        assert_eq!(seen, [10, 20, 30]);
        assert_eq!(clock.now(), Duration::from_secs(30));
    }

    #[test]
    fn burning_makes_ticks_late() {
        let clock = Virtual::default();
        let (due, now) = clock.run(async {
            let mut ticks = clock.ticks();
            clock.burn(Duration::from_millis(50));
            (ticks.next().await, clock.now())
        });
        assert_eq!(due, TICK);
        assert_eq!(now, Duration::from_millis(50));
        assert_eq!(clock.processor_time(), now);
    }

    #[test]
    fn what_is_left_at_the_end_is_dropped() {
        let clock = Virtual::default();
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        clock.run(async {
            let sleeper = clock.clone();
            clock.spawn(async move {
                let _held = held;
                sleeper.sleep_until(Duration::from_secs(1_000)).await;
            });
            clock.sleep_until(Duration::from_secs(1)).await;
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
