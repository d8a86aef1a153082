//! Free ports for nodes that do not say which they want.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use super::authority::random_seed;
use super::error::BootstrapError;

/// Below the range from which Linux takes the source ports of outgoing connections (32768 and higher). A port therefore stays
/// free until the node listens on it, and during a restart of the node.
const FIRST: u16 = 10_000;
const SPAN: u16 = 22_000;

/// Chooses ports, none of them twice.
pub(crate) struct Ports {
    taken: BTreeSet<u16>,
    next: u16,
    /// The bound sockets of the chosen ports, so that no other process chooses the same ones.
    held: Vec<TcpListener>,
}

impl Ports {
    /// Leaves these out.
    pub(crate) fn without(taken: BTreeSet<u16>) -> Result<Self, BootstrapError> {
        let [a, b, ..] = *random_seed()?.expose();
        Ok(Self {
            taken,
            next: u16::from_be_bytes([a, b]) % SPAN,
            held: Vec::new(),
        })
    }

    /// An address as wanted, with a port chosen if it has none.
    pub(crate) fn choose(
        &mut self,
        wanted: Option<SocketAddr>,
    ) -> Result<SocketAddr, BootstrapError> {
        // Without an address, it is a free port of this machine.
        let wanted = wanted.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into());
        if wanted.port() != 0 {
            return Ok(wanted);
        }
        self.free(wanted.ip()).ok_or_else(|| {
            let message = format!("no free port on {}", wanted.ip());
            BootstrapError::description(message, "Give an address of this machine, with a port.")
        })
    }

    fn free(&mut self, ip: IpAddr) -> Option<SocketAddr> {
        for _ in 0..SPAN {
            let port = FIRST + self.next;
            self.next = (self.next + 1) % SPAN;
            if self.taken.contains(&port) {
                continue;
            }
            if let Ok(listener) = TcpListener::bind((ip, port)) {
                self.taken.insert(port);
                self.held.push(listener);
                return Some((ip, port).into());
            }
        }
        None
    }
}
