//! The other end of a connection, built with libp2p by hand, so that a test can send any request or
//! answer.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use libp2p_core::Transport;
use libp2p_core::upgrade::Version;
use libp2p_identity::Keypair;
use libp2p_identity::PeerId;
use libp2p_request_response::{self as request_response, OutboundRequestId, ProtocolSupport};
use libp2p_swarm::StreamProtocol;
use libp2p_swarm::{self as swarm, NetworkBehaviour, Swarm, SwarmEvent};
use {
    libp2p_identify as identify, libp2p_noise as noise, libp2p_ping as ping, libp2p_tcp as tcp,
    libp2p_yamux as yamux,
};

use crate::gossip::fixture::PATIENCE;

/// Writes the given bytes unchanged and reads any bytes.
#[derive(Clone, Default)]
pub struct Verbatim;

impl request_response::Codec for Verbatim {
    type Protocol = StreamProtocol;
    type Request = Vec<u8>;
    type Response = Vec<u8>;

    async fn read_request<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        // The asking side keeps its end open until it is answered: a request is taken as it begins.
        let mut bytes = vec![0; 1_024];
        let read = io.read(&mut bytes).await?;
        bytes.truncate(read);
        Ok(bytes)
    }

    async fn read_response<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        let mut bytes = Vec::new();
        io.read_to_end(&mut bytes).await?;
        Ok(bytes)
    }

    async fn write_request<T>(
        &mut self,
        _: &StreamProtocol,
        io: &mut T,
        bytes: Vec<u8>,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        io.write_all(&bytes).await
    }

    async fn write_response<T>(
        &mut self,
        _: &StreamProtocol,
        io: &mut T,
        bytes: Vec<u8>,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        io.write_all(&bytes).await
    }
}

#[derive(NetworkBehaviour)]
#[behaviour(prelude = "libp2p_swarm::derive_prelude")]
pub struct Raw {
    pub requests: request_response::Behaviour<Verbatim>,
    pub identify: identify::Behaviour,
    pub ping: ping::Behaviour,
}

/// A peer that tells the fixture's network and takes its requests, but nothing else.
pub fn swarm() -> Swarm<Raw> {
    let hash = "09".repeat(32);
    let keys = Keypair::generate_ed25519();
    let protocol = StreamProtocol::try_from_owned(format!("/tally/{hash}/request/1"));
    let protocols = [(protocol.expect("a name"), ProtocolSupport::Full)];
    let raw = Raw {
        requests: request_response::Behaviour::with_codec(
            Verbatim,
            protocols,
            request_response::Config::default(),
        ),
        identify: identify::Behaviour::new(identify::Config::new(
            format!("/tally/{hash}/1"),
            keys.public(),
        )),
        ping: ping::Behaviour::default(),
    };
    let transport = tcp::tokio::Transport::new(tcp::Config::new())
        .upgrade(Version::V1)
        .authenticate(noise::Config::new(&keys).expect("a key"))
        .multiplex(yamux::Config::default())
        .boxed();
    let config = swarm::Config::with_tokio_executor();
    let config = config.with_idle_connection_timeout(Duration::from_secs(600));
    Swarm::new(transport, raw, keys.public().to_peer_id(), config)
}

/// Connects it; returns the peer that is there.
pub async fn connect(swarm: &mut Swarm<Raw>, address: SocketAddr) -> PeerId {
    let address = format!("/ip4/{}/tcp/{}", address.ip(), address.port());
    swarm
        .dial(
            address
                .parse::<libp2p_core::Multiaddr>()
                .expect("an address"),
        )
        .expect("dials");
    next(swarm, |event| match event {
        SwarmEvent::ConnectionEstablished { peer_id, .. } => Some(peer_id),
        _ => None,
    })
    .await
}

/// The next event of a kind.
pub async fn next<T>(
    swarm: &mut Swarm<Raw>,
    mut wanted: impl FnMut(SwarmEvent<RawEvent>) -> Option<T>,
) -> T {
    let waiting = async {
        loop {
            if let Some(wanted) = wanted(swarm.select_next_some().await) {
                return wanted;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("it happens")
}

/// Sends a request and waits for its outcome: the answer's bytes, or the reason why there is none.
pub async fn ask(swarm: &mut Swarm<Raw>, peer: PeerId, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let asked: OutboundRequestId = swarm.behaviour_mut().requests.send_request(&peer, bytes);
    next(swarm, |event| match event {
        SwarmEvent::Behaviour(RawEvent::Requests(request_response::Event::Message {
            message:
                request_response::Message::Response {
                    request_id,
                    response,
                },
            ..
        })) if request_id == asked => Some(Ok(response)),
        SwarmEvent::Behaviour(RawEvent::Requests(request_response::Event::OutboundFailure {
            request_id,
            error,
            ..
        })) if request_id == asked => Some(Err(error.to_string())),
        _ => None,
    })
    .await
}
