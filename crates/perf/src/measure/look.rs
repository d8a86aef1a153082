//! One reading of a process, as the operating system reports it.

use std::fs;

use rustix::process::Pid;
use rustix::thread::sched_getaffinity;
use serde::{Deserialize, Serialize};

use super::{ProcessReading, SERIAL_THREAD, TICKS_PER_S, thread_ns, whole_millis};
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

impl ProcessKey {
    /// Reads it together with the processes that it has started, directly or through others. Processor time of those that have ended counts
    /// as well. Of their memory only their own counts, since they may share the rest.
    pub fn look_with_children(self) -> Option<Look> {
        let mut sum = self.look()?;
        add_children(self.pid, &mut sum, GENERATIONS_MAX);
        Some(sum)
    }
}

/// Generations of processes that are followed.
const GENERATIONS_MAX: u32 = 16;

fn add_children(pid: u32, sum: &mut Look, generations: u32) {
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
        let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
        sum.rss_bytes += 1_024 * field(&status.replace(" kB", ""), "RssAnon:");
        if generations > 0 {
            add_children(known.pid, sum, generations - 1);
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
    use std::time::{Duration, Instant};

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
