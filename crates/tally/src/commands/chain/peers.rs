//! `tally chain peers`

use api::chain::ChainPeers;

use crate::failure::Failure;
use crate::output::{Ink, Output, Table, stdout_ink};
use crate::target::Target;

/// Arguments of `tally chain peers`.
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
            .with_chain(async |client| self.output.show(&client.peers().await?, people))
    }
}

fn people(view: &ChainPeers) -> String {
    if view.peers.is_empty() {
        return "no other nodes were met".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&["peer", "state", "address", "software", ">points", "reason"]);
    for peer in &view.peers {
        let (state, colour) = match (peer.banned_for_ms, peer.connected) {
            (Some(ms), _) => (format!("kept away for {} s", ms.div_ceil(1_000)), Ink::RED),
            (None, true) => ("connected".to_owned(), Ink::GREEN),
            (None, false) => ("away".to_owned(), Ink::YELLOW),
        };
        table.row([
            peer.id.clone(),
            ink.paint(colour, &state),
            peer.address.clone().unwrap_or_default(),
            peer.software.clone().unwrap_or_default(),
            peer.points.to_string(),
            peer.reason.clone().unwrap_or_default(),
        ]);
    }
    table.render(ink)
}
