//! Processor time of single threads of a process, as the operating system reports it.

use std::fs;

/// Returns the processor time so far of the threads of a process with this name, user and system, in nanoseconds. `None` if the process
/// is gone or has no such thread, or if the system does not report times of threads. The system shows at most 15 bytes of a name.
pub fn thread_ns(pid: u32, name: &str) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut sum = None;
    for thread in threads {
        let thread = thread.ok()?.path();
        // A thread that has ended since the folder was read has no files.
        let Ok(found) = fs::read_to_string(thread.join("comm")) else {
            continue;
        };
        if found.trim_end() != name {
            continue;
        }
        let times = fs::read_to_string(thread.join("schedstat")).ok()?;
        *sum.get_or_insert(0) += run_ns(&times)?;
    }
    sum
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
        let busy = std::thread::Builder::new().name("busy".to_owned());
        let busy = busy.spawn(move || {
            let sum = (0..3_000_000u64).fold(0u64, |sum, number| {
                std::hint::black_box(sum).wrapping_add(number)
            });
            spun.send(sum).expect("the test waits");
            go_on.recv()
        });
        let busy = busy.expect("a thread");
        has_spun.recv().expect("it spins");
        let own = std::process::id();
        assert!(thread_ns(own, "busy").is_some_and(|ns| ns > 0));
        assert_eq!(thread_ns(own, "nobody"), None);
        assert_eq!(thread_ns(u32::MAX, "busy"), None);
        drop(read);
        assert!(busy.join().expect("it does not panic").is_err());
    }

    #[test]
    fn times_are_the_first_field() {
        assert_eq!(run_ns("12345 6 7\n"), Some(12_345));
        assert_eq!(run_ns(""), None);
    }
}
