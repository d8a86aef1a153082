//! Every error code of this crate, with its cause and the operator's action.

use primitives::ErrorInfo;

macro_rules! catalogue {
    ($($code:literal: $cause:literal => $action:literal;)*) => {
        &[$(ErrorInfo { code: $code, cause: $cause, action: $action }),*]
    };
}

/// The catalogue of this crate's codes.
pub const ERRORS: &[ErrorInfo] = catalogue! {
    "net.listen_failed": "The address for peers cannot be listened on." => "free the port, or set another address for [p2p] listen in node.toml";
    "net.bad_tls_material": "The node's TLS certificate, its key and the network's root do not fit each other or do not parse." => "bootstrap the network again into the same folder, or restore the node's files from a backup";
    "net.bad_option": "A limit of the connections between nodes is out of range." => "correct the field that the message names in the [p2p] section of node.toml";
    "net.start_failed": "The operating system refused the thread or the event loop of the connections." => "raise the limits on threads and open files of the process";
    "net.not_tls": "The bytes on a new connection are not TLS 1.3 as nodes use it." => "let only nodes of the network reach the port for peers; check that no load balancer or port scanner talks to it";
    "net.wrong_certificate": "The other side of a new connection has no certificate of this network's root, or one that has expired." => "check that both nodes were bootstrapped in the same network, that certificates have not expired and that clocks are right";
    "net.wrong_name": "A certificate of the network's root is not the one of the party that the other side claims to be." => "check which node runs at that address; each node must use its own folder";
    "net.unknown_peer": "A party that is not in the network map connects." => "add the party to the network map, or ask its operator to stop";
    "net.wrong_direction": "The party with the greater id connects, though the one with the smaller id always does." => "check that both sides run compatible versions, and that no two nodes use the same folder";
    "net.version_mismatch": "The other side speaks another version of the protocol." => "bring both nodes to versions that speak the same protocol";
    "net.bad_hello": "The first frame of a connection is not a valid hello." => "check that both sides run compatible versions";
    "net.handshake_timeout": "A new connection did not finish its handshake in time." => "check the network between the nodes and the load of both; a port scanner causes this too";
    "net.handshake_failed": "A new connection broke during its handshake." => "look at the log of the other node, which may have refused the connection";
    "net.too_many_handshakes": "More connections were in their handshake than allowed; the oldest was given up." => "let only nodes of the network reach the port for peers";
    "net.unreachable": "A peer cannot be reached at any of its addresses; it is tried again, at growing intervals." => "check that the peer runs, that its addresses in the network map are right and that no firewall is between";
    "net.accept_failed": "The operating system refused a new connection." => "raise the limit on open files of the process";
    "net.bad_frame": "A peer sent bytes that are no frame of the protocol, or a frame that breaks its rules; the connection ends." => "check that both sides run compatible versions; report it with both logs if they do";
    "net.frame_too_large": "A peer sent a frame above the limit; the connection ends." => "check that both sides run compatible versions";
    "net.message_too_large": "A message is larger than the receiver takes." => "give all nodes of the network the same [p2p] max_message_bytes";
    "net.credit_exceeded": "A peer began a message without credit; the connection ends." => "check that both sides run compatible versions; report it with both logs if they do";
    "net.tls_failed": "An established connection broke its TLS; the connection ends." => "check the network between the nodes; the connection is made again by itself";
    "net.idle": "A peer was silent for too long; the connection ends and is made again." => "check the peer and the network between the nodes";
    "net.connection_lost": "A connection to a peer was closed or reset; it is made again." => "nothing if the peer was restarted; otherwise look at the peer's log";
    "net.replaced": "The same peer connected again while its connection was open; the new one is used." => "nothing if the peer was restarted; otherwise check that no two nodes use the same folder";
    "net.cut_off": "The connection to a peer was ended for a while, or its new connection refused: the peer had sent too much that makes no sense." => "ask the peer's operator to check its version and logs; 'tally node peers' shows when it may connect again";
    "net.stopped": "This node's connections end because it stops." => "nothing";
    "gossip.listen_failed": "The address for peers of the chain cannot be listened on." => "free the port, or set another address to listen on";
    "gossip.bad_option": "A limit of the chain's network is out of range." => "correct the setting that the message names";
    "gossip.accept_failed": "The operating system refused a new connection, or took away the socket that is listened on." => "raise the limit on open files of the process; restart the node if nobody can connect any more";
    "gossip.other_network": "A node of another chain connects, or is connected to: its genesis is not ours." => "check the seeds of both nodes; nodes of one network must have the same genesis";
    "gossip.handshake_timeout": "A new connection of the chain's network was not ready in time." => "check the network between the nodes and the load of both; a port scanner causes this too";
    "gossip.handshake_failed": "A new connection of the chain's network broke during its handshake, or its other end is no node." => "look at the log of the other node; a port scanner or a browser causes this too";
    "gossip.too_many_connections": "There is no room for another peer, another connection from its address, or another handshake." => "nothing if the node has peers; otherwise let only nodes of the network reach its port";
    "gossip.banned": "A peer misbehaved and is kept away for a while; the list of peers says why." => "look at the peer's software and log; end the ban once it is mended";
    "gossip.connected_twice": "A peer that is connected connects again; its old connection is given up, and the next attempt succeeds." => "nothing if the peer was restarted; otherwise check that no two nodes use the same key";
    "gossip.dismissed": "A peer lost its connection because it was of no use, or of less use than others when there was no room." => "nothing if the node has other peers; otherwise look at the load of the peer named";
    "gossip.unreachable": "No node answers at an address of the chain's network; seeds are retried without end, at growing intervals." => "check that the node there runs, that the address is right and that no firewall is between";
    "gossip.silent": "A peer did not answer a ping; its connection ends and is made again." => "check the peer and the network between the nodes";
    "gossip.busy": "More waits to be sent to peers than allowed." => "try again soon; check the load of the node";
    "gossip.message_too_large": "A message, a request or an answer is larger than nodes take." => "make it smaller; the page on the chain's network has the limits";
    "gossip.stopped": "The node's part in the chain's network has ended." => "restart the node";
    "gossip.request_timeout": "A peer did not answer a request in time." => "ask another peer; check the peer and the network between the nodes";
    "gossip.not_connected": "A request was for a peer that is not connected, or it went while it was asked." => "ask another peer";
    "gossip.no_answer": "A peer refused a request, or answered something else than an answer." => "ask another peer; check that both nodes run compatible versions";
    "gossip.too_many_requests": "More requests to a peer, or to all, wait for an answer than allowed." => "wait for answers before asking more";
    "gossip.rate_exceeded": "A peer exceeds its rate limit; the excess is dropped and counts against it." => "look at the peer's software; raise the limits if the network's load is honestly higher";
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
