//! Free ports on this machine, for processes that must know each other's port before they start.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// The range below Linux's source ports of outgoing connections (32768 up). A port there stays free until a process
/// listens on it, and while that process restarts.
const FIRST: u32 = 10_000;
const LAST: u32 = 32_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns `count` different ports without a listener.
pub fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let span = LAST - FIRST;
    // Processes that choose at the same time start at different ports.
    let start = std::process::id().wrapping_mul(2_654_435_761) % span;
    let mut found = Vec::with_capacity(count);
    for _ in 0..span {
        if found.len() == count {
            return Ok(found);
        }
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let Ok(port) = u16::try_from(FIRST + start.wrapping_add(step) % span) else {
            continue;
        };
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            found.push(port);
        }
    }
    Err(std::io::Error::new(
        std::io::ErrorKind::AddrInUse,
        format!("no {count} free ports between {FIRST} and {LAST}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_and_free() {
        let mut ports = free_ports(20).expect("there are some");
        ports.extend(free_ports(20).expect("there are more"));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 40);
        assert!(free_ports(0).expect("none needed").is_empty());
    }
}
