//! Checks of configured values that have the right type but are out of range.

use std::path::Path;

use super::attachments::TRUSTED_PEERS_MAX;
use super::transitions::UPGRADES_MAX;
use super::{ConfigError, NodeConfig, TokenEntry};

/// Longest wait of connections and commits for more, in microseconds.
const LINGER_US_MAX: u64 = 20_000;
/// Least room in bytes for messages of peers, and for any budget that work depends on.
const ROOM_BYTES_MIN: u64 = 64 << 10;
/// Least size of a request's body, in bytes.
const BODY_BYTES_MIN: u64 = 1 << 10;
/// Maximum of any count. A node's memory could not hold more.
const COUNT_MAX: u64 = 10_000_000;
/// The fastest that anything may be allowed, in a second.
const RATE_MAX: u64 = 1_000_000;
/// Newly consumed states of one requester in a second.
const STATES_PER_S_MAX: u64 = 1_000_000_000;
/// Maximum of any budget, in bytes.
const BYTES_MAX: u64 = 1 << 40;
/// The longest time that may be set, in seconds: a year.
const SECONDS_MAX: u64 = 365 * 24 * 3_600;

/// Maximum number of threads that share the work of a core.
pub(crate) const WORKERS_MAX: u64 = 256;
/// Maximum number of threads for connections.
const IO_THREADS_MAX: u64 = 256;

/// Least budgets for files that move: a few of their parts.
const FILES_BYTES_MIN: u64 = 1 << 20;
/// Maximum number of files fetched at the same time: each is open, and has a writer.
const FILES_MAX: u64 = 1_000;
/// The longest that files are kept, in days: a century.
const DAYS_MAX: u64 = 36_500;

/// Maximum number of consecutive retries of one failure.
const RETRIES_MAX: u64 = 1_000;
/// The longest wait before a retry, in milliseconds: a day.
const RETRY_WAIT_MS_MAX: u64 = 24 * 3_600_000;

/// The longest time for a batch of a replicated notary, in seconds. The engine relies on it when it refuses a late request for good.
const GIVE_UP_S_MAX: u64 = notary::GIVE_UP_MS_MAX / 1_000;

/// The longest wait for peers at a start, in seconds: a day.
const MEET_PEERS_S_MAX: u64 = 24 * 3_600;

/// A number in the configuration, with its range.
pub(super) struct Ranged {
    pub(super) field: &'static str,
    pub(super) value: u64,
    pub(super) least: u64,
    pub(super) most: u64,
}

