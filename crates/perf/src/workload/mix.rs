//! Several kinds of work by weight, combined for the load engine.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Poll;
use std::time::Duration;

use thiserror::Error;

use super::boxed::Boxed;
use super::codes::{NO_WORKER, WORKER_PANICKED};
use super::ended::{Failed, Tried};
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Site, Workloads};
use crate::load::engine::{Driven, Ended};
use crate::plan::Work;

/// An error in the work of a mix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("work {}: {error}", .at + 1)]
pub struct MixError {
    /// Index of the scenario's work, from 0.
    pub at: usize,
    /// The knob, and the allowed values.
    #[source]
    pub error: KnobError,
}

/// A mix of work. The work of a unit follows from the seed and the unit's number.
pub struct Mix {
    parts: Vec<Part>,
    weights: u64,
    seed: u64,
    workers: RwLock<Vec<Arc<Slot>>>,
}

struct Part {
    label: String,
    weight: u64,
    /// Its knobs as text.
    knobs: String,
    workload: Arc<dyn Workload>,
}

/// One worker of each kind.
struct Slot {
    site: Arc<Site>,
    workers: Vec<Box<dyn Worker>>,
}

impl Mix {
    /// Creates a mix of a scenario's work, at least one kind.
    pub fn new(workloads: &Workloads, work: &[Work], seed: u64) -> Result<Self, MixError> {
        if work.is_empty() {
            let error = KnobError::new("work", "at least one kind of work is needed");
            return Err(MixError { at: 0, error });
        }
        let parts = work.iter().enumerate().map(|(at, work)| {
            let workload = workloads
                .make(&work.kind, &work.knobs)
                .map_err(|error| MixError { at, error })?;
            Ok(Part {
                label: work.label.clone(),
                weight: u64::from(work.weight.max(1)),
                knobs: format!("{:?}", work.knobs),
                workload,
            })
        });
        let parts: Vec<Part> = parts.collect::<Result<_, MixError>>()?;
        Ok(Self {
            weights: parts.iter().map(|part| part.weight).sum(),
            parts,
            seed,
            workers: RwLock::default(),
        })
    }

    /// Returns the minimum number of banks.
    pub fn banks_min(&self) -> u32 {
        let needs = self.parts.iter().map(|part| part.workload.banks_min());
        needs.max().expect("a mix has at least one kind of work")
    }

    /// Returns the labels of its works, in order.
    pub fn labels(&self) -> Vec<String> {
        self.parts.iter().map(|part| part.label.clone()).collect()
    }

    /// Returns the mean number of new states per unit.
    pub fn states_per_unit(&self) -> f64 {
        let states = self
            .parts
            .iter()
            .map(|part| part.workload.states_per_unit() * part.weight as f64);
        states.sum::<f64>() / self.weights as f64
    }

    /// Returns the mean bytes of files that a unit moves.
    pub fn bytes_per_unit(&self) -> f64 {
        let bytes = self.parts.iter();
        let bytes = bytes.map(|part| part.workload.bytes_per_unit() * part.weight as f64);
        bytes.sum::<f64>() / self.weights as f64
    }

    /// Prepares a network for this many units in all, each kind for its share.
    pub async fn prepare(&self, site: &Arc<Site>, units_expected: u64) -> Result<(), Failed> {
        for part in &self.parts {
            let share = self.share(part, units_expected);
            guarded(part.workload.prepare(site, share)).await?;
        }
        Ok(())
    }

    /// Returns the key of the preparation for this many units: equal for mixes that can share it, `None` if there is
    /// none.
    pub fn preparation(&self, units_expected: u64) -> Option<String> {
        let of_part = |part: &Part| {
            let (kind, share) = (part.workload.kind(), self.share(part, units_expected));
            match part.workload.prepares(share) {
                Prepares::Nothing => None,
                Prepares::ByKnobs => Some(format!("{kind} {share} {}", part.knobs)),
                Prepares::By(what) => Some(format!("{kind} {what}")),
            }
        };
        let all: Vec<String> = self.parts.iter().filter_map(of_part).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Returns the approximate number of units of one kind.
    fn share(&self, part: &Part, units: u64) -> u64 {
        if self.parts.len() == 1 {
            return units;
        }
        let even = u128::from(units) * u128::from(part.weight) / u128::from(self.weights);
        let even = u64::try_from(even).expect("a share is at most the whole");
        // A random share may be larger than its weight: by six standard deviations at most, each at most the root of the share. More units
        // than 64 bits count are never run.
        even.saturating_add(6 * even.isqrt()).saturating_add(1)
    }

    /// Sets up this many workers of each kind. If one fails, those already set up are torn down again.
    pub async fn set_up(&self, site: &Arc<Site>, workers: u32) -> Result<(), Failed> {
        for number in 0..workers.max(1) {
            let mut slot = Slot {
                site: Arc::clone(site),
                workers: Vec::with_capacity(self.parts.len()),
            };
            let mut failed = None;
            for part in &self.parts {
                match guarded(part.workload.worker(site, number)).await {
                    Ok(worker) => slot.workers.push(worker),
                    Err(reason) => {
                        failed = Some(reason);
                        break;
                    }
                }
            }
            self.workers
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Arc::new(slot));
            if let Some(failed) = failed {
                // Ignore this result: the failure of the set-up explains more.
                let _ = self.tear_down().await;
                return Err(failed);
            }
        }
        Ok(())
    }

