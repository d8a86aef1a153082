//! Values that are of the right type and yet of no use.

use std::path::Path;

use super::{ConfigError, NodeConfig};

/// Longest wait of connections and commits for more, in microseconds.
const LINGER_US_MAX: u64 = 10_000;
/// Least room for what comes from peers, in bytes.
const INBOUND_BYTES_MIN: usize = 64 << 10;
/// Least size of a request's body, in bytes.
const BODY_BYTES_MIN: usize = 1 << 10;

impl NodeConfig {
    /// Says which field is out of range, and what the range is.
    pub(super) fn check(&self, path: &Path) -> Result<(), ConfigError> {
        let at_least = |field, value: usize, least: usize| {
            let rule = || format!("{value} is too small; it is at least {least}");
            if value >= least {
                Ok(())
            } else {
                Err((field, rule()))
            }
        };
        let lingers = |field, value: u64| {
            let rule = || format!("{value} is too large; it is at most {LINGER_US_MAX}");
            if value <= LINGER_US_MAX {
                Ok(())
            } else {
                Err((field, rule()))
            }
        };
        let fields = || {
            lingers("p2p.linger_us", self.p2p.linger_us)?;
            lingers("store.linger_us", self.store.linger_us)?;
            for address in &self.p2p.advertised {
                if !ledger::is_address(address) {
                    let rule = format!("'{address}' is not of the form host:port");
                    return Err(("p2p.advertised", rule));
                }
            }
            at_least("api.connections_max", self.api.connections_max, 1)?;
            at_least(
                "api.body_bytes_max",
                self.api.body_bytes_max,
                BODY_BYTES_MIN,
            )?;
            at_least(
                "api.stream_outstanding_max",
                self.api.stream_outstanding_max,
                1,
            )?;
            at_least("limits.live_flows", self.limits.live_flows, 1)?;
            at_least("limits.responders", self.limits.responders, 1)?;
            // A selection of one coin may need a second to swap for it.
            at_least("limits.coins_per_token", self.limits.coins_per_token, 2)?;
            at_least(
                "limits.inbound_bytes",
                self.limits.inbound_bytes,
                INBOUND_BYTES_MIN,
            )?;
            if let Some(notary) = &self.notary {
                at_least("notary.batch_requests_max", notary.batch_requests_max, 1)?;
                at_least("notary.batch_states_max", notary.batch_states_max, 1)?;
                at_least("notary.queue_requests_max", notary.queue_requests_max, 1)?;
                at_least("notary.queue_states_max", notary.queue_states_max, 1)?;
            }
            Ok(())
        };
        fields().map_err(|(field, message)| ConfigError::OutOfRange {
            path: path.to_owned(),
            field,
            message,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use primitives::Coded;

    use crate::config::NodeConfig;
    use crate::config::error::tests::SMALLEST;

    #[test]
    fn values_of_no_use_are_refused_with_their_range() {
        let check =
            |more: &str| NodeConfig::parse(&format!("{SMALLEST}\n{more}"), Path::new("x.toml"));
        for good in [
            "",
            "[notary]",
            "[limits]\nstart_queue = 0",
            "[store]\nlinger_us = 10000",
        ] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, message) in [
            (
                "[limits]\nlive_flows = 0",
                "x.toml: limits.live_flows: 0 is too small; it is at least 1",
            ),
            (
                "[store]\nlinger_us = 20000",
                "x.toml: store.linger_us: 20000 is too large; it is at most 10000",
            ),
            (
                "[notary]\nqueue_states_max = 0",
                "x.toml: notary.queue_states_max: 0 is too small; it is at least 1",
            ),
        ] {
            let error = check(bad).expect_err(bad);
            assert_eq!(
                (error.to_string().as_str(), error.code()),
                (message, "config.out_of_range")
            );
            assert!(!error.hint().is_empty());
        }
        let text = SMALLEST.replace(
            "listen = \"127.0.0.1:1\"",
            "listen = \"127.0.0.1:1\"\nadvertised = [\"here\"]",
        );
        let error = NodeConfig::parse(&text, Path::new("x.toml")).expect_err("no address");
        assert!(
            error
                .to_string()
                .contains("p2p.advertised: 'here' is not of the form host:port")
        );
    }
}