impl NodeConfig {
    /// Every number with its range.
    #[rustfmt::skip]
    pub(super) fn ranged(&self) -> Vec<Ranged> {
        let Self { node, p2p, api, users, limits, attachments, flows, hospital, cache, store, database, notary_database, .. } = self;
        let of = |field, value: u64, least, most| Ranged { field, value, least, most };
        let count = |field, value: usize, least| of(field, value as u64, least, COUNT_MAX);
        let bytes = |field, value: usize, least| of(field, value as u64, least, BYTES_MAX);
        let seconds = |field, value, least| of(field, value, least, SECONDS_MAX);
        let mut ranged = vec![
            of("node.workers", node.workers.into(), 0, WORKERS_MAX),
            of("p2p.linger_us", p2p.linger_us, 0, LINGER_US_MAX),
            bytes("p2p.queue_bytes", p2p.queue_bytes, 0),
            count("api.connections_max", api.connections_max, 1),
            count("api.anonymous_connections_max", api.anonymous_connections_max, 1),
            count("api.anonymous_connections_per_address_max", api.anonymous_connections_per_address_max, 1),
            bytes("api.body_bytes_max", api.body_bytes_max, BODY_BYTES_MIN),
            of("api.user_starts_per_s", api.user_starts_per_s.into(), 0, RATE_MAX),
            of("api.user_start_bytes_max", api.user_start_bytes_max.into(), 0, u32::MAX.into()),
            count("api.stream_outstanding_max", api.stream_outstanding_max, 1),
            count("api.requests_max", api.requests_max, 1),
            count("api.streams_max", api.streams_max, 1),
            count("api.followers_max", api.followers_max, 1),
            of("api.followers_bytes_per_s", api.followers_bytes_per_s, ROOM_BYTES_MIN, BYTES_MAX),
            count("api.queries_max", api.queries_max, 1),
            bytes("api.bodies_bytes_max", api.bodies_bytes_max, BODY_BYTES_MIN),
            count("api.page_max", api.page_max, 1),
            seconds("api.wait_s_max", api.wait_s_max, 1),
            seconds("api.head_s", api.head_s, 1),
            seconds("api.body_s", api.body_s, 1),
            seconds("api.write_s", api.write_s, 1),
            seconds("users.login_s", users.login_s, 1),
            seconds("users.login_s_max", users.login_s_max, 1),
            count("users.logins_per_user", users.logins_per_user, 1),
            of("users.password_checks", users.password_checks as u64, 1, 64),
            of("users.password_waits", users.password_waits as u64, 1, 10_000),
            of("users.failures_free", users.failures_free.into(), 1, 1_000),
            of("users.address_failures_free", users.address_failures_free.into(), 1, 100_000),
            of("users.failure_wait_s_max", users.failure_wait_s_max, 1, 24 * 3_600),
            of("users.failure_memory_s", users.failure_memory_s, 1, 7 * 24 * 3_600),
            count("limits.live_flows", limits.live_flows, 1),
            bytes("limits.live_bytes", limits.live_bytes, ROOM_BYTES_MIN),
            count("limits.start_queue", limits.start_queue, 0),
            of("limits.start_wait_ms", limits.start_wait_ms, 0, 3_600_000),
            count("limits.responders", limits.responders, 1),
            bytes("limits.peer_bytes", limits.peer_bytes, ROOM_BYTES_MIN),
            bytes("limits.peer_journal_bytes", limits.peer_journal_bytes, ROOM_BYTES_MIN),
            of("limits.responder_idle_s", limits.responder_idle_s, 1, DAYS_MAX * 24 * 3_600),
            bytes("limits.journal_bytes", limits.journal_bytes, ROOM_BYTES_MIN),
            bytes("limits.coin_bytes", limits.coin_bytes, 0),
            // A selection of one coin may need a second to swap for it.
            count("limits.coins_per_token", limits.coins_per_token, 2),
            bytes("limits.inbound_bytes", limits.inbound_bytes, ROOM_BYTES_MIN),
            of("limits.io_threads", limits.io_threads.into(), 0, IO_THREADS_MAX),
            bytes("attachments.memory_bytes", attachments.memory_bytes, FILES_BYTES_MIN),
            bytes("attachments.peer_memory_bytes", attachments.peer_memory_bytes, FILES_BYTES_MIN),
            of("attachments.at_once", attachments.at_once as u64, 1, FILES_MAX),
            of("attachments.at_once_per_peer", attachments.at_once_per_peer as u64, 1, FILES_MAX),
            of("attachments.down_bytes_per_s", attachments.down_bytes_per_s, 0, BYTES_MAX),
            of("attachments.up_bytes_per_s", attachments.up_bytes_per_s, 0, BYTES_MAX),
            of("attachments.keep_free_bytes", attachments.keep_free_bytes, 0, BYTES_MAX),
            of("attachments.keep_unreferenced_days", attachments.keep_unreferenced_days, 0, DAYS_MAX),
            of("attachments.keep_parts_hours", attachments.keep_parts_hours, 1, 24 * DAYS_MAX),
            of("attachments.keep_uploads_hours", attachments.keep_uploads_hours, 1, 24 * DAYS_MAX),
            of("flows.history_days", flows.history_days, 0, DAYS_MAX),
            count("flows.history_flows", flows.history_flows, 0),
            of("hospital.busy_retries", hospital.busy_retries.into(), 0, RETRIES_MAX),
            of("hospital.busy_wait_first_ms", hospital.busy_wait_first_ms, 1, RETRY_WAIT_MS_MAX),
            of("hospital.busy_wait_most_ms", hospital.busy_wait_most_ms, 1, RETRY_WAIT_MS_MAX),
            of("hospital.marked_retries", hospital.marked_retries.into(), 0, RETRIES_MAX),
            of("hospital.marked_wait_first_ms", hospital.marked_wait_first_ms, 1, RETRY_WAIT_MS_MAX),
            of("hospital.marked_wait_most_ms", hospital.marked_wait_most_ms, 1, RETRY_WAIT_MS_MAX),
            count("hospital.kept_flows", hospital.kept_flows, 1),
            count("hospital.kept_responders", hospital.kept_responders, 0),
            of("hospital.meet_peers_s", hospital.meet_peers_s, 0, MEET_PEERS_S_MAX),
            bytes("cache.transactions_bytes", cache.transactions_bytes, 0),
            bytes("cache.signatures_bytes", cache.signatures_bytes, 0),
            bytes("cache.keys_bytes", cache.keys_bytes, 0),
            bytes("cache.fresh_keys_bytes", cache.fresh_keys_bytes, 0),
            bytes("cache.outcomes_bytes", cache.outcomes_bytes, 0),
            bytes("cache.unshared_bytes", cache.unshared_bytes, 0),
            bytes("cache.sent_along_bytes", cache.sent_along_bytes, 0),
            of("cache.blocks_bytes", cache.blocks_bytes, ROOM_BYTES_MIN, BYTES_MAX),
            of("cache.view_bytes", cache.view_bytes, ROOM_BYTES_MIN, BYTES_MAX),
            of("cache.view_reader_bytes", cache.view_reader_bytes, ROOM_BYTES_MIN, BYTES_MAX),
            of("store.linger_us", store.linger_us, 0, LINGER_US_MAX),
            bytes("store.memory_bytes", store.memory_bytes, 1 << 20),
            of("store.log_bytes", store.log_bytes, 1 << 20, store::LOG_BYTES_MAX),
            seconds("store.exit_after_failure_s", store.exit_after_failure_s, 0),
            of("database.lease_s", database.lease_s, 1, 3_600),
            of("notary_database.give_up_s", notary_database.give_up_s, 1, GIVE_UP_S_MAX),
            seconds("database.give_up_s", database.give_up_s, 1),
        ];
        if let Some(notary) = &self.notary {
            ranged.extend([
                count("notary.batch_requests_max", notary.batch_requests_max, 1),
                count("notary.batch_states_max", notary.batch_states_max, 1),
                count("notary.queue_requests_max", notary.queue_requests_max, 1),
                count("notary.queue_states_max", notary.queue_states_max, 1),
                of("notary.requester_states_per_s", notary.requester_states_per_s, 0, STATES_PER_S_MAX),
                of("notary.requester_burst_s", notary.requester_burst_s, 1, 24 * 3_600),
            ]);
        }
        ranged
    }

