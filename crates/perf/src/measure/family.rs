//! One reading of a process together with the processes that it has started, such as a database server with its backends.

use std::fs;

use super::look::{Look, ProcessKey};
use super::process::kilobytes;
use super::{ProcessReading, TICKS_PER_S, whole_millis};

/// Generations of processes that are followed.
const GENERATIONS_MAX: u32 = 16;

/// Resident memory of a process and of those that it has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FamilyMemory {
    /// The first process's memory without shared pages, and the anonymous pages of the others. The others may share their other pages
    /// with the first one.
    own_bytes: u64,
    /// The shared pages of the process that has touched the most of them. A database server's first process touches few of the buffers
    /// that its backends fill. Those that only other processes have touched are missing.
    shared_bytes_max: u64,
}

impl FamilyMemory {
    /// Begins with the first process, from its `status`.
    fn of_first(status: &str) -> Self {
        let shared_bytes = bytes(status, "RssShmem:");
        Self {
            // The system adds up the sum a moment before its part.
            own_bytes: bytes(status, "VmRSS:").saturating_sub(shared_bytes),
            shared_bytes_max: shared_bytes,
        }
    }

    /// Adds another process, from its `status`.
    fn add(&mut self, status: &str) {
        self.own_bytes += bytes(status, "RssAnon:");
        self.shared_bytes_max = self.shared_bytes_max.max(bytes(status, "RssShmem:"));
    }

    fn bytes(self) -> u64 {
        self.own_bytes + self.shared_bytes_max
    }
}

impl ProcessKey {
    /// Reads it together with the processes that it has started, directly or through others. Processor time of those that have ended counts
    /// as well. `None` once it has ended itself.
    pub fn look_with_children(self) -> Option<Look> {
        let mut sum = self.look()?;
        let mut memory = FamilyMemory::of_first(&status(self.pid())?);
        add_children(self.pid(), &mut sum, &mut memory, GENERATIONS_MAX);
        sum.rss_bytes = memory.bytes();
        Some(sum)
    }
}

fn add_children(pid: u32, sum: &mut Look, memory: &mut FamilyMemory, generations: u32) {
    sum.cpu_ms += ended_children_ms(pid).unwrap_or(0);
    for child in children(pid) {
        let Some(known) = ProcessKey::of(child) else {
            // It has ended, and its parent has not waited for it yet.
            sum.cpu_ms += ProcessReading::of(child).map_or(0, |ended| whole_millis(ended.cpu));
            continue;
        };
        let Some(look) = known.look() else { continue };
        sum.cpu_ms += look.cpu_ms;
        sum.read_bytes += look.read_bytes;
        sum.written_bytes += look.written_bytes;
        sum.missing.io |= look.missing.io;
        // A process that has ended has no memory.
        memory.add(&status(child).unwrap_or_default());
        if generations > 0 {
            add_children(child, sum, memory, generations - 1);
        }
    }
}

/// Returns the processes that the threads of a process have started. A process that has ended has none.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let lists = threads
        .into_iter()
        .flatten()
        .flatten()
        .map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let lists: Vec<String> = lists.collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    children.filter_map(|child| child.parse().ok()).collect()
}

/// Returns the processor time of a process's children that have ended (fields 16 and 17 of `stat`).
fn ended_children_ms(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * 1_000 / TICKS_PER_S)
}

/// Returns the text of a process's `status`; `None` if it is gone.
fn status(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

/// Returns the bytes of a line of `status`; 0 if it is missing.
fn bytes(status: &str, field: &str) -> u64 {
    kilobytes(status, field).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn shared_pages_count_once_by_the_process_that_touched_most() {
        // Each process has its whole, anonymous and shared memory in kilobytes; the rest are files.
        let status = |(whole, anonymous, shared): (u64, u64, u64)| {
            format!("VmRSS:\t{whole} kB\nRssAnon:\t{anonymous} kB\nRssShmem:\t{shared} kB\n")
        };
        for (first, others, expected) in [
            ((100, 20, 30), &[][..], 100),
            ((100, 20, 30), &[(540, 10, 500), (240, 12, 200)], 592),
            ((100, 20, 60), &[(50, 5, 40)], 105),
            ((100, 20, 0), &[(50, 40, 0)], 140),
            ((0, 0, 0), &[(50, 40, 0)], 40),
        ] {
            let mut memory = FamilyMemory::of_first(&status(first));
            for other in others {
                memory.add(&status(*other));
            }
            assert_eq!(memory.bytes(), expected * 1_024, "{first:?} {others:?}");
        }
        assert_eq!(FamilyMemory::of_first(""), FamilyMemory::default());
    }

    #[test]
    fn children_count_while_they_run_and_after() {
        // The shell's child computes, then the shell itself waits.
        let mut shell = Command::new("sh")
            .args([
                "-c",
                "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; read x",
            ])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let known = ProcessKey::of(shell.id()).expect("it runs");
        let deadline = Instant::now() + Duration::from_secs(60);
        let (mut during, mut after) = (0, 0);
        while after == 0 && Instant::now() < deadline {
            let family = known.look_with_children().expect("it runs");
            let alone = known.look().expect("it runs");
            match ended_children_ms(shell.id()) {
                Some(0) => during = family.cpu_ms.saturating_sub(alone.cpu_ms).max(during),
                _ => after = family.cpu_ms.saturating_sub(alone.cpu_ms),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        shell.kill().expect("it runs");
        shell.wait().expect("it ended");
        assert!(
            during > 0 && after >= during,
            "{during} ms while it ran, {after} ms after"
        );
    }
}
