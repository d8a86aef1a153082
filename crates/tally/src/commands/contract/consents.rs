//! `tally contract consents`, `authorise`, `withdraw` and `notary-changes`

use api::ConsentList;
use clap::ValueEnum;
use client::Client;
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
use crate::target::Target;

/// Arguments of `tally contract consents`.
#[derive(Debug, clap::Args)]
pub struct Show {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `tally contract authorise` and `tally contract withdraw`.
#[derive(Debug, clap::Args)]
pub struct Upgrade {
    /// The code of the current states: the hash of its descriptor, or NAME@VERSION of a registered contract
    from: String,
    /// The new code, in the same form
    to: String,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `tally contract notary-changes`.
#[derive(Debug, clap::Args)]
pub struct NotaryChanges {
    /// The reaction when others propose a change
    #[arg(value_enum)]
    what: What,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Sign it
    Accept,
    /// Refuse it
    Refuse,
    /// Follow node.toml
    Configured,
}

impl Show {
    pub fn run(self) -> Result<(), Failure> {
        self.target
            .with_client(async |client| self.output.show(&client.consents().await?, people))
    }
}

impl Upgrade {
    pub fn run(self, authorise: bool) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let from = descriptor(&client, &self.from).await?;
            let to = descriptor(&client, &self.to).await?;
            let consents = match authorise {
                true => client.authorise_upgrade(&from, &to).await?,
                false => client.withdraw_upgrade(&from, &to).await?,
            };
            self.output.show(&consents, people)
        })
    }
}

impl NotaryChanges {
    pub fn run(self) -> Result<(), Failure> {
        let what = match self.what {
            What::Accept => api::NotaryChanges::Accept,
            What::Refuse => api::NotaryChanges::Refuse,
            What::Configured => api::NotaryChanges::Configured,
        };
        self.target.with_client(async |client| {
            let consents = client.set_notary_changes(what).await?;
            self.output.show(&consents, people)
        })
    }
}

/// Returns the descriptor hash that the text refers to.
async fn descriptor(client: &Client, text: &str) -> Result<String, Failure> {
    let Some((name, version)) = text.rsplit_once('@') else {
        return Ok(text.to_ascii_lowercase());
    };
    let registered = client.contracts().await?.contracts;
    let found = registered
        .into_iter()
        .find(|contract| contract.name == name && contract.version.to_string() == version);
    found.map(|contract| contract.descriptor).ok_or_else(|| {
        Failure::local(
            "node.unknown_contract",
            format!("the node has no contract {text}"),
            "See 'tally contract list'.",
        )
    })
}

fn people(consents: &ConsentList) -> String {
    let notary = &consents.notary_changes;
    let verb = if notary.accepted { "signed" } else { "refused" };
    let why = match (&notary.by, notary.at_ms) {
        (Some(by), Some(at)) => format!("as {by} said on {}", Timestamp::from_ms(at)),
        _ => "as node.toml says".to_owned(),
    };
    let head = format!("changes of notary: {verb}, {why}\n\n");
    if consents.upgrades.is_empty() {
        return head + "no upgrade is authorised";
    }
    let mut table = Table::new(&["from", "to", "authorised by", "descriptors"]);
    for upgrade in &consents.upgrades {
        let known = |contract: &Option<String>| {
            contract
                .clone()
                .unwrap_or_else(|| "not registered here".to_owned())
        };
        let by = match (&upgrade.by, upgrade.at_ms) {
            _ if upgrade.configured => "node.toml".to_owned(),
            (Some(by), Some(at)) => format!("{by}, {}", Timestamp::from_ms(at)),
            _ => String::new(),
        };
        table.row([
            known(&upgrade.from_contract),
            known(&upgrade.to_contract),
            by,
            format!("{} {}", upgrade.from, upgrade.to),
        ]);
    }
    head + &table.render(stdout_ink())
}
