//! One reading of a process, as the operating system reports it.

use std::fs;

use rustix::process::Pid;
use rustix::thread::sched_getaffinity;
use serde::{Deserialize, Serialize};

use super::{ProcessReading, SERIAL_THREAD, thread_ns, whole_millis};
use crate::results::MissingReadings;

/// A process, identified by its id and its start time, so that a later one with the same id is not confused with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessKey {
    pid: u32,
    started: u64,
}

/// The values of one reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Processor time so far.
    pub cpu_ms: u64,
    /// Resident memory now.
    pub rss_bytes: u64,
    /// Bytes read from disks.
    pub read_bytes: u64,
    /// Bytes written to disks.
    pub written_bytes: u64,
    /// Processor time of the thread that decides; `None` if it has none, or if the system does not report it.
    pub kernel_us: Option<u64>,
    /// Cores that it may use, if they are fewer than those of this program.
    pub cores: Option<u32>,
    /// The readings that it lacks.
    pub missing: MissingReadings,
}

impl ProcessKey {
    /// Returns a process by its id and the ticks from its machine's start to its own.
    pub(crate) fn new(pid: u32, started: u64) -> Self {
        Self { pid, started }
    }

    /// Returns the id.
    pub(crate) fn pid(self) -> u32 {
        self.pid
    }

    /// Returns the process that has this id now; `None` if there is none.
    pub fn of(pid: u32) -> Option<Self> {
        let started = started(pid)?;
        Some(Self { pid, started })
    }

    /// Reads it; `None` once it has ended.
    pub fn look(self) -> Option<Look> {
        if started(self.pid)? != self.started {
            return None;
        }
        let reading = ProcessReading::of(self.pid).ok()?;
        // Another user's process does not allow this reading.
        let io = fs::read_to_string(format!("/proc/{}/io", self.pid)).unwrap_or_default();
        Some(Look {
            cpu_ms: whole_millis(reading.cpu),
            rss_bytes: reading.rss_bytes,
            read_bytes: field(&io, "read_bytes:"),
            written_bytes: written(&io),
            kernel_us: kernel_us(self.pid),
            cores: fewer_cores(self.pid),
            missing: MissingReadings {
                io: io.is_empty(),
                ..MissingReadings::default()
            },
        })
    }
}

impl Look {
    /// Returns the reading with counters of at least those of an earlier reading of the same process. With the processes that it has
    /// started, a reading may lack one that ended meanwhile, and its counters would seem to begin again.
    #[must_use]
    pub(crate) fn not_below(self, earlier: &Self) -> Self {
        Self {
            cpu_ms: self.cpu_ms.max(earlier.cpu_ms),
            read_bytes: self.read_bytes.max(earlier.read_bytes),
            written_bytes: self.written_bytes.max(earlier.written_bytes),
            ..self
        }
    }
}

/// Returns the ticks from the machine's start to the process's (field 22 of `stat`); `None` if it has ended, reaped or
/// not.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Returns the processor time of a node's deciding thread, microseconds.
fn kernel_us(pid: u32) -> Option<u64> {
    Some(thread_ns(pid, SERIAL_THREAD)? / 1_000)
}

/// Returns the cores that a process may use; `None` if it has all of this program's, or if the system does not say.
fn fewer_cores(pid: u32) -> Option<u32> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let its = sched_getaffinity(Some(pid)).ok()?.count();
    let ours = sched_getaffinity(None).ok()?.count();
    (its < ours).then_some(its)
}

/// Returns the bytes that a process wrote. The system counts all bytes of the pages that a write touched. Linux with
/// large folios (6.16 and later) counts up to 2 MB for a synced write of 300 bytes. The bytes passed to write calls bound
/// that.
fn written(io: &str) -> u64 {
    field(io, "write_bytes:").min(field(io, "wchar:"))
}

/// Returns the number after a name; 0 if the system does not report it.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

/// Returns the processor time of the calling thread so far, nanoseconds; 0 if the system does not report it.
pub(crate) fn own_cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_seen_until_it_ends_and_never_taken_for_another() {
        let known = ProcessKey::of(std::process::id()).expect("this process runs");
        let look = known.look().expect("it still does");
        assert!(look.rss_bytes > 0);
        assert_eq!(look.kernel_us, None, "this is no node");
        let other = ProcessKey {
            started: known.started + 1,
            ..known
        };
        assert_eq!(other.look(), None, "the id belongs to another now");
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("cat is there");
        let known = ProcessKey::of(child.id()).expect("it runs");
        child.kill().expect("it runs");
        // Ends soon, and remains unreaped.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while known.look().is_some() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(known.look(), None);
        child.wait().expect("it ended");
        assert_eq!(ProcessKey::of(child.id()), None);
    }

    #[test]
    fn a_process_on_fewer_cores_says_so() {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let mine = sched_getaffinity(None).expect("known");
        let mut one = CpuSet::new();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| mine.is_set(*cpu));
        one.set(first.expect("a core"));
        // A child has the cores of the thread that starts it.
        let starting = std::thread::spawn(move || {
            sched_setaffinity(None, &one).expect("set");
            Command::new("cat").stdin(Stdio::piped()).spawn()
        });
        let mut child = starting.join().expect("ended").expect("cat is there");
        let expected = (mine.count() > 1).then_some(1);
        assert_eq!(fewer_cores(child.id()), expected);
        assert_eq!(fewer_cores(std::process::id()), None);
        child.kill().expect("it runs");
        child.wait().expect("it ended");
    }

    #[test]
    fn fields_of_io() {
        let io =
            "rchar: 5\nwchar: 5000\nread_bytes: 12\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n";
        assert_eq!((field(io, "read_bytes:"), written(io)), (12, 4096));
        // A large folio is counted whole for the few bytes written into it.
        assert_eq!(written("wchar: 300\nwrite_bytes: 2097152\n"), 300);
        assert_eq!(field("", "read_bytes:"), 0);
    }
}
