//! `fake`: no network, but a target in this process with known latencies, stalls and failures. It shows that the whole
//! path from the scenario to the report is correct.

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::boxed::{Boxed, done};
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};
use crate::fake::{Behaviour, ServiceTime, Stall, Target};
use crate::load::engine::Real;

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "fake",
    "No network: a target in this process with known latencies, stalls and failures.",
    Fake::make,
);

/// Upper limit of parameters in milliseconds: an hour.
const MS_MAX: f64 = 3_600_000.0;
/// Upper limit of the parameters `slots` and `waiting_max`.
const PLACES_MAX: u64 = 1_000_000;

struct Fake {
    behaviour: Behaviour,
    /// Created by the first worker and shared by all.
    target: OnceLock<Arc<Target<Real>>>,
}

impl Fake {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        let latency = knobs.word("latency", &["constant", "exponential", "bimodal"])?;
        let ms = number(knobs, "latency_ms", 5.0, 0.0..=MS_MAX)?;
        let slow_ms = number(knobs, "slow_ms", ms * 10.0, 0.0..=MS_MAX)?;
        let slow_share = number(knobs, "slow_share", 0.01, 0.0..=1.0)?;
        let service = match latency {
            "exponential" => ServiceTime::Exponential(ms),
            "bimodal" => ServiceTime::Bimodal {
                fast_ms: ms,
                slow_ms,
                slow_share,
            },
            _ => ServiceTime::Constant(ms),
        };
        // 0 serves all at once.
        let slots = knobs.number("slots", 0, 0..=PLACES_MAX)?;
        let waiting_max = knobs.number("waiting_max", PLACES_MAX, 0..=PLACES_MAX)?;
        let stall_ms = number(knobs, "stall_ms", 0.0, 0.0..=MS_MAX)?;
        let every_s = number(knobs, "stall_every_s", 10.0, 0.001..=MS_MAX)?;
        if stall_ms >= every_s * 1000.0 {
            let message = format!("less than stall_every_s ({every_s} s) is allowed");
            return Err(KnobError::new("stall_ms", message));
        }
        let code = knobs.text("error_code", "fake.failed", "a code", |code| {
            (1..=100).contains(&code.len())
        })?;
        let error_share = number(knobs, "error_share", 0.0, 0.0..=1.0)?;
        let behaviour = Behaviour {
            service,
            slots: u32::try_from(slots).ok().filter(|slots| *slots > 0),
            waiting_max: u32::try_from(waiting_max).expect("at most PLACES_MAX"),
            stall: (stall_ms > 0.0).then_some(Stall {
                every_s,
                ms: stall_ms,
            }),
            errors: vec![(code, error_share)],
            retry_share: number(knobs, "retry_share", 0.0, 0.0..=1.0)?,
            seed: 0,
        };
        Ok(Arc::new(Self {
            behaviour,
            target: OnceLock::new(),
        }))
    }
}

/// Returns a number that need not be whole; `default` if it is not set.
fn number(
    knobs: &mut Knobs,
    knob: &str,
    default: f64,
    allowed: RangeInclusive<f64>,
) -> Result<f64, KnobError> {
    let value = match knobs.take(knob) {
        None => return Ok(default),
        Some(toml::Value::Float(value)) if allowed.contains(&value) => return Ok(value),
        // Exact: whole numbers of this size are.
        Some(toml::Value::Integer(value)) if allowed.contains(&(value as f64)) => {
            return Ok(value as f64);
        }
        Some(other) => other,
    };
    let (least, most) = (allowed.start(), allowed.end());
    let message = format!("{value}: a number from {least} to {most} is allowed");
    Err(KnobError::new(knob, message))
}

impl Workload for Fake {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        0
    }

    fn prepares(&self, _: u64) -> Prepares {
        Prepares::Nothing
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        let target = self.target.get_or_init(|| {
            let behaviour = Behaviour {
                seed: site.seed(),
                ..self.behaviour.clone()
            };
            Arc::new(Target::new(&Real::since(Instant::now()), behaviour))
        });
        done(Ok(Box::new(Pretending(Arc::clone(target)))))
    }
}

struct Pretending(Arc<Target<Real>>);

impl Worker for Pretending {
    fn invoke(&self, unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let (retries, outcome) = self.0.serve(unit).await;
            match outcome {
                Ok(()) => Ok(Tried { retries }),
                Err(fault) => Err(Failed {
                    fault,
                    retries,
                    begun: false,
                }),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn made(text: &str) -> Result<(), String> {
        let set: BTreeMap<String, toml::Value> = toml::from_str(text).expect("TOML");
        let mut knobs = Knobs::new(set);
        let made = Fake::make(&mut knobs).map(|_| ());
        made.and_then(|()| knobs.end())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn knobs() {
        for fine in [
            "",
            "latency = 'bimodal'\nlatency_ms = 2.5\nslow_ms = 50\nslow_share = 0.1",
            "latency = 'exponential'\nslots = 4\nwaiting_max = 10\nretry_share = 0.1",
            "stall_ms = 500\nstall_every_s = 5\nerror_share = 0.01\nerror_code = 'fake.odd'",
        ] {
            assert_eq!(made(fine), Ok(()), "{fine}");
        }
        for (wrong, said) in [
            (
                "latency_ms = -1",
                "latency_ms: -1: a number from 0 to 3600000 is allowed",
            ),
            (
                "error_share = 1.5",
                "error_share: 1.5: a number from 0 to 1 is allowed",
            ),
            (
                "slow_share = nan",
                "slow_share: nan: a number from 0 to 1 is allowed",
            ),
            (
                "stall_ms = 5000\nstall_every_s = 5",
                "stall_ms: less than stall_every_s (5 s) is allowed",
            ),
        ] {
            assert_eq!(made(wrong), Err(said.to_owned()), "{wrong}");
        }
    }

    #[tokio::test]
    async fn it_runs_without_a_network() {
        let mut knobs = Knobs::new(BTreeMap::from([
            ("error_share".to_owned(), toml::Value::Float(1.0)),
            ("latency_ms".to_owned(), toml::Value::Integer(0)),
        ]));
        let fake = Fake::make(&mut knobs).expect("knobs that it has");
        let site = Arc::new(Site::new(Vec::new(), None, 5));
        let worker = fake.worker(&site, 0).await.expect("it needs nothing");
        let failed = worker.invoke(1).await.expect_err("all fail");
        assert_eq!(failed.fault.code, "fake.failed");
        worker.teardown().await.expect("nothing to undo");
    }
}
