//! The handshake: turns a socket into a connection of two authenticated parties, by TLS and a hello in each direction.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ledger::PartyId;
use rustls::Connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::frame::{FrameError, HEADER_BYTES, HELLO_BYTES_MAX, Header, Hello, Kind};
use crate::peer::Peer;
use crate::refusal::{Refusal, describe};
use crate::shared::TransportState;
use crate::tls::{is_certificate_of, server_name};

/// A connection whose remote party is authenticated.
pub(crate) struct Met {
    pub(crate) peer: Arc<Peer>,
    pub(crate) hello: Hello,
    pub(crate) socket: TcpStream,
    pub(crate) address: SocketAddr,
    pub(crate) tls: Connection,
}

/// Performs the handshake of an inbound connection. It reveals this node's identity only to a party of the network.
pub(crate) async fn accept(
    shared: &TransportState,
    socket: TcpStream,
    address: SocketAddr,
) -> Result<Met, Refusal> {
    prepare(&socket)?;
    let acceptor = TlsAcceptor::from(Arc::clone(&shared.tls.server));
    let stream = acceptor
        .accept(socket)
        .await
        .map_err(|error| Refusal::of_handshake(&error, None))?;
    let mut stream = TlsStream::from(stream);
    let hello = receive(&mut stream).await?;
    if !shows_certificate_of(&stream, &hello.party) {
        return Err(Refusal::WrongName(shared.name_of(&hello.party)));
    }
    if hello.party >= shared.me {
        // This node has to dial, and does: another process of the party may have taken over, see `dial::announce`.
        if let Some(peer) = shared.peer(&hello.party) {
            peer.announced();
        }
        return Err(Refusal::WrongDirection(shared.name_of(&hello.party)));
    }
    let peer = shared
        .peer(&hello.party)
        .ok_or(Refusal::UnknownPeer(hello.party))?;
    peer.check_admitted()?;
    send(&mut stream, &shared.hello()).await?;
    Ok(meet(peer, hello, address, stream))
}

/// An outbound connection on which TLS is agreed. The peer learns of it by this node's hello, so it can still be dropped for another one.
pub(crate) struct Reached {
    stream: TlsStream<TcpStream>,
    address: SocketAddr,
}

/// Agrees on TLS on an outbound connection.
pub(crate) async fn agree(
    shared: &TransportState,
    peer: &Peer,
    socket: TcpStream,
    address: SocketAddr,
) -> Result<Reached, Refusal> {
    prepare(&socket)?;
    let name = server_name(&peer.id).map_err(Refusal::HandshakeFailed)?;
    let connector = TlsConnector::from(Arc::clone(&shared.tls.client));
    // The name is checked here: it is the one that was connected to.
    let stream = connector.connect(name, socket).await;
    let stream = stream.map_err(|error| Refusal::of_handshake(&error, Some(&peer.name)))?;
    Ok(Reached {
        stream: TlsStream::from(stream),
        address,
    })
}

/// Completes the handshake of an outbound connection: exchanges hellos.
pub(crate) async fn greet(
    shared: &TransportState,
    peer: &Arc<Peer>,
    reached: Reached,
) -> Result<Met, Refusal> {
    let Reached {
        mut stream,
        address,
    } = reached;
    send(&mut stream, &shared.hello()).await?;
    let hello = receive(&mut stream).await?;
    if hello.party != peer.id {
        return Err(Refusal::WrongName(shared.name_of(&hello.party)));
    }
    Ok(meet(Arc::clone(peer), hello, address, stream))
}

fn prepare(socket: &TcpStream) -> Result<(), Refusal> {
    // Messages are gathered here already, so the operating system must not delay a write to gather more.
    socket.set_nodelay(true).map_err(broken)
}

fn meet(peer: Arc<Peer>, hello: Hello, address: SocketAddr, stream: TlsStream<TcpStream>) -> Met {
    let (socket, tls) = match stream {
        TlsStream::Client(stream) => {
            let (socket, tls) = stream.into_inner();
            (socket, tls.into())
        }
        TlsStream::Server(stream) => {
            let (socket, tls) = stream.into_inner();
            (socket, tls.into())
        }
    };
    Met {
        peer,
        hello,
        socket,
        address,
        tls,
    }
}

/// Returns whether the other side has shown the certificate of a party.
fn shows_certificate_of(stream: &TlsStream<TcpStream>, party: &PartyId) -> bool {
    // Without a certificate, no name is shown.
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let own = certificates.first();
    own.is_some_and(|own| is_certificate_of(own, party))
}

async fn send(stream: &mut TlsStream<TcpStream>, hello: &Hello) -> Result<(), Refusal> {
    let body = hello.to_bytes();
    let mut frame = Header::new(Kind::Hello, body.len()).to_bytes().to_vec();
    frame.extend_from_slice(&body);
    stream.write_all(&frame).await.map_err(broken)?;
    stream.flush().await.map_err(broken)
}

async fn receive(stream: &mut TlsStream<TcpStream>) -> Result<Hello, Refusal> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).await.map_err(broken)?;
    let header = Header::parse(&header)?;
    if header.kind != Kind::Hello {
        return Err(FrameError::Kind(header.kind as u8).into());
    }
    if header.length as usize > HELLO_BYTES_MAX {
        return Err(FrameError::TooLarge(header.length.into()).into());
    }
    let mut body = vec![0; header.length as usize];
    stream.read_exact(&mut body).await.map_err(broken)?;
    Ok(Hello::parse(&body)?)
}

fn broken(error: io::Error) -> Refusal {
    match error.get_ref() {
        // In TLS 1.3 the other side's verdict on our certificate arrives only now.
        Some(inner) if inner.is::<rustls::Error>() => Refusal::of_handshake(&error, None),
        _ => Refusal::HandshakeFailed(describe(&error)),
    }
}
