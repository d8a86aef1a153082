//! Starts a process on some of the machine's cores.

use std::io;
use std::process::{Child, Command};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns the number of cores that this process may use.
pub fn cores() -> u32 {
    sched_getaffinity(None).map_or(1, |mine| mine.count().max(1))
}

/// Starts `command` on the first `cores` of those that this process may use (at least one, at most all of them).
///
/// A child inherits the cores of the thread that starts it. So a separate thread is bound to them and starts it, and the
/// rest of this process is unaffected.
pub(super) fn spawn_on(mut command: Command, cores: u32) -> io::Result<Child> {
    let mine = sched_getaffinity(None)?;
    let mut few = CpuSet::new();
    let wanted = cores.max(1) as usize;
    for cpu in (0..CpuSet::MAX_CPU)
        .filter(|cpu| mine.is_set(*cpu))
        .take(wanted)
    {
        few.set(cpu);
    }
    let starting = std::thread::spawn(move || {
        sched_setaffinity(None, &few)?;
        command.spawn()
    });
    starting.join().unwrap_or_else(|_| {
        Err(io::Error::other(
            "the thread that starts processes panicked",
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_child_has_the_cores_it_was_given_and_we_keep_ours() {
        let before = sched_getaffinity(None).expect("known").count();
        for cores in [1, u32::MAX] {
            let mut command = Command::new("nproc");
            command.stdout(Stdio::piped());
            let child = spawn_on(command, cores).expect("nproc is there");
            let output = child.wait_with_output().expect("it ends");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(text.trim().parse(), Ok(before.min(cores)), "{text}");
        }
        assert_eq!(sched_getaffinity(None).expect("known").count(), before);
    }
}