    /// Checks the field. An error names the field and its range.
    pub(super) fn check(&self, path: &Path) -> Result<(), ConfigError> {
        let out_of_range = |field, message| ConfigError::OutOfRange {
            path: path.to_owned(),
            field,
            message,
        };
        for Ranged {
            field,
            value,
            least,
            most,
        } in self.ranged()
        {
            if value < least {
                let message = format!("{value} is too small; it is at least {least}");
                return Err(out_of_range(field, message));
            }
            if value > most {
                let message = format!("{value} is too large; it is at most {most}");
                return Err(out_of_range(field, message));
            }
        }
        if self.users.login_s > self.users.login_s_max {
            let message = format!(
                "{} is too large; it is at most users.login_s_max, {}",
                self.users.login_s, self.users.login_s_max
            );
            return Err(out_of_range("users.login_s", message));
        }
        let reserved = |entry: &&TokenEntry| entry.user == kernel::SCHEDULE_USER;
        if let Some(entry) = self.api.tokens.iter().find(reserved) {
            let message = format!(
                "the user '{}' stands for flows that states have scheduled; name another",
                entry.user
            );
            return Err(out_of_range("api.tokens", message));
        }
        if let Some((field, message)) = self.hospital.fault() {
            return Err(out_of_range(field, message));
        }
        let upgrades = self.transitions.accept_upgrades.len();
        if upgrades > UPGRADES_MAX {
            let message = format!("{upgrades} entries are too many; at most {UPGRADES_MAX}");
            return Err(out_of_range("transitions.accept_upgrades", message));
        }
        let trusted = self.attachments.trust_peers.len();
        if trusted > TRUSTED_PEERS_MAX {
            let message = format!("{trusted} names are too many; at most {TRUSTED_PEERS_MAX}");
            return Err(out_of_range("attachments.trust_peers", message));
        }
        if !self.notary_database.url.is_empty() {
            let has_ca = !self.notary_database.ca.as_os_str().is_empty();
            notarydb::check_url(&self.notary_database.url, has_ca)
                .map_err(|message| out_of_range("notary_database.url", message))?;
        }
        if pgstore::url_has_password(&self.database.url) {
            let message = "it holds a password; put that into a file that only the node's user can read, and name the file in \
                           database.password_file";
            return Err(out_of_range("database.url", message.into()));
        }
        if !self.database.schema.is_empty() {
            pgstore::check_schema_name(&self.database.schema)
                .map_err(|message| out_of_range("database.schema", message))?;
        }
        for address in &self.p2p.advertised {
            if !ledger::is_address(address) {
                let message = format!("'{address}' is not of the form host:port");
                return Err(out_of_range("p2p.advertised", message));
            }
        }
        Ok(())
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
            "[store]\nlinger_us = 20000",
            "[notary_database]\ngive_up_s = 10",
        ] {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, message) in [
            (
                "[limits]\nlive_flows = 0",
                "x.toml: limits.live_flows: 0 is too small; it is at least 1",
            ),
            (
                "[limits]\nio_threads = 257",
                "x.toml: limits.io_threads: 257 is too large; it is at most 256",
            ),
            (
                "[store]\nlinger_us = 20001",
                "x.toml: store.linger_us: 20001 is too large; it is at most 20000",
            ),
            (
                "[notary]\nqueue_states_max = 0",
                "x.toml: notary.queue_states_max: 0 is too small; it is at least 1",
            ),
            (
                "[cache]\nblocks_bytes = 1",
                "x.toml: cache.blocks_bytes: 1 is too small; it is at least 65536",
            ),
            (
                "[users]\nlogin_s = 7200\nlogin_s_max = 3600",
                "x.toml: users.login_s: 7200 is too large; it is at most users.login_s_max, 3600",
            ),
            (
                "[flows]\nhistory_days = 36501",
                "x.toml: flows.history_days: 36501 is too large; it is at most 36500",
            ),
            (
                "[hospital]\nkept_flows = 0",
                "x.toml: hospital.kept_flows: 0 is too small; it is at least 1",
            ),
            (
                "[hospital]\nmarked_retries = 1001",
                "x.toml: hospital.marked_retries: 1001 is too large; it is at most 1000",
            ),
            (
                "[hospital]\nbusy_wait_most_ms = 100",
                "x.toml: hospital.busy_wait_first_ms: 250 is too large; it is at most hospital.busy_wait_most_ms, 100",
            ),
            (
                "[attachments]\nmemory_bytes = 1000",
                "x.toml: attachments.memory_bytes: 1000 is too small; it is at least 1048576",
            ),
            (
                "[attachments]\nkeep_uploads_hours = 0",
                "x.toml: attachments.keep_uploads_hours: 0 is too small; it is at least 1",
            ),
            (
                "[users]\npassword_checks = 1000",
                "x.toml: users.password_checks: 1000 is too large; it is at most 64",
            ),
            (
                "[notary_database]\ngive_up_s = 11",
                "x.toml: notary_database.give_up_s: 11 is too large; it is at most 10",
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
            "listen = \"127.0.0.1:2\"",
            "listen = \"127.0.0.1:2\"\ntokens = [{ user = \"schedule\", sha256 = \"00\" }]",
        );
        let error = NodeConfig::parse(&text, Path::new("x.toml")).expect_err("a reserved name");
        assert!(
            error
                .to_string()
                .contains("api.tokens: the user 'schedule'")
        );
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
