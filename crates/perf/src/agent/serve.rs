//! An agent: listens, admits one coordinator at a time, and runs its jobs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use primitives::Hash;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::channel::{self, Channel, Gone, Role, Token, proof, same};
use super::error::{AgentError, BUSY, DENIED, VERSION as OTHER_VERSION};
use super::job;
use super::wire::{Ask, COORDINATOR_SILENCE_MAX, PROTOCOL, Tell, VERSION};
use crate::load::engine::{Clock, Real};
use crate::measure::whole_micros;
use crate::workload::Workloads;

/// Upper limit on connections that are not authenticated yet.
const STRANGERS_MAX: usize = 16;
/// Time limit for the authentication of a peer.
const STRANGER_PATIENCE: Duration = Duration::from_secs(10);
/// Pause before the next accept after the system refused one.
const REST: Duration = Duration::from_millis(200);

/// Status messages of an agent, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A coordinator has connected.
    Came(SocketAddr),
    /// A peer was refused.
    Refused(SocketAddr, String),
    /// A stretch begins; described in words.
    Begins(String),
    /// A stretch is over; its outcome in words.
    Done(String),
    /// The coordinator has disconnected.
    Left(SocketAddr),
}

/// A listening agent.
pub struct Agent {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    fingerprint: Hash,
    shared: Arc<AgentState>,
}

struct AgentState {
    token: Token,
    workloads: Workloads,
    busy: AtomicBool,
    said: Box<dyn Fn(Said) + Send + Sync>,
}

impl Agent {
    /// Listens on an address, with a certificate made now.
    pub async fn bind(
        address: &str,
        token: Token,
        workloads: Workloads,
        said: impl Fn(Said) + Send + Sync + 'static,
    ) -> Result<Self, AgentError> {
        let (config, fingerprint) = channel::server()?;
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            fingerprint,
            shared: Arc::new(AgentState {
                token,
                workloads,
                busy: AtomicBool::new(false),
                said: Box::new(said),
            }),
        })
    }

    /// Returns the address that the agent listens on.
    pub fn address(&self) -> Result<SocketAddr, AgentError> {
        Ok(self.listener.local_addr()?)
    }

    /// Returns the SHA-256 of the agent's certificate.
    pub fn fingerprint(&self) -> Hash {
        self.fingerprint
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        let strangers = Arc::new(Semaphore::new(STRANGERS_MAX));
        loop {
            let Ok((socket, from)) = self.listener.accept().await else {
                tokio::time::sleep(REST).await;
                continue;
            };
            // A connection above the limit is dropped. A coordinator that knows the token retries.
            let Ok(place) = Arc::clone(&strangers).try_acquire_owned() else {
                continue;
            };
            let (acceptor, shared) = (self.acceptor.clone(), Arc::clone(&self.shared));
            tokio::spawn(async move {
                let known = welcome(acceptor, &shared, socket, from);
                let known = tokio::time::timeout(STRANGER_PATIENCE, known).await;
                drop(place);
                if let Ok(Some((channel, _busy))) = known {
                    (shared.said)(Said::Came(from));
                    // Either error means that the coordinator has disconnected.
                    let _ = serve(channel, &shared).await;
                    (shared.said)(Said::Left(from));
                }
            });
        }
    }
}

/// A guard held while a coordinator is served.
struct Busy(Arc<AgentState>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

async fn welcome(
    acceptor: TlsAcceptor,
    shared: &Arc<AgentState>,
    socket: TcpStream,
    from: SocketAddr,
) -> Option<(Channel<Ask>, Busy)> {
    socket.set_nodelay(true).ok()?;
    let stream = acceptor.accept(socket).await.ok()?;
    let connection = stream.get_ref().1;
    let expected = proof(connection, Role::Coordinator, &shared.token).ok()?;
    let own = proof(connection, Role::Agent, &shared.token).ok()?;
    let mut channel: Channel<Ask> = Channel::over(stream);
    let Ok(Ask::Hello {
        protocol,
        version,
        proof,
    }) = channel.receive().await
    else {
        return None;
    };
    let refusal = if !same(&proof, &expected) {
        Some((DENIED, "the token is another one".to_owned()))
    } else if protocol != PROTOCOL || version != VERSION {
        let words =
            format!("it is tally {VERSION} (protocol {PROTOCOL}), not {version} ({protocol})");
        Some((OTHER_VERSION, words))
    } else if shared.busy.swap(true, Ordering::AcqRel) {
        Some((BUSY, "it works for another coordinator".to_owned()))
    } else {
        None
    };
    if let Some((code, message)) = refusal {
        (shared.said)(Said::Refused(from, message.clone()));
        let code = code.to_owned();
        channel.send(&Tell::Refused { code, message }).await.ok()?;
        return None;
    }
    channel.trust();
    let busy = Busy(Arc::clone(shared));
    let welcome = Tell::Welcome {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        proof: own,
    };
    channel.send(&welcome).await.ok()?;
    Some((channel, busy))
}

async fn serve(mut channel: Channel<Ask>, shared: &AgentState) -> Result<(), Gone> {
    let clock = Real::since(Instant::now());
    loop {
        match channel.receive_within(COORDINATOR_SILENCE_MAX).await? {
            Ask::Clock { number } => {
                let now_us = whole_micros(clock.now());
                channel.send(&Tell::Time { number, now_us }).await?;
            }
            Ask::Prepare(job) => {
                let words = format!("{} workers at {} nodes", job.workers, job.banks.len());
                (shared.said)(Said::Begins(words));
                let done = job::run(*job, &clock, &mut channel, &shared.workloads).await?;
                (shared.said)(Said::Done(done));
            }
            Ask::Alive | Ask::Stop | Ask::Forget => {}
            Ask::Hello { .. } | Ask::Begin { .. } => return Err(Gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::agent::Token;

    /// Returns an agent's answer to a first message with this version and protocol, and a right or wrong proof.
    async fn answer(version: &str, protocol: u32, right: bool) -> String {
        let token = Token::new("sixteen characters at least").expect("long enough");
        let agent = Agent::bind("127.0.0.1:0", token.clone(), Workloads::none(), |_| {}).await;
        let agent = agent.expect("loopback is there");
        let at = agent.address().expect("it listens");
        tokio::spawn(agent.serve());
        let socket = TcpStream::connect(at).await.expect("it listens");
        let config = channel::client(None).expect("constants");
        let name = rustls::pki_types::ServerName::try_from(channel::NAME).expect("a name");
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector
            .connect(name, socket)
            .await
            .expect("any certificate will do");
        let mut proof = proof(stream.get_ref().1, Role::Coordinator, &token).expect("connected");
        proof[0] ^= u8::from(!right);
        let mut channel: Channel<Tell> = Channel::over(stream);
        let hello = Ask::Hello {
            protocol,
            version: version.to_owned(),
            proof,
        };
        channel.send(&hello).await.expect("connected");
        match channel.receive().await {
            Ok(Tell::Refused { code, .. }) => code,
            Ok(Tell::Welcome { .. }) => "welcome".to_owned(),
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn another_version_is_refused_and_a_wrong_proof_before_that() {
        assert_eq!(answer(VERSION, PROTOCOL, true).await, "welcome");
        assert_eq!(answer("0.0.0", PROTOCOL, true).await, OTHER_VERSION);
        assert_eq!(answer(VERSION, PROTOCOL + 1, true).await, OTHER_VERSION);
        assert_eq!(answer("0.0.0", PROTOCOL, false).await, DENIED);
    }
}
