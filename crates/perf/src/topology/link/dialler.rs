//! Finds the node's process at the near end of a connection, using the system's socket table.

use std::net::SocketAddr;
use std::path::Path;

/// Sockets of this machine.
const SOCKETS: &str = "/proc/net/tcp";
/// Fields of its lines: the local address, the remote address, and the inode that identifies the socket among a process's
/// files.
const LOCAL: usize = 1;
const REMOTE: usize = 2;
const INODE: usize = 9;

/// The initiator of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialler {
    /// Its own end.
    pub address: SocketAddr,
    /// The proxy that it has connected to.
    pub proxy: SocketAddr,
}

impl Dialler {
    /// Returns the index of the process that owns the connection, `None` if the system does not say. A pid of 0 means not
    /// running.
    pub(super) fn position(self, pids: impl Iterator<Item = u32>) -> Option<usize> {
        let sockets = std::fs::read_to_string(SOCKETS).ok()?;
        let inode = inode(&sockets, self.address.port(), self.proxy.port())?;
        let link = format!("socket:[{inode}]");
        pids.enumerate()
            .find(|(_, pid)| *pid != 0 && has(*pid, &link))
            .map(|(at, _)| at)
    }
}

/// Returns whether a process has an open file with this link.
fn has(pid: u32, link: &str) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    files.flatten().any(|file| {
        let target = std::fs::read_link(file.path());
        target.is_ok_and(|target| target == Path::new(link))
    })
}

/// Returns the inode of the socket between two ports of this machine.
fn inode(sockets: &str, local: u16, remote: u16) -> Option<&str> {
    let port = |field: Option<&&str>| {
        let (_, port) = field?.rsplit_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    sockets.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let same =
            port(fields.get(LOCAL)) == Some(local) && port(fields.get(REMOTE)) == Some(remote);
        same.then(|| fields.get(INODE).copied()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_found_by_its_two_ports() {
        let sockets = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0 100 0 0 10 0\n\
            1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 20 4 30 10 -1\n\
            2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 103 1 0 20 4 30 10 -1\n";
        for (local, remote, expected) in [
            (50_000, 8_080, Some("102")),
            (8_080, 50_000, Some("103")),
            (50_001, 8_080, None),
        ] {
            assert_eq!(inode(sockets, local, remote), expected);
        }
        for garbage in ["", "x", "head\nx y", "head\n0: a:b c:d"] {
            assert_eq!(inode(garbage, 1, 2), None, "{garbage:?}");
        }
    }

    #[test]
    fn this_process_is_known_by_its_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = listener.local_addr().expect("bound");
        let socket = std::net::TcpStream::connect(proxy).expect("it listens");
        let dialler = Dialler {
            address: socket.local_addr().expect("connected"),
            proxy,
        };
        let own = std::process::id();
        assert_eq!(dialler.position([0, 1, own].into_iter()), Some(2));
        assert_eq!(dialler.position([0].into_iter()), None);
    }
}
