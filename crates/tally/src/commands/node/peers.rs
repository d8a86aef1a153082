//! `tally node peers`

use api::PeersView;

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
    let mut table = Table::new(&["node", "state", "address", "software", ">clock", ">waiting"]);
    for peer in &view.peers {
        let (state, colour) = match peer.connected {
            true => ("connected", Ink::GREEN),
            false => ("away", Ink::YELLOW),
        };
        let offset = peer.clock_offset_ms.map(|ms| format!("{ms:+} ms"));
        table.row([
            peer.name.clone(),
            ink.paint(colour, state),
            peer.address.clone().unwrap_or_default(),
            peer.software.clone().unwrap_or_default(),
            offset.unwrap_or_default(),
            format!("{} bytes", grouped(peer.queued_bytes)),
        ]);
    }
    table.render(ink)
}
