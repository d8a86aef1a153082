//! The limits of a machine that the benches of `tally` print beside their figures.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::limits::processor;
use super::signing::SignatureRates;
use super::{durable, hashing};
use crate::measure::load_average;

/// The limits of one core of this machine (durable commits: of the disk under a folder).
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Logical processors.
    pub cores: usize,
    /// The processor's name as the kernel gives it.
    pub processor: String,
    /// Ed25519 signatures a second.
    pub signatures_per_s: f64,
    /// Ed25519 verifications a second, one at a time, few keys.
    pub verifications_per_s: f64,
    /// Ed25519 verifications a second in batches of 64, few keys.
    pub verifications_batch_per_s: f64,
    /// SHA-256, megabytes (10^6) a second over 16 KiB messages.
    pub sha256_mb_per_s: f64,
    /// Appends of 4 KiB a second, each synced to the disk before the next.
    pub durable_commits_per_s: f64,
    /// One-minute load average when the run began.
    pub load_before: f64,
    /// One-minute load average when the run ended.
    pub load_after: f64,
}

impl Machine {
    /// Measures for about two seconds. `folder` is the folder of the run's data.
    pub fn probe(folder: &Path) -> std::io::Result<Self> {
        let load_before = load_average();
        let slice = Duration::from_millis(300);
        let rates = SignatureRates::measure(4, slice);
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: processor(),
            signatures_per_s: rates.sign_per_s,
            verifications_per_s: rates.verify_per_s,
            verifications_batch_per_s: rates.verify_batch_64_per_s,
            sha256_mb_per_s: hashing::megabytes_per_s(slice),
            durable_commits_per_s: durable::commits(folder, slice * 3)?.per_s,
            load_before,
            load_after: load_before,
        })
    }

    /// Notes the load average at the end of the run.
    pub fn finish(&mut self) {
        self.load_after = load_average();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_measures_everything() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let machine = Machine::probe(folder.path()).expect("the folder is writable");
        for (name, value) in [
            ("sign", machine.signatures_per_s),
            ("verify", machine.verifications_per_s),
            ("batch", machine.verifications_batch_per_s),
            ("sha", machine.sha256_mb_per_s),
            ("commit", machine.durable_commits_per_s),
        ] {
            assert!(value > 0.0, "{name}");
        }
        let left = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(left, 0, "the probe leaves no file behind");
    }
}
