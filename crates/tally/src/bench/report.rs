//! The result lines of benchmarks.

use std::collections::BTreeMap;

use perf::machine::{Machine, SignatureRates};
use serde::Serialize;

/// The fields of the line. Rates are medians over windows of *delivered* flows.
#[derive(Debug, Serialize)]
pub struct LedgerReport {
    /// Issues per second.
    pub issue_per_s: f64,
    /// Issues with payments of the issued cash, in flows per second.
    pub issue_pay_per_s: f64,
    /// Payments per second from many coins.
    pub repeated_pay_per_s: f64,
    /// Number of coins at the start of Repeated Pay.
    pub repeated_pay_coins: u64,
    /// Payments per second when all start from one single coin.
    pub repeated_pay_one_coin_per_s: f64,
    /// The payee's output states per second, by states per transaction.
    pub repeated_pay_states_per_s: BTreeMap<u32, f64>,
    /// Latencies with one flow outstanding.
    pub latency_ms: Latency,
    /// Bytes on disk of all nodes per issue.
    pub storage_bytes_per_issue: f64,
    /// Bytes on disk of all nodes per payment.
    pub storage_bytes_per_pay: f64,
    /// Processor time of the busiest deciding thread per issue, in microseconds. A node decides one flow after another, so it
    /// cannot issue more often than once in this time, on any number of cores.
    pub serial_us_issue: f64,
    /// The same per issue with its payment.
    pub serial_us_issue_pay: f64,
    /// Processor time of all nodes and the notary per issue, in microseconds.
    pub cpu_us_issue: f64,
    /// The same per issue with its payment.
    pub cpu_us_issue_pay: f64,
    /// Processor time of all nodes and the notary per payment, in microseconds, while 300 a second arrive.
    pub cpu_us_pay_at_300: f64,
    /// Peak resident memory of the largest process, in megabytes (10^6).
    pub rss_mb_max: f64,
    /// Time from start to ready with the run's data, for the slowest process.
    pub startup_ms: f64,
    /// Signature operations per second with 10,000 distinct signers.
    pub distinct_signers_10000: SignatureRates,
    /// The machine's own limits in the same run.
    pub machine: Machine,
}

/// Latencies in milliseconds.
#[derive(Debug, Serialize)]
pub struct Latency {
    /// Median of an issue.
    pub issue_p50: f64,
    /// 99th percentile of an issue.
    pub issue_p99: f64,
    /// Median of a payment.
    pub pay_p50: f64,
    /// 99th percentile of a payment.
    pub pay_p99: f64,
}

/// Returns a report as its line, rounded to significant digits.
pub fn line(report: &impl Serialize) -> serde_json::Result<String> {
    let mut value = serde_json::to_value(report)?;
    round(&mut value);
    serde_json::to_string(&value)
}

/// Rounds to three decimals below 100, and to none above 10,000.
fn round(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64()) {
                let scale = match float.abs() {
                    small if small < 100.0 => 1000.0,
                    middle if middle < 10_000.0 => 10.0,
                    _ => 1.0,
                };
                *value = serde_json::json!((float * scale).round() / scale);
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(round),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding() {
        let mut value = serde_json::json!({"a": [1.23456, 123.456, 12345.67], "b": 7, "c": "x"});
        round(&mut value);
        assert_eq!(
            value,
            serde_json::json!({"a": [1.235, 123.5, 12346.0], "b": 7, "c": "x"})
        );
    }
}
