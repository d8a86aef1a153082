//! The operating system's figures of this process, and the numbers of its hashes and signatures.

use runtime::metrics::{Counter, Gauge, Registry};

/// Read at each rendering.
#[derive(Debug)]
pub(crate) struct Process {
    resident: Gauge,
    cpu_ms: Counter,
    files: Gauge,
    hashed_bytes: Counter,
    signatures_made: Counter,
}

impl Process {
    pub(crate) fn new(registry: &Registry) -> Self {
        Self {
            resident: registry.gauge(
                "process_resident_memory_bytes",
                "Resident memory of the process.",
                &[],
            ),
            cpu_ms: registry.counter(
                "tally_process_cpu_milliseconds_total",
                "Processor time, user and system.",
                &[],
            ),
            files: registry.gauge("process_open_fds", "Open files and sockets.", &[]),
            hashed_bytes: registry.counter(
                "tally_hashed_bytes_total",
                "Bytes that went through SHA-256, padding included; not those of TLS.",
                &[],
            ),
            signatures_made: registry.counter(
                "tally_signatures_made_total",
                "Signatures made; not those of TLS.",
                &[],
            ),
        }
    }

    /// Reads `/proc/self`; on a system without it the numbers stay 0.
    pub(crate) fn refresh(&self) {
        let counts = crypto_counters::counts();
        self.hashed_bytes.set(counts.hashed_bytes);
        self.signatures_made.set(counts.signatures_made);
        if let Ok(status) = std::fs::read_to_string("/proc/self/status")
            && let Some(kib) = number_after(&status, "VmRSS:")
        {
            self.resident.set_count(kib * 1_024);
        }
        if let Ok(stat) = std::fs::read_to_string("/proc/self/stat")
            && let Some(ms) = cpu_ms(&stat)
        {
            self.cpu_ms.set(ms);
        }
        if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
            self.files.set_count(entries.count() as u64);
        }
    }
}

fn number_after(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Fields 14 and 15 of `/proc/PID/stat`, in ticks of 10 ms; the second field may hold blanks and ends with `)`.
fn cpu_ms(stat: &str) -> Option<u64> {
    const TICK_MS: u64 = 10;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)?.checked_mul(TICK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_system_writes() {
        assert_eq!(
            number_after("Name: x\nVmRSS:\t  123 kB\n", "VmRSS:"),
            Some(123)
        );
        assert_eq!(number_after("Name: x\n", "VmRSS:"), None);
        assert_eq!(
            cpu_ms("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 200 34 0 0"),
            Some(2_340)
        );
        assert_eq!(cpu_ms("7"), None);
    }
}
