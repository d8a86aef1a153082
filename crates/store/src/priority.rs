//! Priorities of threads: asks the system to run the commit thread ahead of the rest of the node, and merges behind it.
//!
//! A commit thread that waits for a core delays all flows. On a machine whose two cores were busy, real-time priority made
//! commits four times as fast.

/// The priority that the system granted the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granted {
    /// Real-time, first in first out, lowest real-time priority.
    RealTime,
    /// A lower nice value than that of other threads.
    Nice(i32),
    /// Nothing: the thread runs like any other.
    Nothing,
}

/// Raises the calling thread's priority as far as the system allows.
///
/// # Correctness
/// The `unsafe` calls take plain integers and a pointer to a struct on this function's stack. They access no other memory of
/// this process.
#[allow(unsafe_code)]
pub(crate) fn raise() -> Granted {
    const NICE: i32 = -15;
    // SAFETY: sched_param is a plain C struct, and all zeroes is a valid value of it. The pointer is valid during
    // the call. Thread id 0 is the calling thread.
    let real_time = unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters)
    };
    if real_time == 0 {
        return Granted::RealTime;
    }
    // SAFETY: plain integers; on Linux "process 0" is the calling thread.
    let nice = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    if nice == 0 {
        return Granted::Nice(NICE);
    }
    Granted::Nothing
}

/// Runs the calling thread only in time that no other thread of the machine needs, as far as the system allows. It cannot return to its
/// former priority. Unlike a thread with the highest nice value, it delays no thread that wakes up. It may be interrupted anywhere and
/// for long, so no other thread should share a lock with it.
#[allow(unsafe_code)]
pub fn run_when_idle() {
    // SAFETY: sched_param is a plain C struct, and all zeroes is a valid value of it. The pointer is valid during
    // the call. Thread id 0 is the calling thread. A refusal changes nothing.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters);
    }
}

/// Lowers the calling thread's priority below that of the other threads of the node.
#[allow(unsafe_code)]
pub fn lower_priority() {
    // SAFETY: plain integers; on Linux "process 0" is the calling thread. A refusal changes nothing.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 5);
    }
}
