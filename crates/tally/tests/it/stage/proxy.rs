//! A TCP proxy that can be cut like a network: connections stay open, and nothing passes until it is mended.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// A proxy in front of one address.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<ProxyState>,
}

#[derive(Default)]
struct ProxyState {
    way: Mutex<Way>,
    changed: Condvar,
}

#[derive(Default)]
struct Way {
    /// Where connections lead, once it is known.
    to: Option<SocketAddr>,
    is_cut: bool,
    has_ended: bool,
}

impl Proxy {
    /// Listens on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("bound");
        let state = Arc::new(ProxyState::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || connect(near, &state));
            }
        });
        Self { address, state }
    }

    /// Its own address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets where connections lead.
    pub fn lead_to(&self, address: SocketAddr) {
        self.change(|way| way.to = Some(address));
    }

    /// Cuts or mends all connections.
    pub fn cut(&self, is_cut: bool) {
        self.change(|way| way.is_cut = is_cut);
    }

    fn change(&self, change: impl FnOnce(&mut Way)) {
        change(&mut self.state.way.lock().expect("no holder panics"));
        self.state.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.change(|way| way.has_ended = true);
    }
}

impl ProxyState {
    /// Waits until bytes may pass. Returns where they go, or `None` at the end.
    fn open(&self) -> Option<SocketAddr> {
        let way = self.way.lock().expect("no holder panics");
        let is_closed = |way: &mut Way| !way.has_ended && (way.is_cut || way.to.is_none());
        let way = self.changed.wait_while(way, is_closed);
        let way = way.expect("no holder panics");
        way.to.filter(|_| !way.has_ended)
    }
}

/// Carries one connection until both ends have closed it. If the target does not listen, closes it.
fn connect(near: TcpStream, state: &Arc<ProxyState>) {
    let Some(far) = state.open().and_then(|to| TcpStream::connect(to).ok()) else {
        return;
    };
    for end in [&near, &far] {
        // Without it the measured times would include the system's delays.
        let _ = end.set_nodelay(true);
    }
    let ends = [near, far].map(Arc::new);
    let back = {
        let ([near, far], state) = (ends.clone(), Arc::clone(state));
        std::thread::spawn(move || carry(&far, &near, &state))
    };
    carry(&ends[0], &ends[1], state);
    let _ = back.join();
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, state: &ProxyState) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        // An error is passed on as an end.
        let read = from.read(&mut buffer).unwrap_or(0);
        if state.open().is_none() || read == 0 || to.write_all(&buffer[..read]).is_err() {
            // Either end may be gone already.
            let _ = to.shutdown(Shutdown::Write);
            let _ = from.shutdown(Shutdown::Read);
            return;
        }
    }
}
