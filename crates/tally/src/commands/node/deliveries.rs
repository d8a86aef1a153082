//! `tally node deliveries`

use api::{DeliveryPage, DeliveryStatus, DeliveryView, PeerEventKind, PeerHistory};
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Ink, Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Maximum number of connection events that are searched for the time since which a receiver is away.
const EVENTS_MAX: u32 = 1_000;

/// Arguments of `tally node deliveries`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// After this place: the "more" line of the page before
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
    /// Maximum number of deliveries
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let after = self.after.as_deref();
            let page = client.deliveries(after, self.limit).await?;
            // Only the table shows how long receivers have been away. Without the permission to read that, it goes without.
            let history = match self.output.json {
                true => PeerHistory::default(),
                false => (client.peer_history(None, EVENTS_MAX).await).unwrap_or_default(),
            };
            self.output.show(&page, |page| people(page, &history))
        })
    }
}

/// Returns the time since which a peer is away: its first event after it was last connected.
fn away_since_ms(history: &PeerHistory, party_id: &str) -> Option<u64> {
    let own = history.events.iter();
    let own = own.filter(|event| event.party_id == party_id);
    // The newest event comes first.
    let away = own.take_while(|event| event.event != PeerEventKind::Connected);
    away.last().map(|event| event.at_ms)
}

fn people(page: &DeliveryPage, history: &PeerHistory) -> String {
    if page.entries.is_empty() {
        return "every delivery is answered".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&[
        "receiver",
        "transaction",
        ">bytes",
        "status",
        "since",
        "reason",
    ]);
    for delivery in &page.entries {
        let since_ms = match (&delivery.reason, delivery.status) {
            (Some(reason), _) => Some(reason.since_ms),
            (None, DeliveryStatus::Away) => away_since_ms(history, &delivery.party_id),
            (None, _) => None,
        };
        let since = since_ms.map(|ms| Timestamp::from_ms(ms).to_string());
        table.row([
            delivery.peer.clone(),
            delivery.tx.clone(),
            grouped(delivery.bytes),
            ink.paint(colour(delivery.status), delivery.status.as_str()),
            since.unwrap_or_else(|| "-".to_owned()),
            why(delivery),
        ]);
    }
    let mut text = table.render(ink);
    if let Some(next) = &page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}

fn colour(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Waiting => Ink::RED,
        DeliveryStatus::Away | DeliveryStatus::Unanswered => Ink::YELLOW,
    }
}

fn why(delivery: &DeliveryView) -> String {
    match (&delivery.reason, delivery.status) {
        (Some(reason), _) => format!("{} ({}): {}", reason.message, reason.code, reason.hint),
        (None, DeliveryStatus::Away) => "the receiver is not connected".to_owned(),
        (None, _) => "the receiver has not answered yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use api::PeerEventView;

    use super::*;

    #[test]
    fn a_receiver_is_away_since_its_first_event_without_connection() {
        let event = |party: &str, event, at_ms| PeerEventView {
            at_ms,
            peer: party.to_owned(),
            party_id: party.to_owned(),
            event,
            count: 1,
            last_ms: at_ms,
            address: None,
            code: None,
            message: None,
        };
        let history = PeerHistory {
            events: vec![
                event("a", PeerEventKind::NotReached, 9),
                event("b", PeerEventKind::Connected, 8),
                event("a", PeerEventKind::Disconnected, 7),
                event("a", PeerEventKind::Connected, 6),
                event("a", PeerEventKind::NotReached, 5),
                event("b", PeerEventKind::Disconnected, 4),
            ],
        };
        for (party, since) in [("a", Some(7)), ("b", None), ("c", None)] {
            assert_eq!(away_since_ms(&history, party), since, "{party}");
        }
    }
}
