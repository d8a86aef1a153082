//! Tests of proxies with real sockets. Times are only asserted from below, since a link guarantees a minimum.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a node that echoes one connection's bytes.
fn echo() -> (Behind, JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut writer = socket.try_clone().expect("both ways");
        let carried = std::io::copy(&mut socket, &mut writer).expect("copied");
        writer.shutdown(Shutdown::Write).expect("it is open");
        carried
    });
    let pid = Arc::new(AtomicU32::new(0));
    (Behind { address, pid }, thread)
}

fn connect(links: &Links, at: usize) -> TcpStream {
    let socket = TcpStream::connect(links.addresses()[at]).expect("the proxy listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket
}

/// Sends bytes and reads them back; returns how long that took.
fn there_and_back(socket: &mut TcpStream, bytes: &[u8]) -> Duration {
    let begun = Instant::now();
    let mut back = vec![0; bytes.len()];
    let mut writer = socket.try_clone().expect("both ways");
    let sent = bytes.to_vec();
    let writing = std::thread::spawn(move || writer.write_all(&sent));
    socket.read_exact(&mut back).expect("all comes back");
    writing.join().expect("no panic").expect("written");
    assert!(back == bytes, "bytes come back as they were");
    begun.elapsed()
}

fn all(speed: LinkSpeed) -> LinkSpeeds {
    LinkSpeeds {
        all: speed,
        ..LinkSpeeds::default()
    }
}

#[test]
fn bytes_arrive_unchanged_and_the_end_is_passed_on() {
    let (node, echoed) = echo();
    let links = Links::start(vec![node]).expect("it starts");
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    let mut socket = connect(&links, 0);
    there_and_back(&mut socket, &bytes);
    socket.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(socket.read(&mut [0; 16]).expect("no failure"), 0);
    let expected = bytes.len() as u64;
    assert_eq!(echoed.join().expect("no panic"), expected);
    assert_eq!(links.carried_bytes(), 2 * expected);
}

#[test]
fn a_round_trip_takes_twice_the_delay_and_a_change_is_felt_by_connections_that_stand() {
    let (node, _echoed) = echo();
    let links = Links::start(vec![node]).expect("it starts");
    let mut socket = connect(&links, 0);
    there_and_back(&mut socket, b"before");
    links.set(all(LinkSpeed::new(30.0, None)));
    assert!(there_and_back(&mut socket, b"far") >= Duration::from_millis(60));
    // Bytes in flight do not wait for each other: 40 sequential round trips would take 2.4 s.
    let many = vec![7; 40 * CHUNK];
    assert!(there_and_back(&mut socket, &many) >= Duration::from_millis(60));
    links.set(LinkSpeeds::default());
    there_and_back(&mut socket, b"near again");
}

/// More than a pump reads at once.
const CHUNK: usize = 70_000;

#[test]
fn bandwidth_bounds_what_gets_through() {
    let (node, _echoed) = echo();
    let links = Links::start(vec![node]).expect("it starts");
    links.set(all(LinkSpeed::new(0.0, Some(8.0))));
    let mut socket = connect(&links, 0);
    // 300,000 bytes at a million a second, each way; both ways overlap.
    let took = there_and_back(&mut socket, &vec![1; 300_000]);
    assert!(took >= Duration::from_millis(290), "{took:?}");
}

#[test]
fn a_node_that_does_not_listen_closes_the_connection_and_is_reached_when_it_does() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let pid = Arc::new(AtomicU32::new(0));
    let links = Links::start(vec![Behind { address, pid }]).expect("it starts");
    let mut socket = connect(&links, 0);
    // Closed, or reset: nothing comes.
    assert!(matches!(socket.read(&mut [0; 1]), Ok(0) | Err(_)));
    let listener = TcpListener::bind(address).expect("still free");
    let mut socket = connect(&links, 0);
    let (mut far, _) = listener.accept().expect("through the proxy");
    socket.write_all(b"x").expect("open");
    far.read_exact(&mut [0; 1]).expect("it arrives");
    // If one end dies, the other is closed.
    drop(far);
    assert!(matches!(socket.read(&mut [0; 1]), Ok(0) | Err(_)));
}

#[test]
fn a_link_of_one_node_holds_up_nobody_else() {
    let (near, _) = echo();
    let (far, _) = echo();
    // This process, which connects, counts as the third node.
    let (third, _) = echo();
    third.pid.store(std::process::id(), Ordering::Relaxed);
    let links = Links::start(vec![near, far, third]).expect("it starts");
    links.set(LinkSpeeds {
        own: [(1, LinkSpeed::new(40.0, None))].into(),
        ..LinkSpeeds::default()
    });
    there_and_back(&mut connect(&links, 0), b"near");
    let took = there_and_back(&mut connect(&links, 1), b"far");
    assert!(took >= Duration::from_millis(80), "{took:?}");
    drop(links);
    // By dialler: the third node's own link applies at every other node's proxy.
    let (near, _) = echo();
    let (far, _) = echo();
    far.pid.store(std::process::id(), Ordering::Relaxed);
    let links = Links::start(vec![near, far]).expect("it starts");
    links.set(LinkSpeeds {
        own: [(1, LinkSpeed::new(40.0, None))].into(),
        ..LinkSpeeds::default()
    });
    let took = there_and_back(&mut connect(&links, 0), b"from the far one");
    assert!(took >= Duration::from_millis(80), "{took:?}");
}