    /// Tears down all workers, even if one fails. Returns the first failure. No unit may be running.
    pub async fn tear_down(&self) -> Result<(), Failed> {
        let slots =
            std::mem::take(&mut *self.workers.write().unwrap_or_else(PoisonError::into_inner));
        let mut first = Ok(());
        for worker in slots.iter().flat_map(|slot| slot.workers.iter()) {
            let undone = guarded(worker.teardown()).await;
            first = first.and(undone);
        }
        first
    }

    /// Returns the work of a unit.
    pub fn work_of(&self, unit: u64) -> usize {
        let mut left = mixed(self.seed, unit) % self.weights;
        for (at, part) in self.parts.iter().enumerate() {
            match left.checked_sub(part.weight) {
                Some(rest) => left = rest,
                None => return at,
            }
        }
        0
    }

    /// Runs a unit on the worker of a slot. Returns its work and its outcome. A panic is a failure of this unit.
    pub async fn invoke(&self, slot: u32, unit: u64) -> (usize, Result<Tried, Failed>) {
        self.invoke_due(slot, unit, Duration::ZERO).await
    }

    async fn invoke_due(
        &self,
        slot: u32,
        unit: u64,
        due: Duration,
    ) -> (usize, Result<Tried, Failed>) {
        let work = self.work_of(unit);
        let slot = {
            let workers = self.workers.read().unwrap_or_else(PoisonError::into_inner);
            // Slots beyond the workers share them in turn.
            let at = slot as usize % workers.len().max(1);
            workers.get(at).map(Arc::clone)
        };
        let Some(slot) = slot else {
            let missing = Failed::new(NO_WORKER, "no worker is set up");
            return (work, Err(missing));
        };
        let ended = guarded(slot.workers[work].invoke_due(unit, due)).await;
        if ended
            .as_ref()
            .is_err_and(|failed| failed.fault.code == WORKER_PANICKED)
        {
            // The outcome of its flow is unknown.
            slot.site.unknown();
        }
        (work, ended)
    }
}

impl Driven for Mix {
    async fn run(&self, slot: u32, unit: u64, due: Duration) -> Ended {
        let (work, ended) = self.invoke_due(slot, unit, due).await;
        let (outcome, retries) = match ended {
            Ok(tried) => (Ok(()), tried.retries),
            Err(failed) => (Err(failed.fault), failed.retries),
        };
        Ended {
            work,
            outcome,
            retries,
        }
    }
}

/// Runs a future. A panic becomes a failure.
async fn guarded<T>(mut future: Boxed<'_, Result<T, Failed>>) -> Result<T, Failed> {
    std::future::poll_fn(move |context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| {
            let said = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "with a value that is not text".to_owned());
            Poll::Ready(Err(Failed::new(WORKER_PANICKED, said)))
        })
    })
    .await
}

