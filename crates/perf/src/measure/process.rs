//! A process's peak memory and processor time, as the operating system reports them.

use std::fs;
use std::io;
use std::time::Duration;

/// Clock ticks a second in `/proc/PID/stat`: fixed by the Linux interface for user space.
pub const TICKS_PER_S: u64 = 100;

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessReading {
    /// Largest resident memory so far, in bytes.
    pub rss_peak_bytes: u64,
    /// Resident memory now, in bytes.
    pub rss_bytes: u64,
    /// Processor time so far, user and system.
    pub cpu: Duration,
}

impl ProcessReading {
    /// Reads `/proc/PID`. Fails if the process is gone.
    pub fn of(pid: u32) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let malformed = || io::Error::other(format!("/proc/{pid}/stat has no processor times"));
        Ok(Self {
            // A process that is ending has no memory any more, and no such lines.
            rss_peak_bytes: kilobytes(&status, "VmHWM:").unwrap_or(0),
            rss_bytes: kilobytes(&status, "VmRSS:").unwrap_or(0),
            cpu: cpu(&stat).ok_or_else(malformed)?,
        })
    }
}

/// Reads `VmHWM:  1234 kB` as bytes.
pub(super) fn kilobytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(field))?;
    let number: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    number.checked_mul(1024)
}

/// Fields 14 and 15 of `stat` (user and system ticks); the name in field 2 may hold spaces and brackets.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let ticks = user.checked_add(system)?;
    Some(Duration::from_millis(
        ticks.checked_mul(1000)? / TICKS_PER_S,
    ))
}

/// Returns the one-minute load average of the machine; 0 if the system does not report it.
pub fn load_average() -> f64 {
    fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_itself() {
        let reading = ProcessReading::of(std::process::id()).expect("this process runs");
        assert!(reading.rss_peak_bytes >= reading.rss_bytes && reading.rss_bytes > 0);
        assert!(ProcessReading::of(u32::MAX).is_err());
    }

    #[test]
    fn fields() {
        let stat = "7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(cpu("nonsense"), None);
        assert_eq!(
            kilobytes("Name: x\nVmHWM:\t  12 kB\n", "VmHWM:"),
            Some(12 * 1024)
        );
        assert_eq!(kilobytes("Name: x\n", "VmHWM:"), None);
    }
}
