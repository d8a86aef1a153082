//! The libp2p behaviours of the gossip service, and their configuration.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use libp2p_core::Transport;
use libp2p_core::upgrade::Version;
use libp2p_gossipsub::{
    self as gossipsub, DataTransform, IdentTopic, MessageAuthenticity, PeerScoreParams,
    PeerScoreThresholds, RawMessage, TopicHash, TopicScoreParams, ValidationMode,
    WhitelistSubscriptionFilter,
};
use libp2p_identity::Keypair;
use libp2p_request_response::{self as request_response, ProtocolSupport};
use libp2p_swarm::StreamProtocol;
use libp2p_swarm::{self as swarm, NetworkBehaviour, Swarm};
use primitives::Hasher;
use {
    libp2p_identify as identify, libp2p_noise as noise, libp2p_ping as ping, libp2p_tcp as tcp,
    libp2p_yamux as yamux,
};

use super::codec::RequestCodec;
use super::gate::Gate;
use super::shared::GossipState;
use super::topic::{BLOCKS_BYTES_MAX, Names, Topic};
use super::wire::Counted;
use super::{GossipOptions, peer_id};

/// Time limit of a request, at both sides.
pub const REQUEST_PATIENCE: Duration = Duration::from_secs(60);
/// Maximum time that a message waits in the queue of a slow peer.
const QUEUE_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of open streams of one connection.
const STREAMS_MAX: usize = 128;
/// Maximum number of streams of one connection in protocol negotiation.
const NEGOTIATIONS_MAX: usize = 32;

/// Messages in one frame of gossipsub; ours carry one.
const FRAME_MESSAGES_MAX: usize = 64;
/// Bytes of one frame of gossipsub that tell of messages and of the mesh: 3 s of 2,000 ids a second.
const FRAME_CONTROL_BYTES_MAX: usize = 256 << 10;
/// Bytes that a message's frame adds to the message: its topic and lengths.
const ENVELOPE_BYTES: usize = 256;
/// Bytes that a buffer may hold in addition to the largest message: gossipsub compares its limit with all bytes
/// it has read.
const BUFFER_BYTES: usize = 64 << 10;

/// Score at which gossipsub ignores a peer. The service then bans it.
pub(super) const SCORE_MIN: f64 = -80.0;

/// Interval of gossipsub's heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Number of heartbeats for which a message is kept, so that it can be passed on after its verdict, and to peers that missed it.
const KEPT_HEARTBEATS: usize = 10;
/// How long a message is known to have been seen.
const SEEN_FOR: Duration = Duration::from_secs(60);
/// Minimum size, in bytes, of the messages that this node announces to peers as already received.
const LARGE_BYTES: usize = 1 << 10;

/// The libp2p behaviours of the service.
#[derive(NetworkBehaviour)]
#[behaviour(prelude = "libp2p_swarm::derive_prelude")]
pub(super) struct Behaviour {
    // Asked first.
    pub(super) gate: Gate,
    pub(super) gossip: Gossipsub,
    pub(super) requests: request_response::Behaviour<RequestCodec>,
    pub(super) identify: identify::Behaviour,
    pub(super) ping: ping::Behaviour,
}

type Gossipsub = gossipsub::Behaviour<CountingTransform, WhitelistSubscriptionFilter>;

/// Counts received messages, including duplicates.
pub(super) struct CountingTransform(Arc<GossipState>);

impl DataTransform for CountingTransform {
    fn inbound_transform(&self, raw: RawMessage) -> Result<gossipsub::Message, std::io::Error> {
        self.0.counters.messages_seen.add(1);
        Ok(gossipsub::Message {
            source: raw.source,
            data: raw.data,
            sequence_number: raw.sequence_number,
            topic: raw.topic,
        })
    }

    fn outbound_transform(&self, _: &TopicHash, data: Vec<u8>) -> Result<Vec<u8>, std::io::Error> {
        Ok(data)
    }
}

/// The swarm, listening to its topics and not yet to its address.
pub(super) fn swarm(
    options: &GossipOptions,
    names: &Names,
    shared: &Arc<GossipState>,
) -> Result<Swarm<Behaviour>, &'static str> {
    let keys = peer_id::keypair(options.key_seed.expose());
    let noise = noise::Config::new(&keys).map_err(|_| "the node's key cannot be used")?;
    let mut yamux = yamux::Config::default();
    yamux.set_max_num_streams(STREAMS_MAX);
    let counting = Arc::clone(shared);
    let transport = tcp::tokio::Transport::new(tcp::Config::new().nodelay(true))
        .map(move |stream, point| {
            let wire = counting.wires.open(&point);
            Counted::new(stream, wire, Arc::clone(&counting.counters))
        })
        .upgrade(Version::V1)
        .authenticate(noise)
        .multiplex(yamux)
        .timeout(options.limits.handshake_timeout)
        .boxed();
    let mut behaviour = Behaviour {
        gate: Gate::new(Arc::clone(shared)),
        gossip: gossip(options, names, shared)?,
        requests: requests(options, names)?,
        identify: identify(options, names, &keys),
        ping: ping::Behaviour::new(
            ping::Config::new()
                .with_interval(options.limits.ping_after)
                .with_timeout(options.limits.ping_after),
        ),
    };
    for topic in Topic::ALL {
        let topic = IdentTopic::new(names.topic(topic));
        let subscribed = behaviour.gossip.subscribe(&topic);
        subscribed.map_err(|_| "the topics cannot be listened to")?;
    }
    let config = swarm::Config::with_tokio_executor()
        // Connections are ended by the limits, by silence or by bad conduct, never because nothing is to be said.
        .with_idle_connection_timeout(Duration::from_secs(u64::from(u32::MAX)))
        .with_max_negotiating_inbound_streams(NEGOTIATIONS_MAX);
    let id = keys.public().to_peer_id();
    Ok(Swarm::new(transport, behaviour, id, config))
}

