//! `tally node peers`

use api::{PeerEventKind, PeerHistory, PeerView, PeersView};
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Ink, Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally node peers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Show the last events of the connections instead, newest first
    #[arg(long)]
    history: bool,
    /// Show the events of this peer only
    #[arg(long, value_name = "NAME", requires = "history")]
    peer: Option<String>,
    /// Maximum number of events
    #[arg(long, default_value_t = 100, value_name = "N", requires = "history", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            if !self.history {
                return self.output.show(&client.peers().await?, people);
            }
            let history = client.peer_history(self.peer.as_deref(), self.limit);
            self.output.show(&history.await?, events)
        })
    }
}

/// The events for people.
fn events(history: &PeerHistory) -> String {
    if history.events.is_empty() {
        return "this node has opened, lost or tried no such connection since its start".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&[
        "time", "node", "event", ">times", "until", "address", "reason",
    ]);
    for event in &history.events {
        let until = (event.count > 1).then(|| Timestamp::from_ms(event.last_ms).to_string());
        let reason = match (&event.message, &event.code) {
            (Some(message), Some(code)) => format!("{message} ({code})"),
            (Some(text), None) | (None, Some(text)) => text.clone(),
            (None, None) => String::new(),
        };
        table.row([
            Timestamp::from_ms(event.at_ms).to_string(),
            event.peer.clone(),
            ink.paint(event_colour(event.event), event.event.as_str()),
            grouped(event.count),
            until.unwrap_or_default(),
            event.address.clone().unwrap_or_default(),
            reason,
        ]);
    }
    table.render(ink)
}

fn event_colour(event: PeerEventKind) -> &'static str {
    match event {
        PeerEventKind::Connected => Ink::GREEN,
        PeerEventKind::Disconnected | PeerEventKind::NotReached => Ink::YELLOW,
        PeerEventKind::CutOff => Ink::RED,
    }
}

fn people(view: &PeersView) -> String {
    if view.peers.is_empty() {
        return "no other nodes are in the network".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&[
        "node",
        "state",
        "address",
        "software",
        ">clock",
        ">queued",
        ">not delivered",
        ">flows",
        ">holds",
        ">refused",
        ">garbage",
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
            grouped(peer.pending_deliveries),
            grouped(load.responders),
            format!("{} bytes", grouped(load.held_bytes + load.journal_bytes)),
            grouped(load.refused + load.dropped),
            grouped(load.garbage),
        ]);
    }
    let mut text = table.render(ink);
    let pending: u64 = view.peers.iter().map(|peer| peer.pending_deliveries).sum();
    if pending > 0 {
        text.push_str(&format!(
            "\n{} deliveries wait for an answer: 'tally node deliveries' lists them",
            grouped(pending)
        ));
    }
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
