//! `tally node peers`

use api::{PeerView, PeersView};

use crate::failure::Failure;
use crate::output::{Ink, Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally node peers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target
            .with_client(async |client| self.output.show(&client.peers().await?, people))
    }
}

fn people(view: &PeersView) -> String {
    if view.peers.is_empty() {
        return "no other nodes are in the network".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&[
        "node", "state", "address", "software", ">clock", ">waiting", ">flows", ">holds",
        ">refused", ">garbage",
    ]);
    for peer in &view.peers {
        let load = peer.load.unwrap_or_default();
        let (state, colour) = state(peer);
        let offset = peer.clock_offset_ms.map(|ms| format!("{ms:+} ms"));
        table.row([
            peer.name.clone(),
            ink.paint(colour, &state),
            peer.address.clone().unwrap_or_default(),
            peer.software.clone().unwrap_or_default(),
            offset.unwrap_or_default(),
            format!("{} bytes", grouped(peer.queued_bytes)),
            grouped(load.responders),
            format!("{} bytes", grouped(load.held_bytes + load.journal_bytes)),
            grouped(load.refused + load.dropped),
            grouped(load.garbage),
        ]);
    }
    let mut text = table.render(ink);
    for peer in view.peers.iter().filter(|peer| peer.waiting_deliveries > 0) {
        text.push_str(&format!(
            "\n{} cannot record deliveries at present ({}): 'tally node deliveries' shows the reasons",
            peer.name,
            grouped(peer.waiting_deliveries)
        ));
    }
    text
}

/// Returns a peer's connection state, and its colour.
fn state(peer: &PeerView) -> (String, &'static str) {
    let slowed = peer.load.is_some_and(|load| load.slowed);
    match (peer.cut_off_ms, peer.connected) {
        (Some(ms), _) => (format!("cut off for {} s", ms.div_ceil(1_000)), Ink::RED),
        (None, true) if slowed => ("slowed down".to_owned(), Ink::YELLOW),
        (None, true) => ("connected".to_owned(), Ink::GREEN),
        (None, false) => ("away".to_owned(), Ink::YELLOW),
    }
}
