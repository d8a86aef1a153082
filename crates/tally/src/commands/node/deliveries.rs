//! `tally node deliveries`

use api::{DeliveryPage, DeliveryStatus, DeliveryView};
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Ink, Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally node deliveries`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// After this place: the "more" line of the page before
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
    /// Maximum number of deliveries
    #[arg(long, default_value_t = 100, value_name = "N")]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let after = self.after.as_deref();
            let page = client.deliveries(after, self.limit).await?;
            self.output.show(&page, people)
        })
    }
}

fn people(page: &DeliveryPage) -> String {
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
        let reason = delivery.reason.as_ref();
        let since = reason.map(|reason| Timestamp::from_ms(reason.since_ms).to_string());
        table.row([
            delivery.peer.clone(),
            delivery.tx.clone(),
            grouped(delivery.bytes),
            ink.paint(colour(delivery.status), delivery.status.as_str()),
            since.unwrap_or_default(),
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
