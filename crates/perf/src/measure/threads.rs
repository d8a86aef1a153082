//! Processor time of each thread of a process, as the operating system reports it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Processor time of the threads of a process so far, user and system, by the name of the thread.
///
/// Threads with the same name count together, and so do those whose names differ in a number at the end (`io`, `files-3`). The time of
/// a thread that has ended is missing. The system shows at most 15 bytes of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes(BTreeMap<String, u64>);

impl ThreadTimes {
    /// Reads the threads of a process. Fails if the process is gone, or if the system does not report times of threads.
    pub fn of(pid: u32) -> io::Result<Self> {
        Self::read(pid, |_| true)
    }

    /// Reads the threads of one name only, which takes less time. Fails as [`Self::of`] does, and if there are none.
    pub fn named(pid: u32, name: &str) -> io::Result<Self> {
        Self::read(pid, |other| other == name)
    }

    fn read(pid: u32, is_wanted: impl Fn(&str) -> bool) -> io::Result<Self> {
        let mut times = Self::default();
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            match times.add(&thread?.path(), &is_wanted) {
                // The thread has ended since the folder was read.
                Err(error) if has_ended(&error) => {}
                added => added?,
            }
        }
        if times.0.is_empty() {
            return Err(io::Error::other(format!(
                "the system shows no processor times of the threads of process {pid}"
            )));
        }
        Ok(times)
    }

    fn add(&mut self, thread: &Path, is_wanted: impl Fn(&str) -> bool) -> io::Result<()> {
        let name = fs::read_to_string(thread.join("comm"))?;
        let name = group(name.trim_end());
        if !is_wanted(name) {
            return Ok(());
        }
        let times = fs::read_to_string(thread.join("schedstat"))?;
        let ns = run_ns(&times).ok_or_else(|| {
            let path = thread.join("schedstat");
            io::Error::other(format!("{} has no processor time", path.display()))
        })?;
        *self.0.entry(name.to_owned()).or_default() += ns;
        Ok(())
    }

    /// Returns the time since an earlier reading of the same process, by the name of the thread.
    pub fn since(&self, earlier: &Self) -> Self {
        let passed = self.0.iter().map(|(name, now)| {
            // Clipped at 0: a thread of this name has ended, and took its time with it. A name that is new had no time.
            (
                name.clone(),
                now.saturating_sub(earlier.ns_of(name).unwrap_or(0)),
            )
        });
        Self(passed.collect())
    }

    /// Returns the time of the threads with a name, in nanoseconds; `None` if there is none.
    pub fn ns_of(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Returns the time of all threads, in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.0.values().sum()
    }
}

impl<'a> FromIterator<(&'a str, u64)> for ThreadTimes {
    /// Makes times, in nanoseconds, by the name of the thread.
    fn from_iter<I: IntoIterator<Item = (&'a str, u64)>>(times: I) -> Self {
        let times = times.into_iter();
        Self(times.map(|(name, ns)| (name.to_owned(), ns)).collect())
    }
}

/// Returns whether a thread's files are gone: not found, or no such process (ESRCH).
fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3)
}

/// Returns the name that a thread counts under.
fn group(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((group, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => group,
        _ => name,
    }
}

/// Returns the first field of `schedstat`: time on a processor, in nanoseconds.
fn run_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_busy_thread_of_this_process_is_seen_by_its_name() {
        let (read, go_on) = mpsc::channel::<()>();
        let (spun, has_spun) = mpsc::channel();
        let busy = std::thread::Builder::new().name("busy-7".to_owned());
        let busy = busy.spawn(move || {
            let sum = (0..3_000_000u64).fold(0u64, |sum, number| {
                std::hint::black_box(sum).wrapping_add(number)
            });
            spun.send(sum).expect("the test waits");
            go_on.recv()
        });
        let busy = busy.expect("a thread");
        let before = ThreadTimes::default();
        has_spun.recv().expect("it spins");
        let times = ThreadTimes::of(std::process::id()).expect("this process runs");
        let passed = times.since(&before);
        let busy_ns = passed.ns_of("busy").expect("it is there");
        assert!(busy_ns > 0 && passed.total_ns() >= busy_ns, "{passed:?}");
        let alone = ThreadTimes::named(std::process::id(), "busy").expect("it runs");
        assert_eq!(alone.ns_of("busy"), Some(alone.total_ns()));
        assert!(ThreadTimes::named(std::process::id(), "nobody").is_err());
        assert_eq!(times.since(&times).total_ns(), 0);
        drop(read);
        assert!(busy.join().expect("it does not panic").is_err());
        assert!(ThreadTimes::of(u32::MAX).is_err());
    }

    #[test]
    fn names_are_grouped() {
        for (name, grouped) in [
            ("kernel", "kernel"),
            ("files-3", "files"),
            ("put-off", "put-off"),
            ("a-1-22", "a-1"),
        ] {
            assert_eq!(group(name), grouped);
        }
        assert_eq!(run_ns("12345 6 7\n"), Some(12_345));
        assert_eq!(run_ns(""), None);
    }
}
