//! Checks the settings and workloads of scenarios against a node's configuration and the registered workloads.

use std::path::Path;

use node::chain::ChainConfig;
use node::config::{FIELDS, NodeConfig};
use perf::plan::{Checks, KnobError, Network, Work, nearest};
use perf::workload::{Workloads, is_used_up};
use toml::{Table, Value};

/// The required settings of every configuration. All others have defaults.
const SMALLEST: &str = "node = { name = 'O=X, L=X, C=XX' }\np2p = { listen = '[::1]:1' }\napi = { listen = '[::1]:2' }\n";
/// The required settings of a chain node.
const SMALLEST_CHAIN: &str =
    "node = { name = 'x' }\np2p = { listen = '[::1]:1' }\napi = { listen = '[::1]:2' }\n";
/// The settings that the laboratory makes in every node of a chain.
const CHAIN_FIXED: [&str; 7] = [
    "node.name",
    "node.genesis",
    "node.data_dir",
    "p2p.listen",
    "p2p.seeds",
    "api.listen",
    "api.tokens",
];
/// The section that makes a node a notary.
const NOTARY: &str = "notary";

/// The checks of this program.
pub struct ProgramChecks {
    workloads: Workloads,
}

impl ProgramChecks {
    /// Returns the checks for all workloads of this program.
    pub fn new() -> Self {
        Self {
            workloads: crate::workloads(),
        }
    }
}

impl Checks for ProgramChecks {
    fn work(&self, work: &Work, network: &Network) -> Result<(), KnobError> {
        let made = self.workloads.make(&work.kind, &work.knobs);
        let needed = made.as_ref().map_or(0, |workload| workload.banks_min());
        if network.banks < needed {
            let banks = network.banks;
            return Err(KnobError {
                key: None,
                message: format!("this needs {needed} banks; `network.banks` is {banks}"),
            });
        }
        made.map(drop).map_err(|error| {
            let kinds = self.workloads.kinds().map(|(kind, _)| kind);
            let near = match error.knob.as_str() {
                "kind" => nearest(&work.kind, kinds),
                _ => None,
            };
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            KnobError {
                message: format!("{error}{near}"),
                key: Some(error.knob),
            }
        })
    }

    fn is_used_up(&self, work: &Work) -> bool {
        let made = self.workloads.make(&work.kind, &work.knobs);
        made.is_ok_and(|workload| is_used_up(&*workload))
    }

    fn setting(&self, name: &str, value: &Value, notary: bool) -> Result<(), String> {
        let Some((section, key)) = name.split_once('.') else {
            return Err(unknown(name));
        };
        if !FIELDS.iter().any(|field| field.name == name) {
            return Err(unknown(name));
        }
        if perf::topology::FIXED.contains(&name) {
            return Err(format!(
                "`{name}` is what the network stands on and can't be set"
            ));
        }
        if section == NOTARY && !notary {
            return Err(format!(
                "`{name}` is the notary's: set it under network.nodes.notary.settings"
            ));
        }
        let mut table: Table = SMALLEST.parse().map_err(|error| format!("{error}"))?;
        let inner = table
            .entry(section)
            .or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(inner) = inner {
            inner.insert(key.to_owned(), value.clone());
        }
        let text = table.to_string();
        if let Err(error) = table.try_into::<NodeConfig>() {
            let message = error.message().to_owned();
            return Err(format!("`{name}`: {message}"));
        }
        match NodeConfig::parse(&text, Path::new("node.toml")) {
            Ok(_) => Ok(()),
            Err(error) => {
                let message = error.to_string();
                let plain = message.strip_prefix("node.toml: ").unwrap_or(&message);
                Err(plain.to_owned())
            }
        }
    }

    fn chain_setting(&self, name: &str, value: &Value) -> Result<(), String> {
        if CHAIN_FIXED.contains(&name) {
            return Err(format!(
                "`{name}` is what the network stands on and can't be set"
            ));
        }
        let mut table: Table = SMALLEST_CHAIN.parse().map_err(|error| format!("{error}"))?;
        let mut inner = &mut table;
        let mut parts = name.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                inner.insert(part.to_owned(), value.clone());
                break;
            }
            let section = inner
                .entry(part)
                .or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(section) = section else {
                return Err(format!("`{part}` of `{name}` is no section"));
            };
            inner = section;
        }
        match ChainConfig::parse(&table.to_string(), Path::new("chain.toml")) {
            Ok(_) => Ok(()),
            Err(error) => {
                let message = error.to_string();
                let plain = message.strip_prefix("chain.toml: ").unwrap_or(&message);
                Err(format!(
                    "`{name}`: {plain} (docs/reference/chain-config.md lists all)"
                ))
            }
        }
    }
}

