//! A machine as reports describe it, and its limits.

use std::path::Path;
use std::time::Duration;

use super::{connection, durable, hashing, signing, surroundings};
use crate::measure::load_average;
use crate::results;

/// How long each limit is measured.
const SLICE: Duration = Duration::from_millis(300);
/// Syncs are slow and uneven, so they are measured for longer.
const DISK_SLICE: Duration = Duration::from_millis(500);
/// Distinct signers: a network of few banks.
const SIGNERS: usize = 4;

/// Describes this machine and its current load. Takes no time; the limits are left out.
pub fn describe() -> results::Machine {
    let load = load_average();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    results::Machine {
        processor: processor(),
        cores: u32::try_from(cores).expect("the number of cores fits 32 bits"),
        memory_bytes: memory_bytes(&text("/proc/meminfo")),
        system: format!(
            "{} {}",
            text("/proc/sys/kernel/ostype").trim(),
            text("/proc/sys/kernel/osrelease").trim()
        ),
        virtual_machine: surroundings::virtual_machine(),
        disk: surroundings::disk(&std::env::temp_dir()),
        busy_cores_before: None,
        load_average_before: load,
        load_average_after: load,
        limits: None,
    }
}

/// Records the load average at the end.
pub fn finish(machine: &mut results::Machine) {
    machine.load_average_after = load_average();
}

/// Measures the machine's limits for about two and a half seconds, during which nothing else should run. Durable commits
/// are those of the disk under `folder`. Blocks the calling thread.
pub fn limits(folder: &Path) -> std::io::Result<results::Limits> {
    let rates = signing::sign_and_check(SIGNERS, SLICE);
    let commits = durable::commits(folder, DISK_SLICE)?;
    let connection = connection::ceiling(SLICE)?;
    Ok(results::Limits {
        signs_per_s: rates.0,
        checks_per_s: rates.1,
        hash_mb_per_s: hashing::megabytes_per_s(SLICE),
        commits_per_s: commits.per_s,
        commit_us: commits.median_us,
        tls_mbit_per_s: connection.mbit_per_s,
        loopback_us: connection.round_trip_us,
        files: None,
    })
}

/// Returns the name of the processor as the kernel gives it, or else its architecture.
pub(super) fn processor() -> String {
    text("/proc/cpuinfo")
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'))
        .map_or_else(
            || std::env::consts::ARCH.to_owned(),
            |(_, name)| name.trim().to_owned(),
        )
}

/// Reads a file of the system. It is empty if the system has no such file, and its figures are then left out.
fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Reads `MemTotal:  4028424 kB` as bytes; 0 if the system does not report it.
fn memory_bytes(meminfo: &str) -> u64 {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    let kilobytes: Option<u64> = number.and_then(|number| number.parse().ok());
    let bytes = kilobytes.and_then(|kilobytes| kilobytes.checked_mul(1024));
    bytes.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_name_and_limits() {
        let machine = describe();
        assert!(machine.cores >= 1 && !machine.processor.is_empty() && !machine.system.is_empty());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let limits = limits(folder.path()).expect("the folder is writable");
        for (name, value) in [
            ("sign", limits.signs_per_s),
            ("check", limits.checks_per_s),
            ("hash", limits.hash_mb_per_s),
            ("commit", limits.commits_per_s),
            ("commit us", limits.commit_us),
            ("tls", limits.tls_mbit_per_s),
            ("loopback", limits.loopback_us),
        ] {
            assert!(value > 0.0 && value.is_finite(), "{name}");
        }
        let left = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(left, 0, "nothing is left behind");
        assert!(super::limits(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    fn memory() {
        assert_eq!(
            memory_bytes("MemTotal:   12 kB\nMemFree: 3 kB\n"),
            12 * 1024
        );
        assert_eq!(memory_bytes("nonsense"), 0);
    }
}
