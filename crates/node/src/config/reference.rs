//! Every field with its default and unit, for `docs/reference/config.md`.

use super::NodeConfig;
use super::check::Ranged;

/// A field of the configuration, for the reference page.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// `section.name`.
    pub name: &'static str,
    /// The unit, if any.
    pub unit: &'static str,
    /// Its purpose.
    pub meaning: &'static str,
    /// The code shown to a client or peer that exceeds it as a limit. Empty if it refuses nothing.
    pub code: &'static str,
}

macro_rules! fields {
    ($($name:literal [$unit:literal] $meaning:literal $(=> $code:literal)?;)*) => {
        &[$(Field { name: $name, unit: $unit, meaning: $meaning, code: concat!($($code)?) }),*]
    };
}

/// Fields without a default.
const REQUIRED: [&str; 3] = ["node.name", "p2p.listen", "api.listen"];

/// Every field.
pub const FIELDS: &[Field] = fields! {
    "node.name" [""] "The legal name, `O=..., L=..., C=..`; the certificate and the network map bear the same.";
    "node.data_dir" [""] "Where data is kept; relative to the node's folder.";
    "node.workers" [""] "Threads that do the kernel's jobs, its own thread included: steps of flows, contracts, tear-offs, and signatures to make or check. 0 for as many as the cores that the node may use. With 1 the kernel's thread does them alone.";
    "p2p.listen" [""] "Where to listen for other nodes, `address:port`.";
    "p2p.advertised" [""] "Addresses at which other nodes reach this one, `host:port`, in order of preference. If the list is empty, the listening address is used. After a change, bootstrap again so that other nodes learn it.";
    "p2p.compression" [""] "Whether messages to nodes that want it are compressed: `true` does so unless they are on the same machine, `\"always\"` there too, `false` never.";
    "p2p.linger_us" ["microseconds"] "Time to gather messages before each write. 0 never waits.";
    "p2p.queue_bytes" ["bytes"] "Maximum size of the queue of messages to one peer.";
    "api.listen" [""] "Where to listen for clients, `address:port`.";
    "api.tokens" [""] "Tokens of callers: `{ user = \"...\", sha256 = \"...\" }`, the SHA-256 of the token in hexadecimal.";
    "api.connections_max" [""] "Maximum connections of clients; the limit of open files may reduce it. At this number, an anonymous connection is closed for a new one. If all belong to users, the new one is closed. One user may use three quarters of them.";
    "api.anonymous_connections_max" [""] "Maximum connections that have not sent a valid token. At this number, the one that has been idle longest is closed for a new one.";
    "api.anonymous_connections_per_address_max" [""] "Maximum such connections from one IPv4 address or one IPv6 /64 network. The machine's own addresses are exempt.";
    "api.body_bytes_max" ["bytes"] "Largest body of one request, and longest line of a stream." => "api.body_too_large";
    "api.user_starts_per_s" ["flows"] "Maximum flows that a user may start in a second, unless users.toml sets a limit for the user. 0 means unlimited." => "api.rate_limited";
    "api.user_start_bytes_max" ["bytes"] "Largest start of a flow, unless users.toml sets a limit for the user. 0 means that only `api.body_bytes_max` limits it." => "api.body_too_large";
    "api.stream_outstanding_max" [""] "Maximum number of outstanding starts on one stream. At this number the node pauses reading the stream.";
    "api.requests_max" [""] "Maximum requests in flight over all connections. One user may use three quarters of them." => "node.busy";
    "api.streams_max" [""] "Maximum open streams over all connections. One user may use three quarters of them." => "node.busy";
    "api.followers_max" [""] "Maximum followers of events over all connections. One user may use three quarters of them." => "node.busy";
    "api.followers_bytes_per_s" ["bytes"] "Rate limit of the vault's events, for all followers together. Above it followers lag behind and catch up later.";
    "api.queries_max" [""] "Maximum queries of the vault that run at the same time, each with a reader of its own. One user may use three quarters of them." => "node.busy";
    "api.bodies_bytes_max" ["bytes"] "Maximum bytes of received request bodies in memory. Above it, further bodies wait. One user may use three quarters of it, and one connection a quarter. Large answers of reads that wait to be sent have a budget of the same size. Above it they are refused." => "node.busy";
    "api.page_max" [""] "Entries on one page of a list. A request for more gets this many.";
    "api.wait_s_max" ["seconds"] "Maximum time that a request may wait for a flow. A longer wait is shortened to it.";
    "api.head_s" ["seconds"] "Time limit for the TLS handshake, and for the head of a request to arrive.";
    "api.body_s" ["seconds"] "Time limit for the body of a request to arrive. For an upload or a download, the time limit for each 64 KiB." => "api.body_timeout";
    "api.write_s" ["seconds"] "Maximum time that a client may take to read written bytes: on HTTP/2, 64 KiB of an answer or its rest. Then the stream is reset, or the connection is closed.";
    "users.login_s" ["seconds"] "Lifetime of a login that asks for none.";
    "users.login_s_max" ["seconds"] "Maximum lifetime of a login.";
    "users.logins_per_user" [""] "Maximum logins of one user. A further login ends the one that would expire first.";
    "users.password_checks" [""] "Passwords checked at once; each takes 19 MiB and a core for some 20 ms.";
    "users.password_waits" [""] "Maximum logins whose password check runs or waits." => "node.busy";
    "users.failures_free" [""] "Number of failed logins with one name from one address (IPv6: one /64 network) before back-off begins. Failed logins with one name from all addresses where it has not logged in are counted together as well." => "api.login_limited";
    "users.address_failures_free" [""] "Number of failed logins with any names that have not logged in from one address (IPv6: one /64 network), before back-off begins." => "api.login_limited";
    "users.failure_wait_s_max" ["seconds"] "Maximum back-off after a failed login. The first is one second; each further failure doubles it." => "api.login_limited";
    "users.failure_memory_s" ["seconds"] "Time without a failed login after which earlier failures are forgotten.";
    "notary.validating" [""] "Whether the notary gets whole transactions and verifies them with their back chains. It must agree with the signed node info, and never changes. The section makes the node a notary.";
    "notary.batch_requests_max" [""] "Maximum requests in one batch.";
    "notary.batch_states_max" [""] "Maximum states in one batch.";
    "notary.queue_requests_max" [""] "Maximum queued requests. Further ones are refused with a retry delay. One requester may use at most half of the queue, and at most as much as remains free for the others." => "notary.busy";
    "notary.queue_states_max" [""] "Maximum states of all queued requests, shared in the same way." => "notary.busy";
    "notary.requester_states_per_s" [""] "Rate limit of newly consumed states of one requester, per second. Above it, requests are refused with a retry delay. 0 means unlimited." => "notary.busy";
    "notary.requester_burst_s" ["seconds"] "Burst of this rate limit: the time for which an unused rate accumulates." => "notary.busy";
    "notary.answer_sessions" [""] "Whether flows of other nodes may open sessions with this node. A notary is not a participant of transactions, so it needs no sessions." => "flow.no_responder";
    "transitions.accept_notary_changes" [""] "Whether to sign, without an operator, a change to another notary of the network. The proposer must own the state, and the state must concern this node. `tally contract notary-changes` overrides this.";
    "transitions.accept_upgrades" [""] "Upgrades to sign, `{ from = \"...\", to = \"...\" }`: the hashes of the descriptors of old and new code; at most 1000. No others are signed, except those that `tally contract authorise` adds.";
    "limits.live_flows" [""] "Maximum running flows that clients have started.";
    "limits.live_bytes" ["bytes"] "Maximum expected memory of these flows together, estimated from recent flows of the same name. Above it, starts wait. A single flow may use more, and so may the first flows of a name, up to 128 of them." => "node.busy";
    "limits.start_queue" [""] "Maximum starts that wait for a running flow to end. Further ones are refused as busy." => "node.busy";
    "limits.start_wait_ms" ["milliseconds"] "Maximum expected wait of a start. The queue admits at most as many starts as are expected to end within this time, and always 100." => "node.busy";
    "limits.responders" [""] "Flows started by peers that have not ended. One peer has at most half of them, and at most as many as remain free for the others. The same rule applies to the bytes below." => "flow.share_exceeded";
    "limits.peer_bytes" ["bytes"] "Bytes that live flows have received from peers, all peers together." => "flow.share_exceeded";
    "limits.peer_journal_bytes" ["bytes"] "Bytes of the journals of flows started by peers, all peers together." => "flow.share_exceeded";
    "limits.responder_idle_s" ["seconds"] "Maximum time that a flow started by a peer waits for the peer's next message. Then the session ends. Flows that wait for something else, or have signed, have no such limit." => "flow.session_idle";
    "limits.journal_bytes" ["bytes"] "Maximum size of the journals of flows that are restored at the start of the node. Further flows are restored as these end, those of clients first.";
    "limits.coin_bytes" ["bytes"] "Maximum memory for coins that selection can choose from.";
    "limits.coins_per_token" [""] "Maximum coins of one token kept in memory.";
    "limits.inbound_bytes" ["bytes"] "Maximum size of received messages of peers that wait for the kernel. Above it, connections are not read.";
    "limits.io_threads" [""] "Threads for connections of clients; 0 for half of the cores that the node may use, at least one. Connections of other nodes, deciding, writing, the view of the vault and checks of signatures in idle time have a thread each besides these. `tally node run --threads` counts before it.";
    "attachments.memory_bytes" ["bytes"] "Maximum memory for file transfers: this much for fetched files, and as much again for served ones.";
    "attachments.peer_memory_bytes" ["bytes"] "The same, for one peer.";
    "attachments.at_once" [""] "Maximum files fetched at the same time. Further ones wait; small ones go first.";
    "attachments.at_once_per_peer" [""] "Maximum files fetched from one peer at the same time.";
    "attachments.down_bytes_per_s" ["bytes"] "Rate limit of fetched files, in bytes per second. 0 means unlimited.";
    "attachments.up_bytes_per_s" ["bytes"] "Rate limit of files served to other nodes, in bytes per second. 0 means unlimited.";
    "attachments.keep_free_bytes" ["bytes"] "Free space that files leave on their disk, so that the ledger can continue to write." => "files.disk_full";
    "attachments.keep_unreferenced_days" ["days"] "Time after which a file that no recorded transaction refers to is removed. 0 keeps all files.";
    "attachments.keep_parts_hours" ["hours"] "Time that the received part of a file is kept, so that its fetch can continue.";
    "attachments.keep_uploads_hours" ["hours"] "Time after the last received bytes for which an incomplete upload of a user is kept.";
    "attachments.trust_peers" [""] "Legal names of nodes whose files are trusted on arrival; at most 1000. Files of other nodes are not trusted until an operator trusts them.";
    "flows.history_days" ["days"] "Time for which the history of flows keeps a flow that has ended. 0 keeps none. While the wall clock is in doubt, no flow is deleted for its age.";
    "flows.history_flows" [""] "Maximum ended flows that the history keeps, for each of three kinds: failed flows and successful ones that were started here, and failed ones that counterparties started. The oldest are deleted. 0 keeps none.";
    "hospital.busy_retries" [""] "Maximum consecutive retries of a flow that got `notary.busy` or `vault.selection_busy`. Then it is parked. 0 parks it at once." => "flow.parked";
    "hospital.busy_wait_first_ms" ["milliseconds"] "Back-off before the first retry. It doubles with each further one.";
    "hospital.busy_wait_most_ms" ["milliseconds"] "Maximum back-off between retries.";
    "hospital.marked_retries" [""] "Maximum consecutive retries after a failure that the flow has marked as transient. Then it is parked. 0 parks it at once." => "flow.parked";
    "hospital.marked_wait_first_ms" ["milliseconds"] "Back-off before the first retry. It doubles with each further one.";
    "hospital.marked_wait_most_ms" ["milliseconds"] "Maximum back-off between retries.";
    "hospital.kept_flows" [""] "Maximum parked flows that were started on this node. At this number no more flows are started." => "node.too_many_kept";
    "hospital.kept_responders" [""] "Maximum parked flows that peers started. A further one that fails ends with its failure.";
    "hospital.hold_flows" [""] "Whether flows that the store holds when the node starts wait until an operator resumes them (`tally flow resume`), or kills them; `tally node run --hold-flows` says so for one start.";
    "hospital.meet_peers_s" ["seconds"] "Longest wait at a start: flows that the store holds go on once the peers of their sessions, and one peer that keeps a mark of this node's data, have connected. New starts run once one such peer has connected, or after this time. 0 waits for none. A notary also waits for half of the peers it knows marks of before it signs, and 10 seconds at most." => "node.flows_held";
    "hospital.hold_unmet" [""] "Whether these flows stay held after the wait if no peer has shown a mark, until one does or an operator resumes them (`tally flow resume`). If false, they go on, and the log says so.";
    "cache.transactions_bytes" ["bytes"] "Recorded transactions.";
    "cache.signatures_bytes" ["bytes"] "Signatures known to be good, and transactions known to be valid, each.";
    "cache.keys_bytes" ["bytes"] "Decoded public keys.";
    "cache.fresh_keys_bytes" ["bytes"] "Which keys are fresh ones of this node, and whose the keys of others are, each.";
    "cache.outcomes_bytes" ["bytes"] "Outcomes of ended flows.";
    "cache.unshared_bytes" ["bytes"] "Transactions that only this node has.";
    "cache.sent_along_bytes" ["bytes"] "The transactions that went along with messages, by peer.";
    "cache.blocks_bytes" ["bytes"] "Blocks of the store's table files.";
    "cache.view_bytes" ["bytes"] "Database pages of the writer of the vault's view.";
    "cache.view_reader_bytes" ["bytes"] "Database pages of each reader of the vault's view. There are `api.queries_max` readers.";
    "store.linger_us" ["microseconds"] "Time to gather writes before each sync. 0 never waits.";
    "store.memory_bytes" ["bytes"] "Maximum size of rows in memory before they are flushed to table files. During a flush, as much again.";
    "store.log_bytes" ["bytes"] "Length of a segment of the log. There are at most three segments.";
    "store.exit_after_failure_s" ["seconds"] "Time for which the process still answers after its store has failed. Then it exits with code 6, so that a supervisor restarts it. 0 means until it is stopped." => "node.store_failed";
    "notary_database.url" [""] "For a worker of a replicated notary: the database that all its workers share, without a password. `mysql://user@host:port,host:port,host:port/database` is a MariaDB Galera cluster, `postgres://user@host:port/database` is PostgreSQL with synchronous standbys." => "record.settings";
    "notary_database.password_file" [""] "File with the password of the database's user, relative to the node's folder. Only the node's user may read it.";
    "notary_database.ca" [""] "File with the certificates, in PEM, of the authority that signs the servers' certificates, relative to the node's folder. Required unless all servers are on this machine.";
    "notary_database.give_up_s" ["seconds"] "Time for a batch while no server of the database answers. Then its requesters are asked to come again, at another worker if there is one.";
    "database.url" [""] "A PostgreSQL database that keeps the node's data, `postgres://user@host:port/database`, without a password. If it is empty, the data is in `node.data_dir`.";
    "database.password_file" [""] "File with the password of the database's user, relative to the node's folder. Only the node's user may read it.";
    "database.ca" [""] "File with the certificates, in PEM, of the authority that signs the server's certificate, relative to the node's folder. Required unless the server is on the same machine.";
    "database.schema" [""] "Schema of the node's tables. If it is empty, the organisation of the legal name and eight digits of the party's id.";
    "database.standby" [""] "Whether a process waits, however long, while another one of this node has the schema, and follows its commits until it takes over; `tally node run --standby` says so for one start.";
    "database.lease_s" ["seconds"] "Time without a sign of life after which another process of this node may take over the schema." => "database.deposed";
    "database.give_up_s" ["seconds"] "Time for which commits are tried again while the server is away, full or not ready. Then the node stops." => "database.unreachable";
    "log.level" [""] "Minimum level that is logged: error, warn, info, debug or trace; or a filter per module.";
    "log.format" [""] "`text` for people, `json` for programs.";
};

