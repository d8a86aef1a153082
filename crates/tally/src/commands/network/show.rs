//! `tally network show` and `tally network map`: the network as a node knows it.

use api::NetworkView;

use crate::failure::Failure;
use crate::output::{Output, Table, grouped, pairs, stdout_ink};
use crate::target::Target;

/// Arguments of `tally network show` and `tally network map`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    /// Shows the parameters.
    pub fn show(self) -> Result<(), Failure> {
        self.target
            .with_client(async |client| self.output.show(&client.network().await?, parameters))
    }

    /// Shows the parties.
    pub fn map(self) -> Result<(), Failure> {
        self.target
            .with_client(async |client| self.output.show(&client.network().await?, parties))
    }
}

fn parameters(network: &NetworkView) -> String {
    pairs(&[
        ("parameters", network.parameters.clone()),
        (
            "issued at",
            primitives::Timestamp::from_ms(network.issued_at_ms).to_string(),
        ),
        (
            "largest message",
            format!("{} bytes", grouped(network.max_message_bytes)),
        ),
        (
            "largest transaction",
            format!("{} bytes", grouped(network.max_transaction_bytes)),
        ),
        (
            "largest attachment",
            format!("{} bytes", grouped(network.max_attachment_bytes)),
        ),
        (
            "attachments of a transaction",
            format!(
                "{} bytes",
                grouped(network.max_transaction_attachment_bytes)
            ),
        ),
        ("notaries", network.notaries.join("\n")),
        ("nodes", network.nodes.len().to_string()),
    ])
}

fn parties(network: &NetworkView) -> String {
    let mut table = Table::new(&["node", "role", "addresses", "party"]);
    for node in &network.nodes {
        let role = match &node.notary {
            Some(notary) if notary.validating => "validating notary".to_owned(),
            Some(notary) => match &notary.service {
                Some(service) => format!("worker of {service}"),
                None => "notary".to_owned(),
            },
            None => String::new(),
        };
        table.row([
            node.name.clone(),
            role,
            node.addresses.join(" "),
            node.party_id.clone(),
        ]);
    }
    table.render(stdout_ink())
}
