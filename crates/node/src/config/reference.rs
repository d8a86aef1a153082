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
    "p2p.listen" [""] "Where to listen for other nodes, `address:port`.";
    "p2p.advertised" [""] "Where other nodes find this one, `host:port`, best first; nothing means where it listens. Bootstrap again to make a change known.";
    "p2p.compression" [""] "Whether messages to nodes that want it are compressed: `true` does so unless they are on the same machine, `\"always\"` there too, `false` never.";
    "p2p.linger_us" ["microseconds"] "How long to gather messages before each write; 0 never waits.";
    "p2p.queue_bytes" ["bytes"] "Messages that wait for one peer.";
    "api.listen" [""] "Where to listen for clients, `address:port`.";
    "api.tokens" [""] "Tokens of callers: `{ user = \"...\", sha256 = \"...\" }`, the SHA-256 of the token in hexadecimal.";
    "api.connections_max" [""] "Clients' connections at once, as far as the limit of open files allows. When there are as many, an anonymous one ends for a new one; if users have all, the new one is closed. A user has three quarters at most.";
    "api.anonymous_connections_max" [""] "Connections that have carried no good token, at once; when there are as many, the one that has been idle longest ends for a new one.";
    "api.anonymous_connections_per_address_max" [""] "The same of one address, or of a network of 64 bits of IPv6; the machine's own addresses have no such bound.";
    "api.body_bytes_max" ["bytes"] "Largest body of one request, and longest line of a stream." => "api.body_too_large";
    "api.user_starts_per_s" ["flows"] "Flows that one user may start in a second, whose entry in users.toml says nothing else; 0 is no bound." => "api.rate_limited";
    "api.user_start_bytes_max" ["bytes"] "Largest start of a flow by a user without a bound of their own in users.toml. 0 means no bound below `api.body_bytes_max`." => "api.body_too_large";
    "api.stream_outstanding_max" [""] "Starts outstanding on one stream; the node reads no further while there are so many.";
    "api.requests_max" [""] "Requests in flight at once, over all connections; of one user three quarters at most." => "node.busy";
    "api.streams_max" [""] "Streams at once, over all connections; of one user three quarters at most." => "node.busy";
    "api.followers_max" [""] "Followers of events at once, over all connections; of one user three quarters at most." => "node.busy";
    "api.followers_bytes_per_s" ["bytes"] "The vault's events in a second, for all followers together; beyond, they fall behind and catch up later.";
    "api.queries_max" [""] "Queries of the vault that run at once, each with a reader of its own; of one user three quarters at most." => "node.busy";
    "api.bodies_bytes_max" ["bytes"] "Bytes of requests' bodies that have come and are in memory, at once; further ones wait their turn. A user has three quarters, a connection a quarter.";
    "api.page_max" [""] "Entries on one page of a list. A request for more gets this many.";
    "api.wait_s_max" ["seconds"] "Maximum time that a request may wait for a flow. A longer wait is shortened to it.";
    "api.head_s" ["seconds"] "For TLS to be agreed, and for a request's head to arrive.";
    "api.body_s" ["seconds"] "For the body of a request to arrive; of a file, up or down, for each 64 KiB to move." => "api.body_timeout";
    "api.write_s" ["seconds"] "Maximum time that a client may take to read written bytes. Then its connection is closed.";
    "users.login_s" ["seconds"] "How long a login lasts when it does not say.";
    "users.login_s_max" ["seconds"] "How long a login lasts at most.";
    "users.logins_per_user" [""] "Logins of one user at once; a further one ends the one that would have ended first.";
    "users.password_checks" [""] "Passwords checked at once; each takes 19 MiB and a core for some 20 ms.";
    "users.password_waits" [""] "Logins that wait for that or have it done." => "node.busy";
    "users.failures_free" [""] "Failed logins with one name from one address (of IPv6: one /64 network) that cost no wait. Those with one name from all addresses where it has not logged in count together as well." => "api.login_limited";
    "users.address_failures_free" [""] "Failed logins from one address (of IPv6: one /64 network) that cost no wait, with any names that have not logged in from there." => "api.login_limited";
    "users.failure_wait_s_max" ["seconds"] "The longest wait after a failed login; the first is a second, each further one twice as long." => "api.login_limited";
    "users.failure_memory_s" ["seconds"] "Failed logins are forgotten after so long without one.";
    "notary.validating" [""] "Whether the notary sees whole transactions and verifies them with their back chains; as its signed node info says, for its life. The section makes the node a notary.";
    "notary.batch_requests_max" [""] "Most requests in one batch.";
    "notary.batch_states_max" [""] "Most states in one batch.";
    "notary.queue_requests_max" [""] "Requests that wait; further ones are told when to come again. One requester has at most half of them, and at most as many as remain free for the others." => "notary.busy";
    "notary.queue_states_max" [""] "States of all requests that wait, shared out in the same way." => "notary.busy";
    "notary.requester_states_per_s" [""] "Newly consumed states of one requester in a second, on average; beyond, it is told when to come again. 0 is no bound." => "notary.busy";
    "notary.requester_burst_s" ["seconds"] "For how long a requester may save up its rate, and then consume at once." => "notary.busy";
    "notary.answer_sessions" [""] "Whether flows of other nodes may open sessions with this node: a notary takes part in no transactions, so it needs none of them." => "flow.no_responder";
    "transitions.accept_notary_changes" [""] "Whether to sign, without an operator, a change to another notary of the network. The proposer must own the state, and the state must concern this node. `tally contract notary-changes` overrides this.";
    "transitions.accept_upgrades" [""] "Upgrades to sign, `{ from = \"...\", to = \"...\" }`: the hashes of the descriptors of old and new code; at most 1000. No others are signed, except those that `tally contract authorise` adds.";
    "limits.live_flows" [""] "Flows started by clients that run at once.";
    "limits.live_bytes" ["bytes"] "Expected memory of these flows together, by the recent use of flows of the same name. Above it starts wait. A single flow may use more." => "node.busy";
    "limits.start_queue" [""] "Starts that wait for a place; further ones are told \"busy\"." => "node.busy";
    "limits.start_wait_ms" ["milliseconds"] "How long a start may have to wait for a place, by the rate at which flows end; no more than end within it may wait, and 100 always." => "node.busy";
    "limits.responders" [""] "Flows started by peers that have not ended. One peer has at most half of them, and at most as many as remain free for the others. The same rule applies to the bytes below." => "flow.share_exceeded";
    "limits.peer_bytes" ["bytes"] "Bytes that live flows have received from peers, all peers together." => "flow.share_exceeded";
    "limits.peer_journal_bytes" ["bytes"] "Bytes of the journals of flows started by peers, all peers together." => "flow.share_exceeded";
    "limits.responder_idle_s" ["seconds"] "How long a flow started by a peer waits for the peer's next message; then the session ends. A flow that waits for something else, or has signed, is left alone." => "flow.session_idle";
    "limits.journal_bytes" ["bytes"] "Journals of flows that come back when the node starts; further flows come back as these end, those of clients first.";
    "limits.coin_bytes" ["bytes"] "Coins kept in memory for selection.";
    "limits.coins_per_token" [""] "Coins of one token kept in memory.";
    "limits.inbound_bytes" ["bytes"] "Peers' messages that wait to be handled; beyond, connections are not read.";
    "limits.io_threads" [""] "Threads for connections of clients; 0 for half of the cores that the node may use, at least one. Connections of other nodes, deciding, writing and the view of the vault have a thread each besides these. `tally node run --threads` counts before it.";
    "attachments.memory_bytes" ["bytes"] "Memory for files while they move: this much for fetched files, and the same again for served ones.";
    "attachments.peer_memory_bytes" ["bytes"] "The same, for one peer.";
    "attachments.at_once" [""] "Files fetched at once; further ones wait, small ones go first.";
    "attachments.at_once_per_peer" [""] "Files fetched at once from one peer.";
    "attachments.down_bytes_per_s" ["bytes"] "Bytes of files fetched in a second; 0 for as many as come.";
    "attachments.up_bytes_per_s" ["bytes"] "Bytes of files served to other nodes in a second; 0 for as many as go.";
    "attachments.keep_free_bytes" ["bytes"] "Free space that files leave on their disk, so that the ledger can continue to write." => "files.disk_full";
    "attachments.keep_unreferenced_days" ["days"] "Time after which a file that no recorded transaction refers to is removed. 0 keeps all files.";
    "attachments.keep_parts_hours" ["hours"] "Time that the received part of a file is kept, so that its fetch can continue.";
    "attachments.keep_uploads_hours" ["hours"] "An upload of a user that is not complete is kept for so long after the last bytes came.";
    "attachments.trust_peers" [""] "Legal names of nodes whose files are trusted as they come; at most 1000. Files of others are data until an operator trusts them.";
    "hospital.busy_retries" [""] "Retries in a row of a flow that met `notary.busy` or `vault.selection_busy`; then it is kept. 0 keeps it at once." => "flow.parked";
    "hospital.busy_wait_first_ms" ["milliseconds"] "Before the first of them; each further one waits twice as long.";
    "hospital.busy_wait_most_ms" ["milliseconds"] "Before any of them.";
    "hospital.marked_retries" [""] "Retries in a row after a failure that a flow called transient; then it is kept. 0 keeps it at once." => "flow.parked";
    "hospital.marked_wait_first_ms" ["milliseconds"] "Before the first of them; each further one waits twice as long.";
    "hospital.marked_wait_most_ms" ["milliseconds"] "Before any of them.";
    "hospital.kept_flows" [""] "Flows started here that are kept for an operator; with so many, no more are started." => "node.too_many_kept";
    "hospital.kept_responders" [""] "Flows that peers started and that stand still; a further one that fails ends with its failure.";
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
    "store.linger_us" ["microseconds"] "How long to gather writes before each sync; 0 never waits.";
    "store.memory_bytes" ["bytes"] "Rows kept in memory before they are flushed to table files; while they are, as many more.";
    "store.log_bytes" ["bytes"] "Length of a segment of the log. There are at most three segments.";
    "store.exit_after_failure_s" ["seconds"] "How long the process goes on answering after its store has failed, before it exits with code 6 for a supervisor to restart it; 0 means until it is stopped." => "node.store_failed";
    "log.level" [""] "The least level logged: error, warn, info, debug or trace; or a filter per module.";
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
