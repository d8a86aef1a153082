//! The codes of `tally network check` with their causes and actions.

use primitives::ErrorInfo;

macro_rules! codes {
    ($($constant:ident = $code:literal, $cause:literal, $action:literal;)*) => {
        $(pub(super) const $constant: ErrorInfo = ErrorInfo { code: $code, cause: $cause, action: $action };)*
        /// The codes of `tally network check`, for the error pages.
        pub const ERRORS: &[ErrorInfo] = &[$($constant),*];
    };
}

codes! {
    CERTIFICATE_EXPIRES = "network.certificate_expires", "A certificate of a node's folder is good for less than 30 days, or no longer.",
        "Have the holder of the network's root issue a new certificate, and put it into tls.pem.";
    CLOCKS_DIFFER = "network.clocks_differ", "A node's clock differs from its peers' by more than a second.",
        "Let the machine keep its clock with NTP (chrony or systemd-timesyncd).";
    MAPS_DIFFER = "network.maps_differ", "Folders of one network have different infos of a node, or different parameters.",
        "Bootstrap the network again, which brings all folders in step, and start the nodes again.";
    NODE_AWAY = "network.node_away", "A node of the network does not run, or others do not reach it.",
        "Start it, and check that the others reach its address: 'tally network map'.";
    NODE_STATE = "network.node_state", "A node runs and is not ready: it is starting, draining, drained, degraded (a part has failed) or failed.",
        "Read its state with 'tally doctor'. Start a drained node again; a degraded one repairs itself once its disk has space.";
    NOTARY_AWAY = "network.notary_away", "The network's notary does not run, or a node does not reach it: nothing can be notarised.",
        "Start it, and check that the others reach its address: 'tally network map'.";
    NOTARY_MISSING = "network.notary_missing", "The network's parameters name no notary, or one that is not among its nodes.",
        "Add a notary to the network's description, and bootstrap again.";
    OTHER_NODE = "network.other_node", "At the address of a node's API another node answers, or one that does not know the token.",
        "See which process listens there, and correct api.listen in node.toml.";
    PLATFORMS_DIFFER = "network.platforms_differ", "A node's info says that it speaks another version of the protocols than this program.",
        "Run the same version of the program everywhere, and bootstrap again.";
    ROOTS_DIFFER = "network.roots_differ", "Folders of nodes belong to networks with different roots.",
        "Keep the folders of each network apart; bootstrap the node again in the network that it is meant for.";
    RESTART_NEEDED = "network.restart_needed", "A running node has other parameters or nodes than its folder: it was started before they changed.",
        "Start the node again.";
    VERSIONS_DIFFER = "network.versions_differ", "A node runs another version of the software than this program.",
        "Versions that speak the same protocol work together; bring them in step when you can.";
}
