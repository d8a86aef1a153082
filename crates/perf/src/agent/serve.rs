//! An agent: listens, lets one coordinator in at a time, and does its jobs.

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
use super::wire::{Ask, PROTOCOL, Tell, VERSION};
use crate::load::engine::{Clock, Real};
use crate::workload::Workloads;

/// Connections that have not said who they are, at most.
const STRANGERS_MAX: usize = 16;
/// How long a stranger may take to say who it is.
const STRANGER_PATIENCE: Duration = Duration::from_secs(10);
/// A coordinator that says nothing for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Between two tries to accept when the system has no room.
const REST: Duration = Duration::from_millis(200);

/// What an agent says about itself, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A coordinator has come.
    Came(SocketAddr),
    /// Somebody was sent away.
    Refused(SocketAddr, String),
    /// A stretch begins, in words.
    Begins(String),
    /// It is over.
    Done(String),
    /// The coordinator has gone.
    Left(SocketAddr),
}

/// Listens; see the module.
pub struct Agent {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    fingerprint: Hash,
    shared: Arc<Shared>,
}

struct Shared {
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
            shared: Arc::new(Shared {
                token,
                workloads,
                busy: AtomicBool::new(false),
                said: Box::new(said),
            }),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr, AgentError> {
        Ok(self.listener.local_addr()?)
    }

    /// SHA-256 of its certificate.
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
            // One too many is dropped: whoever knows the token tries again.
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
                    // It ends when the coordinator goes, in whatever way.
                    let _ = serve(channel, &shared).await;
                    (shared.said)(Said::Left(from));
                }
            });
        }
    }
}

/// Held while somebody is served.
struct Busy(Arc<Shared>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

async fn welcome(
    acceptor: TlsAcceptor,
    shared: &Arc<Shared>,
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

async fn serve(mut channel: Channel<Ask>, shared: &Shared) -> Result<(), Gone> {
    let clock = Real::since(Instant::now());
    loop {
        match next(&mut channel).await? {
            Ask::Clock { number } => {
                let now_us = u64::try_from(clock.now().as_micros()).unwrap_or(u64::MAX);
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

/// The next message; a coordinator that is silent for long is gone.
pub(super) async fn next(channel: &mut Channel<Ask>) -> Result<Ask, Gone> {
    let next = tokio::time::timeout(SILENCE_MAX, channel.receive());
    next.await.map_err(|_| Gone)?
}

#[cfg(test)]
mod tests {
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::agent::Token;

    /// What an agent answers to a first message with a version, a protocol and a proof that is right or not.
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
