//! Takes out of a report everything that is not a number, and percentiles of too few samples, so that no chart, table or
//! file has to expect them.

use crate::results::{Distance, Estimate, Point, Report, Stretch, Support};

/// Returns a copy without NaN or infinite numbers. Such an estimate, interval end, metric value or published value is
/// left out; any other such number becomes 0. Percentiles that an older program made of too few samples are left out.
pub fn finite(report: &Report) -> Report {
    let mut report = report.clone();
    let machine = &mut report.machine;
    zero(&mut report.seconds);
    zero(&mut machine.load_average_before);
    machine.busy_cores_before = machine.busy_cores_before.filter(|cores| cores.is_finite());
    zero(&mut machine.load_average_after);
    if let Some(limits) = &mut machine.limits {
        for value in [
            &mut limits.signs_per_s,
            &mut limits.checks_per_s,
            &mut limits.hash_mb_per_s,
            &mut limits.commits_per_s,
            &mut limits.commit_us,
            &mut limits.tls_mbit_per_s,
            &mut limits.loopback_us,
        ] {
            zero(value);
        }
        if let Some(files) = &mut limits.files {
            zero(&mut files.disk_mb_per_s);
            zero(&mut files.tls_mb_per_s);
            zero(&mut files.hash_mb_per_s);
            zero(&mut files.together_mb_per_s);
        }
    }
    for scenario in &mut report.scenarios {
        zero(&mut scenario.seconds);
        for line in &mut scenario.published {
            line.values.retain(|_, value| value.is_finite());
        }
        scenario.points.iter_mut().for_each(point);
    }
    report
}

fn point(point: &mut Point) {
    for case in &mut point.at {
        case.number = case.number.filter(|number| number.is_finite());
    }
    let mut metrics = std::mem::take(&mut point.summary.metrics);
    metrics.retain(|name, _| point.support(name) == Support::Enough);
    metrics.retain(|_, estimate| estimate.value.is_finite());
    metrics.values_mut().for_each(interval);
    point.summary.metrics = metrics;
    point.stretches.iter_mut().for_each(stretch);
    let is_finite =
        |one: &Distance| one.used.is_finite() && one.limit.is_finite() && one.limit > 0.0;
    point.distances.retain(is_finite);
}

/// Keeps the ends of an interval only if both are finite and enclose the value.
fn interval(estimate: &mut Estimate) {
    let value = estimate.value;
    let ends = estimate.low.zip(estimate.high);
    let ends = ends.filter(|(low, high)| low.is_finite() && high.is_finite());
    let ends = ends.filter(|(low, high)| *low <= value && value <= *high);
    estimate.low = ends.map(|(low, _)| low);
    estimate.high = ends.map(|(_, high)| high);
}

fn stretch(stretch: &mut Stretch) {
    zero(&mut stretch.seconds);
    for second in &mut stretch.series {
        zero(&mut second.p50_ms);
        zero(&mut second.p99_ms);
    }
    let generator = &mut stretch.generator;
    for value in [
        &mut generator.cpu_cores,
        &mut generator.lag_p99_ms,
        &mut generator.lag_max_ms,
        &mut generator.behind_max_ms,
        &mut generator.late_after_ms,
    ] {
        zero(value);
    }
    for series in &mut stretch.metrics {
        series.values.retain(|(_, value)| value.is_finite());
    }
    stretch.tried.retain(|(rate, _)| rate.is_finite());
    stretch.figures.retain(|_, value| value.is_finite());
    for blocks in stretch.drift_blocks.values_mut() {
        blocks.retain(|(at, value)| at.is_finite() && value.is_finite());
    }
    for trial in &mut stretch.trials {
        zero(&mut trial.offered_per_s);
        zero(&mut trial.done_per_s);
        for percentile in [&mut trial.p50_ms, &mut trial.p95_ms, &mut trial.p99_ms] {
            *percentile = percentile.filter(|ms| ms.is_finite());
        }
    }
    if let Some(chain) = &mut stretch.chain {
        zero(&mut chain.payments_per_s);
        zero(&mut chain.block_seconds);
        zero(&mut chain.block_seconds_mean);
        for node in &mut chain.nodes {
            zero(&mut node.payments_per_s);
        }
        for range in &mut chain.ranges {
            zero(&mut range.seconds);
            zero(&mut range.per_s);
            zero(&mut range.cumulative_per_s);
        }
    }
}

fn zero(value: &mut f64) {
    if !value.is_finite() {
        *value = 0.0;
    }
}