/// Returns a pseudo-random number that follows from the seed and the unit (splitmix64, Steele et al. 2014).
fn mixed(seed: u64, unit: u64) -> u64 {
    let x = seed.wrapping_add((unit.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::workload::{Knobs, done};

    /// Set-ups less tear-downs of all odd workers in this process: each test has a kind of its own, so one counter each.
    static UP: AtomicI64 = AtomicI64::new(0);

    struct Odd {
        refuses: u64,
    }

    impl Odd {
        fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
            let refuses = knobs.number("refuses", u64::MAX, 0..=u64::MAX)?;
            Ok(Arc::new(Self { refuses }))
        }
    }

    impl Workload for Odd {
        fn kind(&self) -> &str {
            "odd"
        }

        fn worker<'a>(
            &'a self,
            _: &'a Arc<Site>,
            number: u32,
        ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
            if u64::from(number) == self.refuses {
                return done(Err(Failed::new("odd.refused", "no")));
            }
            UP.fetch_add(1, Ordering::SeqCst);
            done(Ok(Box::new(OddWorker) as Box<dyn Worker>))
        }
    }

    struct OddWorker;

    impl Worker for OddWorker {
        fn invoke(&self, unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
            Box::pin(async move {
                tokio::task::yield_now().await;
                match unit % 3 {
                    0 => Ok(Tried { retries: 2 }),
                    1 => Err(Failed::new("odd.failed", "one in three")),
                    _ => panic!("unit {unit}"),
                }
            })
        }

        fn teardown(&self) -> Boxed<'_, Result<(), Failed>> {
            UP.fetch_sub(1, Ordering::SeqCst);
            done(Err(Failed::new("odd.undone", "badly")))
        }
    }

    fn work(kind: &str, weight: u32, knobs: &str) -> Work {
        Work {
            kind: kind.into(),
            label: kind.into(),
            weight,
            knobs: toml::from_str(knobs).expect("TOML"),
        }
    }

    fn site() -> Arc<Site> {
        Arc::new(Site::new(Vec::new(), None, 1))
    }

    fn odd() -> Workloads {
        let mut all = Workloads::shipped();
        all.register("odd", "Fails in every way.", Odd::make);
        all
    }

    #[tokio::test]
    async fn every_worker_is_torn_down_whatever_its_units_did() {
        let mix = Mix::new(&odd(), &[work("odd", 1, "")], 7).expect("a mix");
        let site = site();
        mix.set_up(&site, 3).await.expect("set up");
        assert_eq!(UP.load(Ordering::SeqCst), 3);
        let mut said = Vec::new();
        for unit in 0..3 {
            let (at, ended) = mix.invoke(unit as u32, unit).await;
            assert_eq!(at, 0);
            said.push(ended.map_err(|failed| failed.fault.to_string()));
        }
        assert_eq!(
            said,
            [
                Ok(Tried { retries: 2 }),
                Err("odd.failed: one in three".to_owned()),
                Err("lab.worker_panicked: unit 2".to_owned()),
            ]
        );
        assert_eq!(site.books().unknown_units(), 1);
        // A slot beyond the workers is one of them.
        assert!(mix.invoke(3, 0).await.1.is_ok());
        let undone = mix.tear_down().await.expect_err("it says so");
        assert_eq!(undone.fault.code, "odd.undone");
        assert_eq!(UP.load(Ordering::SeqCst), 0);
        let code = |ended: Result<Tried, Failed>| ended.expect_err("no worker").fault.code;
        assert_eq!(code(mix.invoke(0, 0).await.1), "lab.no_worker");

        // The third of four cannot be set up: the two before it are undone.
        let mix = Mix::new(&odd(), &[work("odd", 1, "refuses = 2")], 7).expect("a mix");
        let refused = mix.set_up(&site, 4).await.expect_err("it refuses");
        assert_eq!(refused.fault.code, "odd.refused");
        assert_eq!(UP.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn units_are_shared_out_by_weight_and_the_seed_alone() {
        let works = [work("issue", 1, ""), work("pay", 3, "states = 3")];
        let all = Workloads::shipped();
        let mix = Mix::new(&all, &works, 7).expect("a mix");
        assert_eq!((mix.banks_min(), mix.states_per_unit()), (2, 10.0 / 4.0));
        let of = |mix: &Mix| -> Vec<usize> { (0..10_000).map(|unit| mix.work_of(unit)).collect() };
        let share = of(&mix).iter().sum::<usize>();
        assert!((7_300..7_700).contains(&share), "{share} of 10000");
        assert_eq!(of(&mix), of(&Mix::new(&all, &works, 7).expect("the same")));
        assert_ne!(of(&mix), of(&Mix::new(&all, &works, 8).expect("another")));
    }

    #[test]
    fn each_kind_prepares_for_more_units_than_its_weight() {
        let works = [work("issue", 1, ""), work("pay", 3, "")];
        let mix = Mix::new(&Workloads::shipped(), &works, 7).expect("a mix");
        for (units, expected) in [(0, [1, 1]), (400, [161, 403]), (40_000, [10_601, 31_039])] {
            let shares = mix.parts.iter().map(|part| mix.share(part, units));
            assert_eq!(shares.collect::<Vec<u64>>(), expected, "{units}");
        }
        // More units of a kind than were prepared never run.
        let mut counts = [0; 2];
        (0..40_000).for_each(|unit| counts[mix.work_of(unit)] += 1);
        assert!(counts[0] <= 10_601 && counts[1] <= 31_039, "{counts:?}");
    }

    #[test]
    fn an_error_says_which_work_it_is_about() {
        let works = [work("issue", 1, ""), work("pay", 1, "stats = 3")];
        let error = Mix::new(&Workloads::shipped(), &works, 7).err();
        let said = error.map(|error| (error.at, error.to_string()));
        let expected = "work 2: stats: no such knob; there are \
                        anonymous, coins, currency, followers, gateway_workers, quantity, retry, starts, states, \
                        window_ms";
        assert_eq!(said, Some((1, expected.to_owned())));
        let none = Mix::new(&Workloads::shipped(), &[], 7).err();
        assert!(none.is_some());
    }
}