fn unknown(name: &str) -> String {
    let near = nearest(name, FIELDS.iter().map(|field| field.name));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("a node has no setting `{name}`{near} (docs/reference/config.md lists all)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::plan::{Options, parse};

    #[test]
    fn every_shipped_scenario_can_run_small_and_full() {
        for shipped in perf::plan::SHIPPED {
            for full in [false, true] {
                let opening = super::super::scenario::Opening::sized(full);
                if let Err(failure) = opening.open(shipped.name) {
                    panic!("{}: {failure:?}", shipped.name);
                }
            }
        }
    }

    #[test]
    fn kinds_of_work_and_their_knobs_are_checked_as_the_workloads_do() {
        for (text, wanted) in [
            ("kind = 'isue'", "did you mean `issue`?"),
            ("kind = 'issue'\nstats = 1", "no such knob"),
            ("kind = 'pay'\nstates = 0", "from 1 to 1000"),
            ("kind = 'pay'\n[network]\nbanks = 1", "needs 2 banks"),
        ] {
            let text = format!("[work]\n{text}");
            let options = Options::default();
            let error = parse(
                "x",
                "x.toml",
                text.as_bytes(),
                &options,
                &ProgramChecks::new(),
            );
            let error = error.expect_err(&text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn a_search_is_for_work_that_does_not_run_out() {
        let knee = "[load]\nknee = { from_per_s = 1, to_per_s = 9, latency_ms = 5 }\n";
        for (work, line) in [
            ("kind = 'pay'\n", None),
            ("kind = 'swap'\ndepth = 0\n", None),
            ("kind = 'transfer'\n", Some("x.toml:2:")),
            ("kind = 'transfer-attachment'\n", Some("x.toml:2:")),
        ] {
            let text = format!("{knee}[work]\n{work}");
            let options = Options::default();
            let read = parse(
                "x",
                "x.toml",
                text.as_bytes(),
                &options,
                &ProgramChecks::new(),
            );
            match (read, line) {
                (Ok(_), None) => {}
                (Err(error), Some(line)) => {
                    let error = error.to_string();
                    assert!(error.starts_with(line), "{text}: {error}");
                    assert!(error.contains("uses up"), "{text}: {error}");
                }
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }

    #[test]
    fn a_chain_nodes_settings_are_checked_as_the_node_does() {
        for (name, value, wanted) in [
            ("pool.transactions_max", "500", Ok(())),
            ("store.check_blocks", "0", Ok(())),
            ("node.keep_blocks", "2000", Ok(())),
            (
                "pool.transactions_mx",
                "5",
                Err("did you mean `transactions_max`?"),
            ),
            (
                "pool.transactions_max",
                "0",
                Err("0 is not between 1 and 100000000"),
            ),
            (
                "pool.transactions_max",
                "'x'",
                Err("`pool.transactions_max`:"),
            ),
            ("pool", "5", Err("`pool`:")),
            ("p2p.listen.x", "5", Err("is no section")),
            ("node.data_dir", "'x'", Err("can't be set")),
        ] {
            let table: Table = format!("x = {value}").parse().expect("TOML");
            let found = ProgramChecks::new().chain_setting(name, &table["x"]);
            match (found, wanted) {
                (Ok(()), Ok(())) => {}
                (Err(found), Err(wanted)) => assert!(found.contains(wanted), "{name}: {found}"),
                (found, _) => panic!("{name} = {value}: {found:?}"),
            }
        }
        let text = "[chain]\nnodes = 1\n[chain.settings]\npool.transactions_mx = 5\n";
        let options = Options::default();
        let error = parse(
            "x",
            "x.toml",
            text.as_bytes(),
            &options,
            &ProgramChecks::new(),
        );
        let error = error.expect_err(text).to_string();
        assert!(
            error.contains(":4") && error.contains("transactions_max"),
            "{error}"
        );
    }

    #[test]
    fn a_nodes_settings_are_checked_as_the_node_does() {
        for (name, value, notary, wanted) in [
            ("store.linger_us", "500", false, Ok(())),
            ("p2p.compression", "false", true, Ok(())),
            ("p2p.compression", "'always'", false, Ok(())),
            (
                "p2p.compression",
                "'sometimes'",
                false,
                Err("expected true, false or"),
            ),
            ("notary.batch_requests_max", "5", true, Ok(())),
            (
                "notary.batch_requests_max",
                "5",
                false,
                Err("network.nodes.notary.settings"),
            ),
            (
                "store.linger",
                "5",
                false,
                Err("did you mean `store.linger_us`?"),
            ),
            ("store", "5", false, Err("no setting `store`")),
            (
                "store.linger_us",
                "20001",
                false,
                Err("it is at most 20000"),
            ),
            ("store.linger_us", "'x'", false, Err("invalid type")),
            ("node.name", "'x'", false, Err("can't be set")),
        ] {
            let table: Table = format!("x = {value}").parse().expect("TOML");
            let found = ProgramChecks::new().setting(name, &table["x"], notary);
            match (found, wanted) {
                (Ok(()), Ok(())) => {}
                (Err(found), Err(wanted)) => assert!(found.contains(wanted), "{name}: {found}"),
                (found, _) => panic!("{name} = {value}: {found:?}"),
            }
        }
    }
}
