//! `[chain]`.

use std::collections::BTreeSet;

use super::Rules;
use crate::chain::ChainId;
use crate::plan::chain::{ChainPlan, ChainServers};
use crate::plan::complete_chain::OWN;
use crate::plan::limits::{CHAIN_ACCOUNTS_MAX, CHAIN_NODES_MAX, CHAINS_MAX};

/// Characters of a wrong address that a message shows.
const SHOWN_CHARS: usize = 60;

impl Rules<'_, '_> {
    pub(super) fn chain(&mut self, chain: &ChainPlan) {
        let why = "cannot be combined with `chain`, which says what runs";
        self.forbid("", &["network"], why);
        if let Some(servers) = &chain.target {
            let why = "cannot be used with a target, because the laboratory does not own its nodes";
            self.forbid("chain", &OWN, why);
            self.servers(servers);
        }
        self.chains(chain);
        self.accounts(chain);
        for (name, value) in &chain.settings {
            if let Err(message) = self.checks.chain_setting(name, value) {
                self.wrong(&format!("chain.settings.{name}"), message);
            }
        }
        if let Err(message) = self.checks.chain(chain) {
            self.wrong("chain", message);
        }
    }

    fn servers(&mut self, servers: &ChainServers) {
        let count = match servers {
            ChainServers::Tally(folders) => {
                let why = "is for the kind `nxt`: for nodes of ours the client signs";
                self.forbid("chain.target", &["signing"], why);
                folders.len()
            }
            ChainServers::Nxt { urls, .. } => {
                for url in urls.iter().filter(|url| !url.starts_with("http://")) {
                    let short: String = url.chars().take(SHOWN_CHARS).collect();
                    let message = format!("`{short}` is not of the form http://host:port");
                    self.wrong("chain.target.servers", message);
                }
                urls.len()
            }
        };
        if !(1..=CHAIN_NODES_MAX).contains(&count) {
            let message = format!(
                "`chain.target` needs 1 to {CHAIN_NODES_MAX} `servers`, or a `servers_csv` with as many"
            );
            self.wrong("chain.target", message);
        }
    }

    fn chains(&mut self, plan: &ChainPlan) {
        if self.document.tables("chain.chains").next().is_some() {
            let why = "contradicts a list of chains; take one";
            self.forbid("chain", &["children"], why);
        }
        let first = plan.chains.first().map(|chain| chain.id);
        if first != Some(ChainId::PARENT) || plan.chains.len() > CHAINS_MAX {
            let message =
                format!("the first of at most {CHAINS_MAX} chains is the parent, with the id 1");
            self.wrong("chain.chains", message);
        }
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        for one in &plan.chains {
            if !ids.insert(one.id) | !names.insert(&one.name) {
                let message = format!(
                    "chain ids and names must be unique: {} or `{}` occurs twice",
                    one.id.0, one.name
                );
                self.wrong("chain.chains", message);
            }
        }
    }

    fn accounts(&mut self, plan: &ChainPlan) {
        // A target without servers is refused already.
        let nodes = plan.nodes.max(1);
        for (number, account) in plan.accounts.iter().enumerate() {
            if !(1..=nodes).contains(&account.node) {
                let message = format!("`node` is {}; there are {nodes}", account.node);
                self.wrong(&format!("chain.accounts.{number}.node"), message);
            }
        }
        let count = plan.accounts.len();
        if !(2..=CHAIN_ACCOUNTS_MAX).contains(&count) {
            let message =
                format!("{count} test accounts; there have to be 2 to {CHAIN_ACCOUNTS_MAX}");
            self.wrong("chain.accounts", message);
        }
        let mut seen = BTreeSet::new();
        let mut passphrases = plan
            .accounts
            .iter()
            .map(|account| account.passphrase.expose());
        if !passphrases.all(|passphrase| seen.insert(passphrase)) {
            let message = "two test accounts have the same passphrase";
            self.wrong("chain.accounts", message);
        }
    }
}
