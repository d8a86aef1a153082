//! Measures the throughput and round trip of one TLS connection over loopback. Both ends are on this machine. It is set
//! up as in nodes: rustls with aws-lc, TLS 1.3, no delay.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

/// The name in the certificate.
pub(super) const NAME: &str = "localhost";
/// The size of a busy node's writes.
const BLOCK_BYTES: usize = 64 * 1024;
/// A small message, there and back.
const PING_BYTES: usize = 64;
/// Time limit of each end for the other.
const PATIENCE: Duration = Duration::from_secs(5);
/// Upper limit on round trips kept.
const TRIPS_MAX: usize = 100_000;
/// The first byte of a message: whether to answer it or only to receive it.
const ANSWER: u8 = 1;
const TAKE: u8 = 0;

/// The limits of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ceiling {
    /// Mbit/s one way.
    pub mbit_per_s: f64,
    /// The median round trip of a small message, microseconds.
    pub round_trip_us: f64,
}

/// Measures small messages for half of `slice`, then bulk for the whole of it.
pub(super) fn ceiling(slice: Duration) -> io::Result<Ceiling> {
    let (server, client) = configs().map_err(io::Error::other)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    // Connects before the far end accepts: the listener's backlog holds the connection.
    let socket = TcpStream::connect(address)?;
    let far = std::thread::Builder::new()
        .name("far end".to_owned())
        .spawn(move || answer(&listener, server))?;
    let near = ask(socket, client, slice);
    let taken = far
        .join()
        .map_err(|_| io::Error::other("the far end panicked"))?;
    let (round_trip_us, began) = near?;
    let (bytes, ended) = taken?;
    // If no byte arrived, the far end's time is the beginning, so the difference is 0.
    let seconds = ended.saturating_duration_since(began).as_secs_f64();
    Ok(Ceiling {
        mbit_per_s: bytes as f64 * 8.0 / 1e6 / seconds.max(1e-9),
        round_trip_us,
    })
}

/// Returns both configurations, with a certificate that only they trust.
pub(super) fn configs()
-> Result<(ServerConfig, ClientConfig), Box<dyn std::error::Error + Send + Sync>> {
    let own = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions = &[&rustls::version::TLS13];
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)?;
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone())?;
    let client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((server, client))
}

/// Sets no delay and finite timeouts.
pub(super) fn ready(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Runs the near end. Returns the median round trip in microseconds, and when the bulk transfer began.
fn ask(socket: TcpStream, config: ClientConfig, slice: Duration) -> io::Result<(f64, Instant)> {
    let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, ready(socket)?);
    let mut ping = [0x5a; PING_BYTES];
    ping[0] = ANSWER;
    let mut trips = Vec::new();
    let until = Instant::now() + slice / 2;
    while trips.len() < TRIPS_MAX && (trips.is_empty() || Instant::now() < until) {
        let start = Instant::now();
        stream.write_all(&ping)?;
        stream.read_exact(&mut [0; PING_BYTES])?;
        trips.push(start.elapsed().as_secs_f64() * 1e6);
    }
    ping[0] = TAKE;
    stream.write_all(&ping)?;
    let block = [0x5a; BLOCK_BYTES];
    let began = Instant::now();
    while began.elapsed() < slice {
        stream.write_all(&block)?;
    }
    stream.conn.send_close_notify();
    stream.flush()?;
    Ok((crate::measure::median(&trips), began))
}

/// Runs the far end: answers small messages until the bulk transfer begins. Returns the bytes received, and when the last
/// arrived.
fn answer(listener: &TcpListener, config: ServerConfig) -> io::Result<(u64, Instant)> {
    let (socket, _) = listener.accept()?;
    let connection = ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, ready(socket)?);
    let mut ping = [0; PING_BYTES];
    loop {
        stream.read_exact(&mut ping)?;
        if ping[0] != ANSWER {
            break;
        }
        stream.write_all(&ping)?;
    }
    let mut block = vec![0; BLOCK_BYTES];
    let (mut bytes, mut last) = (0u64, Instant::now());
    loop {
        match stream.read(&mut block) {
            Ok(0) => return Ok((bytes, last)),
            Ok(read) => {
                bytes += read as u64;
                last = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_carries_something_both_ways() {
        let ceiling = ceiling(Duration::from_millis(30)).expect("loopback is there");
        assert!(ceiling.mbit_per_s > 1.0, "{ceiling:?}");
        assert!(ceiling.round_trip_us > 0.1, "{ceiling:?}");
    }
}
