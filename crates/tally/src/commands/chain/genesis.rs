//! `tally chain genesis`

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use api::chain::operations::PAGE;
use node::chain::{MadeServer, NetworkPlan, make_network};
use primitives::SecretText;
use serde::Serialize;

use crate::cli::program;
use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, Table, stdout_ink};

/// Arguments of `tally chain genesis`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the new network
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of servers
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    servers: u16,
    /// The profile of limits and times: the published load test, or a public network
    #[arg(long, value_name = "PROFILE", default_value = "loadtest", value_parser = ["loadtest", "production"])]
    profile: String,
    /// Seconds between blocks; the profile's value by default
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    block_seconds: Option<u32>,
    /// Age of the network in seconds, which leaves time for the blocks of a history ('tally chain history')
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    begun_before: u32,
    /// The network's name
    #[arg(long, value_name = "NAME", default_value = "test")]
    name: String,
    /// The address that the servers listen on
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    ip: IpAddr,
    /// The first of their ports, two for each server; free ports by default
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..=65_000))]
    port: Option<u16>,
    #[command(flatten)]
    pub output: Output,
}

/// The result, for programs.
#[derive(Debug, Serialize)]
struct Made {
    servers: Vec<Server>,
}

#[derive(Debug, Serialize)]
struct Server {
    name: String,
    folder: String,
    p2p: String,
    api: String,
    /// The URL of its explorer.
    explorer: String,
    accounts: Vec<Account>,
}

#[derive(Debug, Serialize)]
struct Account {
    passphrase: SecretText,
    account: String,
}

impl From<MadeServer> for Server {
    fn from(made: MadeServer) -> Self {
        let accounts = made.accounts.into_iter();
        Self {
            name: made.name,
            folder: made.dir.display().to_string(),
            p2p: made.p2p.to_string(),
            api: made.api.to_string(),
            explorer: format!("https://{}{}", made.api, PAGE.path),
            accounts: accounts
                .map(|(passphrase, account)| Account {
                    passphrase,
                    account: account.to_string(),
                })
                .collect(),
        }
    }
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        folder::takes_chain_network(&self.out)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let plan = NetworkPlan {
            network: self.name,
            profile: self.profile,
            block_seconds: self.block_seconds,
            servers: usize::from(self.servers),
            ip: self.ip,
            first_port: self.port,
            // Clipped at 0: a network begins in 1970 at the earliest.
            time_ms: since
                .map_or(0, |since| since.as_secs())
                .saturating_sub(u64::from(self.begun_before))
                * 1_000,
        };
        let made = make_network(&plan, &self.out).map_err(|error| Failure::coded(&error))?;
        let made = Made {
            servers: made.into_iter().map(Server::from).collect(),
        };
        self.output.show(&made, people)
    }
}

fn people(made: &Made) -> String {
    let mut table = Table::new(&[
        "server",
        "for peers",
        "for clients",
        "passphrases",
        "folder",
    ]);
    for server in &made.servers {
        let accounts = server.accounts.iter();
        let passphrases: Vec<&str> = accounts.map(|a| a.passphrase.expose().as_str()).collect();
        table.row([
            server.name.clone(),
            server.p2p.clone(),
            format!("https://{}", server.api),
            passphrases.join(", "),
            server.folder.clone(),
        ]);
    }
    let mut text = table.render(stdout_ink());
    text.push_str("\n\nA test network: its accounts forge from passphrases that anybody can guess.\nRun each with\n");
    for server in &made.servers {
        text.push_str(&format!("  {} chain run {}\n", program(), server.folder));
    }
    if let Some(first) = made.servers.first() {
        text.push_str(&format!(
            "The explorer of the first one is then at\n  {}\nIts certificate comes from {}/root.pem.\n",
            first.explorer, first.folder
        ));
    }
    text
}
