//! Starts a gossip service.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures_util::StreamExt;
use libp2p_swarm::{Swarm, SwarmEvent};
use tokio::sync::{mpsc, watch};

use super::behaviour::{Behaviour, BehaviourEvent, swarm};
use super::handle::{GossipHandle, WaitingBytes};
use super::service::Service;
use super::shared::GossipState;
use super::topic::Names;
use super::wire::{multiaddress, socket_address};
use super::{GossipError, GossipEvents, GossipOptions, PeerId, queue};

/// Time limit for the listening socket.
const LISTEN_PATIENCE: Duration = Duration::from_secs(5);

/// Listens, connects to the seeds and their peers, and runs until it is shut down, on the runtime of the caller.
pub async fn start(options: GossipOptions) -> Result<(GossipHandle, GossipEvents), GossipError> {
    options.check().map_err(GossipError::Option)?;
    let names = Names::new(&options.network);
    let shared = Arc::new(GossipState::new(options.limits.clone()));
    let mut swarm = swarm(&options, &names, &shared).map_err(GossipError::Option)?;
    let (address, early) = listen(&mut swarm, options.listen).await?;
    let (outlet, events) = queue::queue(&options.limits);
    let (calls, waiting_calls) = mpsc::channel(options.limits.calls_max);
    let (stop, stopped) = watch::channel(false);
    let handle = GossipHandle {
        calls,
        waiting: Arc::new(WaitingBytes::default()),
        shared: Arc::clone(&shared),
        requests: Arc::new(AtomicU64::new(0)),
        stop: Arc::new(stop),
        me: PeerId::of_seed(options.key_seed.expose()),
        address,
    };
    let waiting = Arc::clone(&handle.waiting);
    let service = Service::new(options, names, shared, swarm, outlet, waiting);
    tokio::spawn(service.run(early, waiting_calls, stopped));
    Ok((handle, events))
}

/// Listens; returns the final address and the other events of libp2p until then.
async fn listen(
    swarm: &mut Swarm<Behaviour>,
    address: SocketAddr,
) -> Result<(SocketAddr, Vec<SwarmEvent<BehaviourEvent>>), GossipError> {
    let failed = |why: String| GossipError::Listen { address, why };
    // libp2p shares its port with any socket that shares it too. Two nodes on one port would each get half of the connections,
    // without an error.
    drop(TcpListener::bind(address).map_err(|error| failed(error.to_string()))?);
    swarm
        .listen_on(multiaddress(&address))
        .map_err(|error| failed(error.to_string()))?;
    let listening = async {
        let mut early = Vec::new();
        loop {
            match swarm.select_next_some().await {
                SwarmEvent::NewListenAddr { address: own, .. } => {
                    if let Some(own) = socket_address(&own) {
                        return Ok((SocketAddr::new(address.ip(), own.port()), early));
                    }
                }
                SwarmEvent::ListenerError { error, .. } => return Err(failed(error.to_string())),
                SwarmEvent::ListenerClosed { .. } => return Err(failed("it was closed".into())),
                other => early.push(other),
            }
        }
    };
    let patience = tokio::time::timeout(LISTEN_PATIENCE, listening);
    patience
        .await
        .unwrap_or_else(|_| Err(failed("the system does not say where".into())))
}
