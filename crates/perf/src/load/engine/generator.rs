//! The generator monitors its own processor use and wake-up delay, so that its limits are not mistaken for the system's.

use std::time::Duration;

use super::clock::{Clock, TICK};
use crate::measure::Latencies;
use crate::results::{Finding, Generator, Stretch};

/// The code of a finding that the generator, and not the system, may have been the limit.
pub const GENERATOR_LIMIT: &str = "lab.generator_limit";
/// A unit that starts this long after it was due is late: ten ticks.
pub(super) const LATE_AFTER: Duration = Duration::from_millis(10);
/// Cores that a generator may use before its measurements are in doubt. Its load comes from one thread, so it can never
/// use more than one core.
const CPU_CORES_MAX: f64 = 0.85;
/// Wake-up delays up to this are harmless, milliseconds.
const LAG_MIN_MS: f64 = 10.0;
/// Larger wake-up delays matter if they exceed this share of the median latency.
const LAG_SHARE_MAX: f64 = 0.1;
/// The share of due units that may start late, or never, because of the generator.
const LATE_SHARE_MAX: f64 = 0.01;

/// Measures while a stretch runs.
pub(super) struct Gauge {
    begun: Duration,
    processor: Duration,
    lags: Latencies,
}

impl Gauge {
    pub fn begin<C: Clock>(clock: &C) -> Self {
        Self {
            begun: clock.now(),
            processor: clock.processor_time(),
            lags: Latencies::new(),
        }
    }

    /// Records the delay of a tick. The ticks that it caused to be missed were late too.
    pub fn lag(&mut self, lag: Duration) {
        self.lags.record_with_missed(lag, TICK);
    }

    pub fn end<C: Clock>(self, clock: &C, behind_max: Duration) -> Generator {
        // A reading that fails is zero.
        let processor = clock.processor_time().saturating_sub(self.processor);
        let seconds = (clock.now() - self.begun).as_secs_f64();
        Generator {
            cpu_cores: if seconds > 0.0 {
                processor.as_secs_f64() / seconds
            } else {
                0.0
            },
            lag_p99_ms: self.lags.p99_ms(),
            lag_max_ms: self.lags.quantile_ms(1.0),
            behind_max_ms: behind_max.as_secs_f64() * 1000.0,
            late_after_ms: LATE_AFTER.as_secs_f64() * 1000.0,
            agents: 1,
            agents_lost: 0,
        }
    }
}

/// Returns warnings about how a stretch was generated.
pub fn findings(stretch: &Stretch) -> Vec<Finding> {
    let generator = &stretch.generator;
    let mut findings = Vec::new();
    let mut limit = |message: String| {
        findings.push(Finding {
            code: GENERATOR_LIMIT.to_owned(),
            message,
        });
    };
    let generators = generator.agents.max(1);
    if generator.cpu_cores > CPU_CORES_MAX * f64::from(generators) {
        let who = match generators {
            1 => "the load generator, which runs on one core,".to_owned(),
            many => format!("{many} load generators, which run on one core each,"),
        };
        limit(format!(
            "{who} used {:.2} cores: more than {CPU_CORES_MAX} of a core each is in doubt, for what was measured may be the \
             generator's limit; lower the load, or share it among several (`tally lab agent`)",
            generator.cpu_cores
        ));
    }
    let lag_max = (stretch.latencies.quantile_ms(0.5) * LAG_SHARE_MAX).max(LAG_MIN_MS);
    if generator.lag_p99_ms > lag_max {
        limit(format!(
            "the load generator woke up to {:.1} ms late (99th percentile; at worst {:.1} ms), which is part of the latencies: \
             leave it a core of its own (`nodes.NAME.cores`), lower the load, or generate it from another machine",
            generator.lag_p99_ms, generator.lag_max_ms
        ));
    }
    let late = stretch.late as f64 / (stretch.due_units().max(1)) as f64;
    if late > LATE_SHARE_MAX {
        limit(format!(
            "{:.1} % of the units started more than {} ms after they were due: the rate asked for was not generated; \
             lower it, or generate it from several machines",
            late * 100.0,
            generator.late_after_ms
        ));
    }
    if generator.agents_lost > 0 {
        findings.push(Finding {
            code: "lab.agent_lost".to_owned(),
            message: format!(
                "{} of {} agents were lost on the way; what they had completed until then counts, what they had begun failed: \
                 run again for clean figures",
                generator.agents_lost, generator.agents
            ),
        });
    }
    findings.extend(super::knee::finding(&stretch.tried));
    findings
}