/// The reference page; defaults are read off the code.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Configuration of a node\n\nGenerated from the source: do not edit. Each field of `node.toml`, `section.name`.\n\
         A value outside its range is refused when the node starts. [All limits](limits.md), those that are fixed too.\n\n\
         | field | default | range | unit | meaning |\n|---|---|---|---|---|\n",
    );
    let (config, defaults) = defaults();
    let ranged = config.ranged();
    for Field {
        name,
        unit,
        meaning,
        ..
    } in FIELDS
    {
        let range = ranged.iter().find(|ranged| ranged.field == *name);
        let range = range.map_or(String::new(), |Ranged { least, most, .. }| {
            format!("{least} to {most}")
        });
        let default = match default_of(&defaults, name) {
            Some(default) if !REQUIRED.contains(name) => format!("`{default}`"),
            _ => "required".to_owned(),
        };
        page.push_str(&format!(
            "| `{name}` | {default} | {range} | {unit} | {meaning} |\n"
        ));
    }
    page
}

/// The default of a field as TOML, unless it is required.
pub fn default_text(name: &str) -> Option<String> {
    let (_, defaults) = defaults();
    default_of(&defaults, name).filter(|_| !REQUIRED.contains(&name))
}

/// Returns a configuration with the required fields only. It is a notary's, so that it has all sections.
fn defaults() -> (NodeConfig, toml::Table) {
    let text = "node = { name = 'O=X, L=X, C=XX' }\np2p = { listen = '[::1]:1' }\napi = { listen = '[::1]:2' }\nnotary = {}";
    let config: NodeConfig = toml::from_str(text).expect("all required fields");
    let table = toml::Table::try_from(&config).expect("a configuration is a table");
    (config, table)
}

fn default_of(defaults: &toml::Table, name: &str) -> Option<String> {
    let (section, key) = name.split_once('.')?;
    defaults.get(section)?.get(key).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_on_the_page_and_every_number_has_a_range() {
        let (config, defaults) = defaults();
        let ranged = config.ranged();
        for Field { name, .. } in FIELDS {
            let default = default_of(&defaults, name);
            let default = default.unwrap_or_else(|| panic!("{name} does not exist"));
            let found = ranged.iter().find(|ranged| ranged.field == *name);
            let number = default.parse::<u64>().ok();
            assert_eq!(found.map(|ranged| ranged.value), number, "{name}");
            let good = |r: &Ranged| (r.least..=r.most).contains(&r.value);
            assert!(found.is_none_or(good), "{name}");
        }
        let sections = defaults.values().filter_map(toml::Value::as_table);
        assert_eq!(sections.map(toml::Table::len).sum::<usize>(), FIELDS.len());
    }
}