fn gossip(
    options: &GossipOptions,
    names: &Names,
    shared: &Arc<GossipState>,
) -> Result<Gossipsub, &'static str> {
    let topic_hash = |topic| IdentTopic::new(names.topic(topic)).hash();
    let mut config = gossipsub::ConfigBuilder::default();
    config
        .heartbeat_interval(HEARTBEAT)
        .heartbeat_initial_delay(HEARTBEAT / 4)
        .history_length(KEPT_HEARTBEATS)
        .history_gossip(3)
        .duplicate_cache_time(SEEN_FOR)
        // In a small network every node sends to all; in a larger one, a mesh suffices.
        .mesh_n(8)
        .mesh_n_low(6)
        .mesh_n_high(12)
        .mesh_outbound_min(2)
        .gossip_lazy(6)
        // Sending to the mesh suffices. Sending to all peers would cost one more copy for each peer outside the mesh.
        .flood_publish(false)
        // The chain determines a message's author; the connection tells which peer passed it on.
        .validation_mode(ValidationMode::Anonymous)
        .validate_messages()
        .message_id_fn(message_id)
        .max_transmit_size(BLOCKS_BYTES_MAX + BUFFER_BYTES)
        .max_publish_messages(FRAME_MESSAGES_MAX)
        .max_control_message_size(FRAME_CONTROL_BYTES_MAX)
        .idontwant_message_size_threshold(LARGE_BYTES)
        .connection_handler_queue_len(options.limits.queue_max)
        .publish_queue_duration(QUEUE_PATIENCE)
        .forward_queue_duration(QUEUE_PATIENCE);
    for topic in Topic::ALL {
        let max = topic.bytes_max() + ENVELOPE_BYTES;
        config.max_transmit_size_for_topic(max, topic_hash(topic));
    }
    let config = config.build().map_err(|_| "gossip cannot be set so")?;
    let ours = HashSet::from(Topic::ALL.map(topic_hash));
    let mut gossip = gossipsub::Behaviour::new_with_subscription_filter_and_transform(
        MessageAuthenticity::Anonymous,
        config,
        WhitelistSubscriptionFilter(ours),
        CountingTransform(Arc::clone(shared)),
    )?;
    let mut score = PeerScoreParams {
        // Our own points against a peer. Half of them, since a ban is for them to decide and not for this score.
        app_specific_weight: 0.5,
        // Many nodes on one machine are not penalised. The gate limits the connections from one address.
        ip_colocation_factor_weight: 0.0,
        // A slow peer loses the messages that do not fit its queue. It gets no other penalty.
        slow_peer_weight: 0.0,
        ..PeerScoreParams::default()
    };
    for topic in Topic::ALL {
        score.topics.insert(topic_hash(topic), topic_score());
    }
    let thresholds = PeerScoreThresholds {
        gossip_threshold: -40.0,
        publish_threshold: -60.0,
        graylist_threshold: SCORE_MIN,
        accept_px_threshold: 0.0,
        opportunistic_graft_threshold: 0.5,
    };
    gossip
        .with_peer_score(score, thresholds)
        .map_err(|_| "gossip cannot be scored so")?;
    Ok(gossip)
}

/// First deliveries raise the score, invalid messages lower it. Silence does not, because there may be no traffic.
fn topic_score() -> TopicScoreParams {
    TopicScoreParams {
        topic_weight: 1.0,
        time_in_mesh_weight: 0.01,
        time_in_mesh_quantum: Duration::from_secs(1),
        time_in_mesh_cap: 100.0,
        first_message_deliveries_weight: 0.01,
        first_message_deliveries_decay: 0.9,
        first_message_deliveries_cap: 100.0,
        mesh_message_deliveries_weight: 0.0,
        mesh_failure_penalty_weight: 0.0,
        // Squared: three wrong messages weigh 9.
        invalid_message_deliveries_weight: -1.0,
        invalid_message_deliveries_decay: 0.95,
        ..TopicScoreParams::default()
    }
}

/// Computes a message's id, the same on all nodes, so that a node can announce a message by its id.
fn message_id(message: &gossipsub::Message) -> gossipsub::MessageId {
    let mut hasher = Hasher::new();
    hasher.update(message.topic.as_str().as_bytes());
    hasher.update(&[0]);
    hasher.update(&message.data);
    gossipsub::MessageId::new(hasher.finish().as_bytes())
}

fn requests(
    options: &GossipOptions,
    names: &Names,
) -> Result<request_response::Behaviour<RequestCodec>, &'static str> {
    let limits = &options.limits;
    let protocol = StreamProtocol::try_from_owned(names.request.clone());
    let protocol = protocol.map_err(|_| "the network's hash makes no protocol name")?;
    let streams = limits.requests_in_max + limits.requests_out_max;
    let config = request_response::Config::default()
        .with_request_timeout(REQUEST_PATIENCE)
        // One more, for addresses.
        .with_max_concurrent_streams(streams + 1);
    let protocols = [(protocol, ProtocolSupport::Full)];
    Ok(request_response::Behaviour::with_codec(
        RequestCodec::default(),
        protocols,
        config,
    ))
}

fn identify(options: &GossipOptions, names: &Names, keys: &Keypair) -> identify::Behaviour {
    let software: String = options.software.chars().take(64).collect();
    let config = identify::Config::new(names.network.clone(), keys.public())
        .with_agent_version(software)
        // Addresses come from connections and from other peers; no peer's own claim about its address is dialled.
        .with_cache_size(0);
    identify::Behaviour::new(config)
}
