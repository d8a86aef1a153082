//! Every field with its default and unit: what `docs/reference/config.md` is made of.

use super::NodeConfig;

/// A field of the configuration, for the reference page.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// `section.name`.
    pub name: &'static str,
    /// The unit, if any.
    pub unit: &'static str,
    /// What it is for.
    pub meaning: &'static str,
}

macro_rules! fields {
    ($($name:literal [$unit:literal] $meaning:literal;)*) => {
        &[$(Field { name: $name, unit: $unit, meaning: $meaning }),*]
    };
}

/// What has no default.
const REQUIRED: [&str; 3] = ["node.name", "p2p.listen", "api.listen"];

/// Every field.
pub const FIELDS: &[Field] = fields! {
    "node.name" [""] "The legal name, `O=..., L=..., C=..`; the certificate and the network map bear the same.";
    "node.data_dir" [""] "Where data is kept; relative to the node's folder.";
    "p2p.listen" [""] "Where to listen for other nodes, `address:port`.";
    "p2p.advertised" [""] "Where other nodes find this one, `host:port`, best first; nothing means where it listens. Bootstrap again to make a change known.";
    "p2p.compression" [""] "Whether messages to nodes that want it are compressed.";
    "p2p.linger_us" ["microseconds"] "How long to gather messages before each write; 0 never waits.";
    "p2p.queue_bytes" ["bytes"] "Messages that wait for one peer.";
    "api.listen" [""] "Where to listen for clients, `address:port`.";
    "api.tokens" [""] "Who may call: `{ user = \"...\", sha256 = \"...\" }`, the SHA-256 of the token in hexadecimal.";
    "api.connections_max" [""] "Clients' connections at once.";
    "api.body_bytes_max" ["bytes"] "Largest body of one request, and longest line of a stream.";
    "api.stream_outstanding_max" [""] "Starts outstanding on one stream.";
    "notary.batch_requests_max" [""] "Most requests in one batch. The section makes the node a notary.";
    "notary.batch_states_max" [""] "Most states in one batch.";
    "notary.queue_requests_max" [""] "Requests that wait; further ones are told when to come again.";
    "notary.queue_states_max" [""] "States of all requests that wait.";
    "limits.live_flows" [""] "Flows started by clients that run at once.";
    "limits.start_queue" [""] "Starts that wait for a place; further ones are told \"busy\".";
    "limits.responders" [""] "Flows started by peers that run at once.";
    "limits.transaction_cache_bytes" ["bytes"] "Cache of transactions.";
    "limits.signature_cache_bytes" ["bytes"] "Caches of good signatures and of valid transactions, each.";
    "limits.outcome_cache_bytes" ["bytes"] "Outcomes of ended flows kept in memory.";
    "limits.coin_bytes" ["bytes"] "Coins kept in memory for selection.";
    "limits.coins_per_token" [""] "Coins of one token kept in memory.";
    "limits.inbound_bytes" ["bytes"] "Peers' messages that wait to be handled; beyond, connections are not read.";
    "store.linger_us" ["microseconds"] "How long to gather writes before each sync; 0 never waits.";
    "store.cache_bytes" ["bytes"] "Cache of the ledger's store.";
    "store.view_cache_bytes" ["bytes"] "Cache of the vault's view.";
    "log.level" [""] "The least level logged: error, warn, info, debug or trace; or a filter per module.";
    "log.format" [""] "`text` for people, `json` for programs.";
};

/// The reference page; defaults are read off the code.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Configuration of a node\n\nGenerated from the source: do not edit. Each field of `node.toml`, `section.name`.\n\n\
         | field | default | unit | meaning |\n|---|---|---|---|\n",
    );
    let defaults = defaults();
    for Field {
        name,
        unit,
        meaning,
    } in FIELDS
    {
        let default = match default_of(&defaults, name) {
            Some(default) if !REQUIRED.contains(name) => format!("`{default}`"),
            _ => "required".to_owned(),
        };
        page.push_str(&format!("| `{name}` | {default} | {unit} | {meaning} |\n"));
    }
    page
}

/// A configuration that sets only what it must; it is a notary so that all sections are there.
fn defaults() -> toml::Table {
    let text = "node = { name = 'O=X, L=X, C=XX' }\np2p = { listen = '[::1]:1' }\napi = { listen = '[::1]:2' }\nnotary = {}";
    let config: Option<NodeConfig> = toml::from_str(text).ok();
    config
        .and_then(|config| toml::Table::try_from(config).ok())
        .unwrap_or_default()
}

fn default_of(defaults: &toml::Table, name: &str) -> Option<String> {
    let (section, key) = name.split_once('.')?;
    defaults.get(section)?.get(key).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_field_is_on_the_page() {
        let defaults = defaults();
        for Field { name, .. } in FIELDS {
            assert!(
                default_of(&defaults, name).is_some(),
                "{name} does not exist"
            );
        }
        let sections = defaults.values().filter_map(toml::Value::as_table);
        assert_eq!(sections.map(toml::Table::len).sum::<usize>(), FIELDS.len());
    }

    #[test]
    fn the_reference_page_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, reference_page()).expect("the page is written");
        }
        let page = std::fs::read_to_string(&path).expect("docs/reference/config.md");
        assert!(
            page == reference_page(),
            "run UPDATE_DOCS=1 cargo test -p node config"
        );
    }
}
