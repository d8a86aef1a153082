//! A coordinator's connection to an agent, up to the point at which both have proved that they know the token.

use std::sync::Arc;
use std::time::Duration;

use primitives::Hash;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::AgentAddress;
use super::channel::{self, Channel, Role, Token, proof, same};
use super::error::{AgentError, VERSION as OTHER_VERSION};
use super::host::Facts;
use super::wire::{Ask, PROTOCOL, Service, Tell, VERSION};

/// Time limit for the connection to an agent.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A connection to an agent that knows the token.
pub(super) struct Connected {
    pub channel: Channel<Tell>,
    /// The fingerprint of the agent's certificate.
    pub fingerprint: Hash,
    /// The facts about it, if it is to be a host.
    pub host: Option<Facts>,
}

/// Connects; both ends prove that they know the token.
pub(super) async fn connect(
    address: &AgentAddress,
    token: &Token,
    service: Service,
) -> Result<Connected, AgentError> {
    let late = |_| AgentError::Unreachable {
        address: address.address.clone(),
        reason: format!("no answer within {} s", CONNECT_MAX.as_secs()),
    };
    let connecting = connect_patiently(address, token, service);
    let connected = tokio::time::timeout(CONNECT_MAX, connecting);
    connected.await.map_err(late)?
}

async fn connect_patiently(
    address: &AgentAddress,
    token: &Token,
    service: Service,
) -> Result<Connected, AgentError> {
    let unreachable = |reason: String| AgentError::Unreachable {
        address: address.address.clone(),
        reason,
    };
    let socket = TcpStream::connect(&address.address).await;
    let socket = socket.map_err(|error| unreachable(error.to_string()))?;
    socket
        .set_nodelay(true)
        .map_err(|error| unreachable(error.to_string()))?;
    let connector = TlsConnector::from(Arc::new(channel::client(address.fingerprint)?));
    let name =
        ServerName::try_from(channel::NAME).map_err(|error| AgentError::Tls(error.to_string()))?;
    let stream = connector.connect(name, socket).await;
    let stream = stream.map_err(|error| unreachable(error.to_string()))?;
    let connection = stream.get_ref().1;
    let own = proof(connection, Role::Coordinator, token)?;
    let expected = proof(connection, Role::Agent, token)?;
    let certificate = connection.peer_certificates().and_then(|all| all.first());
    let certificate =
        certificate.ok_or_else(|| AgentError::Tls("it has no certificate".to_owned()))?;
    let fingerprint = Hash::plain(certificate);
    let mut channel: Channel<Tell> = Channel::over(stream);
    let hello = Ask::Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        proof: own,
        service,
    };
    let silent = |_| unreachable("it ended the connection".to_owned());
    channel.send(&hello).await.map_err(silent)?;
    match channel.receive().await.map_err(silent)? {
        Tell::Welcome { proof, .. } if !same(&proof, &expected) => {
            Err(AgentError::Denied(address.address.clone()))
        }
        Tell::Welcome {
            protocol: PROTOCOL,
            version,
            host,
            ..
        } if version == VERSION => {
            channel.trust();
            Ok(Connected {
                channel,
                fingerprint,
                host,
            })
        }
        Tell::Welcome { version, .. } => Err(AgentError::Refused {
            message: format!("it is tally {version}"),
            code: OTHER_VERSION.to_owned(),
            address: address.address.clone(),
        }),
        Tell::Refused { code, message } => Err(AgentError::Refused {
            address: address.address.clone(),
            code,
            message,
        }),
        _ => Err(unreachable("it does not speak as an agent".to_owned())),
    }
}
