//! The HTTP/2 windows that a server announces: all its connections share one budget.

use tokio::io::AsyncReadExt;

use crate::fixture::{Fixture, SendAll};

/// The window that HTTP/2 gives each connection and each stream before anything is announced.
const INITIAL: u64 = 65_535;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const INITIAL_WINDOW_SIZE: u16 = 4;
/// Pings sent one after the other. The server announces its windows before it answers the second one.
const PINGS: u32 = 2;
const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

/// Reads the windows of a new connection and of its streams from the server's first frames.
async fn announced(fixture: &Fixture) -> (u64, u64) {
    let mut tls = fixture.connect_with(&[b"h2"]).await;
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    hello.extend([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]);
    hello.extend(PING);
    tls.send_all(&hello).await.expect("sent");
    let (mut connection, mut stream, mut answered) = (INITIAL, INITIAL, 0);
    loop {
        let mut head = [0; 9];
        tls.read_exact(&mut head).await.expect("a frame");
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut body = vec![0; length];
        tls.read_exact(&mut body).await.expect("its body");
        let of_connection = head[5..9] == [0; 4];
        match (head[3], head[4]) {
            (SETTINGS, flags) if flags & ACK == 0 => {
                for setting in body.chunks_exact(6) {
                    if u16::from_be_bytes([setting[0], setting[1]]) == INITIAL_WINDOW_SIZE {
                        stream = number(&setting[2..]);
                    }
                }
            }
            (WINDOW_UPDATE, _) if of_connection => connection += number(&body),
            (6, ACK) => {
                answered += 1;
                if answered == PINGS {
                    return (connection, stream);
                }
                tls.send_all(&PING).await.expect("sent");
            }
            _ => {}
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_are_the_same_however_many_connections_there_are() {
    for connections_max in [16, 2_048, 100_000] {
        let fixture = Fixture::with(|options| options.connections_max = connections_max).await;
        let (connection, stream) = announced(&fixture).await;
        assert_eq!(
            (connection, stream),
            (4 << 20, 1 << 20),
            "{connections_max}"
        );
    }
}
