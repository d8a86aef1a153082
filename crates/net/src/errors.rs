//! Every error code of this crate, with its cause and the operator's action.

use primitives::ErrorInfo;

macro_rules! catalogue {
    ($($code:literal: $cause:literal => $action:literal;)*) => {
        &[$(ErrorInfo { code: $code, cause: $cause, action: $action }),*]
    };
}

/// The catalogue of this crate's codes.
pub const ERRORS: &[ErrorInfo] = catalogue! {
    "net.listen_failed": "The node cannot listen on the address for peers." => "free the port, or set another address for [p2p] listen in node.toml";
    "net.bad_tls_material": "The node's TLS certificate, its key and the network's root do not fit each other or do not parse." => "bootstrap the network again into the same folder, or restore the node's files from a backup";
    "net.bad_option": "A limit of the connections between nodes is out of range." => "correct the field that the message names in the [p2p] section of node.toml";
    "net.start_failed": "The operating system refused the thread or the event loop of the connections." => "raise the limits on threads and open files of the process";
    "net.not_tls": "The bytes on a new connection are not the TLS 1.3 that nodes speak." => "let only nodes of the network reach the port for peers; check that no load balancer or port scanner talks to it";
    "net.wrong_certificate": "The other side of a new connection presents no certificate of this network's root, or an expired one." => "check that both nodes were bootstrapped in the same network, that their certificates have not expired, and that their clocks are right";
    "net.wrong_name": "A certificate of the network's root is not the one of the party that the other side claims to be." => "check which node runs at that address; each node must use its own folder";
    "net.unknown_peer": "A party connects that is not in the network map that this node started with." => "restart this node if its folder lists the party, which joined after the start. Otherwise add the party to the network map, or ask its operator to stop";
    "net.wrong_direction": "The party with the greater id has dialled, but the party with the smaller id must dial. A process that has taken over from another one of its node does so once, and is then dialled." => "nothing if the other node has just been taken over. Otherwise check that both sides run compatible versions, and that no two nodes use the same folder";
    "net.version_mismatch": "The other side speaks another version of the protocol." => "bring both nodes to versions that speak the same protocol";
    "net.bad_hello": "The first frame of a connection is not a valid hello." => "check that both sides run compatible versions";
    "net.handshake_timeout": "A new connection did not finish its handshake in time." => "check the network between the nodes and the load of both; a port scanner causes this too";
    "net.handshake_failed": "A new connection broke during its handshake." => "look at the log of the other node, which may have refused the connection. If it was started before this node joined the network, restart it: it does not know this node yet";
    "net.too_many_handshakes": "Too many connections were in their handshake. The oldest was closed." => "let only nodes of the network reach the port for peers";
    "net.unreachable": "A peer cannot be reached at any of its addresses; it is tried again, at growing intervals." => "check that the peer runs, that its addresses in the network map are right and that no firewall is between";
    "net.accept_failed": "The operating system refused a new connection." => "raise the limit on open files of the process";
    "net.bad_frame": "A peer sent bytes that are not a frame, or a frame that violates the protocol. The connection is closed." => "check that both sides run compatible versions; report it with both logs if they do";
    "net.frame_too_large": "A peer sent a frame above the limit; the connection ends." => "check that both sides run compatible versions";
    "net.message_too_large": "A message exceeds the receiver's limit." => "give all nodes of the network the same [p2p] max_message_bytes";
    "net.credit_exceeded": "A peer began a message without credit; the connection ends." => "check that both sides run compatible versions; report it with both logs if they do";
    "net.tls_failed": "An established connection broke its TLS; the connection ends." => "check the network between the nodes; the connection is made again by itself";
    "net.idle": "A peer was silent for too long; the connection ends and is made again." => "check the peer and the network between the nodes";
    "net.connection_lost": "A connection to a peer was closed or reset; it is made again." => "do nothing if the peer was restarted; otherwise look at the peer's log";
    "net.replaced": "The same peer connected again while its connection was open; the new one is used." => "do nothing if the peer was restarted; otherwise check that no two nodes use the same folder";
    "net.cut_off": "A peer is cut off for some time because it sent too many malformed or invalid messages: its connection is closed and new ones are refused." => "ask the peer's operator to check its version and logs; 'tally node peers' shows when it may connect again";
    "net.stopped": "This node closes its connections because it stops." => "do nothing";
    "gossip.listen_failed": "The node cannot listen on the address for peers of the chain." => "free the port, or set another address to listen on";
    "gossip.bad_option": "A limit of the chain's network is out of range." => "correct the setting that the message names";
    "gossip.accept_failed": "The operating system refused a new connection, or closed the listening socket." => "raise the limit on open files of the process; restart the node if peers can no longer connect";
    "gossip.other_network": "A node of another chain connects, or is connected to: its genesis is not ours." => "check the seeds of both nodes; nodes of one network must have the same genesis";
    "gossip.handshake_timeout": "A new connection of the chain's network was not ready in time." => "check the network between the nodes and the load of both; a port scanner causes this too";
    "gossip.handshake_failed": "A new connection of the chain's network broke during its handshake, or its other end is no node." => "look at the log of the other node; a port scanner or a browser causes this too";
    "gossip.too_many_connections": "There is no room for another peer, another connection from its address, or another handshake." => "do nothing if the node has peers; otherwise let only nodes of the network reach its port";
    "gossip.banned": "A peer misbehaved and is banned for some time. The list of peers contains the reason." => "check the peer's software and log, and end the ban once the fault is corrected";
    "gossip.connected_twice": "A peer that is connected connects again; its old connection is given up, and the next attempt succeeds." => "do nothing if the peer was restarted; otherwise check that no two nodes use the same key";
    "gossip.dismissed": "A peer was disconnected because it was not useful, or less useful than others when all places were taken." => "do nothing if the node has other peers; otherwise check the load of the named peer";
    "gossip.unreachable": "No node answers at an address of the chain's network; seeds are retried without end, at growing intervals." => "check that the node there runs, that the address is right and that no firewall is between";
    "gossip.silent": "A peer did not answer a ping; its connection ends and is made again." => "check the peer and the network between the nodes";
    "gossip.busy": "The queue of calls to the chain's network is full." => "try again soon; check the load of the node";
    "gossip.message_too_large": "A message, a request or an answer exceeds the size limit of the network." => "make it smaller; the page on the chain's network lists the limits";
    "gossip.stopped": "The chain's network service of this node has stopped." => "restart the node";
    "gossip.request_timeout": "A peer did not answer a request in time." => "ask another peer; check the peer and the network between the nodes";
    "gossip.not_connected": "A request went to a peer that is not connected, or that disconnected before it answered." => "ask another peer";
    "gossip.no_answer": "A peer refused a request, or sent a malformed answer." => "ask another peer; check that both nodes run compatible versions";
    "gossip.too_many_requests": "Too many requests to one peer, or to all peers, are in flight." => "wait for answers before you send further requests";
    "gossip.rate_exceeded": "A peer exceeds its rate limit; the excess is dropped and counts against it." => "check the peer's software; raise the limits if the legitimate load of the network is higher";
};

/// Returns the operator's action for one of this crate's codes.
pub(crate) fn action(code: &str) -> &'static str {
    ErrorInfo::action_of(ERRORS, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_complete() {
        for (at, info) in ERRORS.iter().enumerate() {
            let ours = info.code.starts_with("net.") || info.code.starts_with("gossip.");
            assert!(ours, "{}", info.code);
            assert!(
                !info.cause.is_empty() && !info.action.is_empty(),
                "{}",
                info.code
            );
            assert!(
                ERRORS[..at].iter().all(|other| other.code != info.code),
                "{}",
                info.code
            );
        }
    }
}
