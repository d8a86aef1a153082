//! An agent: listens, admits one coordinator at a time for its load, and runs its jobs. As a host it admits a few.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use primitives::Hash;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::channel::{self, Channel, Gone, Role, Token, proof, same};
use super::error::{AgentError, BUSY, DENIED, NO_HOST, VERSION as OTHER_VERSION};
use super::host::{self, Facts};
use super::job;
use super::wire::{Ask, COORDINATOR_SILENCE_MAX, PROTOCOL, Service, Tell, VERSION};
use crate::load::engine::{Clock, Real};
use crate::measure::whole_micros;
use crate::topology;
use crate::workload::Boxed;
use crate::workload::Workloads;

/// Upper limit on connections that are not authenticated yet.
const STRANGERS_MAX: usize = 16;
/// Coordinators whose nodes an agent holds at the same time, at most.
const HOSTED_MAX: usize = 4;
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
    /// The executable of nodes; `None` if the agent is no host.
    nodes: Option<PathBuf>,
    hosted: Arc<Semaphore>,
    said: Box<dyn Fn(Said) + Send + Sync>,
}

impl Agent {
    /// Listens on an address, with a certificate made now. With an executable of nodes, the agent is a host as well.
    pub async fn bind(
        address: &str,
        token: Token,
        workloads: Workloads,
        nodes: Option<PathBuf>,
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
                nodes,
                hosted: Arc::new(Semaphore::new(HOSTED_MAX)),
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
    pub fn serve(self) -> Boxed<'static, ()> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(self.serve_here())
    }

    async fn serve_here(self) {
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
                if let Ok(Some((channel, place))) = known {
                    (shared.said)(Said::Came(from));
                    serve(channel, place, &shared).await;
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

/// A coordinator's place at an agent, held while it is served.
enum Place {
    Load {
        _busy: Busy,
    },
    Host {
        facts: Facts,
        _permit: OwnedSemaphorePermit,
    },
}

/// Returns a coordinator's place, or why there is none.
fn place(
    shared: &Arc<AgentState>,
    service: Service,
    own: Option<SocketAddr>,
) -> Result<Place, (&'static str, String)> {
    let busy = || (BUSY, "it works for another coordinator".to_owned());
    match service {
        Service::Load if shared.busy.swap(true, Ordering::AcqRel) => Err(busy()),
        Service::Load => Ok(Place::Load {
            _busy: Busy(Arc::clone(shared)),
        }),
        Service::Host if shared.nodes.is_none() => {
            Err((NO_HOST, "it was started without --host".to_owned()))
        }
        Service::Host => {
            let permit = Arc::clone(&shared.hosted).try_acquire_owned();
            let permit = permit.map_err(|_| busy())?;
            let own = own.ok_or_else(busy)?;
            let facts = Facts {
                address: own.ip().to_canonical(),
                cores: topology::cores(),
            };
            Ok(Place::Host {
                facts,
                _permit: permit,
            })
        }
    }
}

async fn welcome(
    acceptor: TlsAcceptor,
    shared: &Arc<AgentState>,
    socket: TcpStream,
    from: SocketAddr,
) -> Option<(Channel<Ask>, Place)> {
    socket.set_nodelay(true).ok()?;
    let own_address = socket.local_addr().ok();
    let stream = acceptor.accept(socket).await.ok()?;
    let connection = stream.get_ref().1;
    let expected = proof(connection, Role::Coordinator, &shared.token).ok()?;
    let own = proof(connection, Role::Agent, &shared.token).ok()?;
    let mut channel: Channel<Ask> = Channel::over(stream);
    let Ok(Ask::Hello {
        protocol,
        version,
        proof,
        service,
    }) = channel.receive().await
    else {
        return None;
    };
    let place = if !same(&proof, &expected) {
        Err((DENIED, "the token is another one".to_owned()))
    } else if protocol != PROTOCOL || version != VERSION {
        let words =
            format!("it is tally {VERSION} (protocol {PROTOCOL}), not {version} ({protocol})");
        Err((OTHER_VERSION, words))
    } else {
        place(shared, service, own_address)
    };
    let place = match place {
        Ok(place) => place,
        Err((code, message)) => {
            (shared.said)(Said::Refused(from, message.clone()));
            let code = code.to_owned();
            channel.send(&Tell::Refused { code, message }).await.ok()?;
            return None;
        }
    };
    channel.trust();
    let welcome = Tell::Welcome {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        proof: own,
        host: match &place {
            Place::Load { .. } => None,
            Place::Host { facts, .. } => Some(*facts),
        },
    };
    channel.send(&welcome).await.ok()?;
    Some((channel, place))
}

/// Serves a coordinator until it is gone.
async fn serve(mut channel: Channel<Ask>, place: Place, shared: &AgentState) {
    match (&place, &shared.nodes) {
        (Place::Host { facts, .. }, Some(nodes)) => {
            let words = host::serve(&mut channel, nodes.clone(), *facts).await;
            (shared.said)(Said::Done(words));
        }
        // Either result means that the coordinator has disconnected.
        _ => drop(generate(channel, shared).await),
    }
}

/// Generates load for a coordinator until it is gone.
async fn generate(mut channel: Channel<Ask>, shared: &AgentState) -> Result<(), Gone> {
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
            Ask::Hello { .. } | Ask::Begin { .. } | Ask::Order { .. } => return Err(Gone),
        }
    }
}

#[cfg(test)]
mod tests;
