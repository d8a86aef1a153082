//! Asks the system to run the commit thread ahead of the rest of the node, and merges behind it.
//!
//! A commit thread that has to queue for a core delays everybody: with both cores busy, groups were committed four
//! times as fast with real-time priority.

/// The priority that the system granted the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granted {
    /// Real-time, first in first out, lowest real-time priority.
    RealTime,
    /// A better nice value.
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

/// Lets the calling thread give way to the rest of the node.
#[allow(unsafe_code)]
pub(crate) fn lower() {
    // SAFETY: plain integers; on Linux "process 0" is the calling thread. A refusal changes nothing.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 5);
    }
}
