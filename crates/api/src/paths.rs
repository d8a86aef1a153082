//! The paths of the API. A `{name}` stands for one path segment.

/// `POST`: start a flow. `GET`: live flows, paged by `after` and `limit`.
pub const FLOWS: &str = "/v1/flows";
/// `POST`: start many flows, each answered separately.
pub const FLOW_BATCH: &str = "/v1/flows/batch";
/// `GET`: a flow's outcome or state; `wait` and `timeout_ms` control the wait.
pub const FLOW: &str = "/v1/flows/{flow_id}";
/// `GET`: a flow's progress until its end, as server-sent events.
pub const FLOW_EVENTS: &str = "/v1/flows/{flow_id}/events";
/// `POST`: cancel a flow.
pub const FLOW_CANCEL: &str = "/v1/flows/{flow_id}/cancel";
/// `POST`: retry a parked or retrying flow now.
pub const FLOW_RETRY: &str = "/v1/flows/{flow_id}/retry";
/// `POST`: pause a flow.
pub const FLOW_PAUSE: &str = "/v1/flows/{flow_id}/pause";
/// `POST`: resume a paused flow.
pub const FLOW_RESUME: &str = "/v1/flows/{flow_id}/resume";
/// `GET`: a live flow's journal, paged by `after` and `limit`.
pub const FLOW_JOURNAL: &str = "/v1/flows/{flow_id}/journal";
/// `POST`: retry flows by query.
pub const FLOWS_RETRY: &str = "/v1/flows/retry";
/// `POST`: pause flows by query.
pub const FLOWS_PAUSE: &str = "/v1/flows/pause";
/// `POST`: resume flows by query.
pub const FLOWS_RESUME: &str = "/v1/flows/resume";
/// `POST`: kill flows by query.
pub const FLOWS_KILL: &str = "/v1/flows/kill";
/// `DELETE`: forget a client id and the outcome kept for it.
pub const CLIENT: &str = "/v1/clients/{client_id}";
/// `POST`: the stream form: lines of starts in, lines of answers out.
pub const STREAM: &str = "/v1/stream";
/// `GET`: sums of unconsumed fungible states.
pub const BALANCES: &str = "/v1/balances";
/// `GET`: unconsumed states, paged by `after` and `limit`.
pub const STATES: &str = "/v1/states";
/// `POST`: query states, counts and sums by criteria, including consumed states.
pub const VAULT_QUERY: &str = "/v1/vault/query";
/// `GET`: changes of the vault as they happen, as server-sent events; `after` gives the start.
pub const VAULT_EVENTS: &str = "/v1/vault/events";
/// `GET`: a transaction in readable form.
pub const TRANSACTION: &str = "/v1/transactions/{transaction_id}";
/// `GET`: a transaction's bytes as it is carried.
pub const TRANSACTION_BYTES: &str = "/v1/transactions/{transaction_id}/bytes";
/// `GET`: the back chain of a transaction, paged by `after` and `limit`.
pub const TRANSACTION_CHAIN: &str = "/v1/transactions/{transaction_id}/chain";
/// `GET`, `POST`: users' notes on a transaction.
pub const NOTES: &str = "/v1/transactions/{transaction_id}/notes";
/// `DELETE`: delete a note.
pub const NOTE: &str = "/v1/transactions/{transaction_id}/notes/{note_id}";
/// `GET`: flows that states have scheduled, paged by `after` and `limit`.
pub const SCHEDULE: &str = "/v1/schedule";
/// `GET`: recorded transactions, in order, paged by `after` and `limit`.
pub const LEDGER: &str = "/v1/ledger";
/// `POST`: upload a file; its bytes are the body. `GET`: the files in the node, paged by `after` and `limit`.
pub const ATTACHMENTS: &str = "/v1/attachments";
/// `GET`: the metadata of a file. `PATCH`: set whether it is trusted. `DELETE`: remove it.
pub const ATTACHMENT: &str = "/v1/attachments/{hash}";
/// `GET`, `HEAD`: a file's bytes, or a range of them.
pub const ATTACHMENT_CONTENT: &str = "/v1/attachments/{hash}/content";
/// `POST`: begin an upload that can be interrupted.
pub const UPLOADS: &str = "/v1/uploads";
/// `GET`: the progress of an upload. `PATCH`: add bytes. `DELETE`: abandon it.
pub const UPLOAD: &str = "/v1/uploads/{upload_id}";
/// `POST`: complete an upload that has all its bytes; it becomes an attachment.
pub const UPLOAD_COMPLETE: &str = "/v1/uploads/{upload_id}/complete";
/// `GET`, notaries only: consumed states, paged by `after` and `limit`.
pub const CONSUMED: &str = "/v1/notary/consumed";
/// `POST`, without a token: a token for a user's name and password.
pub const LOGIN: &str = "/v1/login";
/// `POST`: end the login whose token the request carries.
pub const LOGOUT: &str = "/v1/logout";
/// `GET`: the node's users, paged by `after` and `limit`. `POST`: add one.
pub const USERS: &str = "/v1/users";
/// `GET`: a user. `PATCH`: change one. `DELETE`: remove one.
pub const USER: &str = "/v1/users/{user}";
/// `POST`: create a long-lived token for a user. `DELETE`: end all tokens and logins of a user.
pub const USER_TOKENS: &str = "/v1/users/{user}/tokens";
/// `GET`: the requesters of a notary's transactions.
pub const NOTARY_REQUESTS: &str = "/v1/notary/requests";
/// `GET`: proofs that notaries signed two consumers of a state, paged by `after` and `limit`.
pub const EQUIVOCATIONS: &str = "/v1/equivocations";
/// `GET`: contradictions between the node's data and the data that others have seen of it. `POST`: fetch lost data from
/// the other nodes.
pub const RECOVERY: &str = "/v1/recovery";
/// `POST`: end a rollback.
pub const RECOVERY_FINISH: &str = "/v1/recovery/finish";
/// `GET`: the contracts that are registered.
pub const CONTRACTS: &str = "/v1/contracts";
/// `GET`: the transitions of others that the node signs. `PATCH`: set whether it signs changes of notary.
pub const CONSENTS: &str = "/v1/consents";
/// `POST`: authorise an upgrade.
pub const UPGRADES: &str = "/v1/consents/upgrades";
/// `DELETE`: withdraw the authorisation.
pub const UPGRADE: &str = "/v1/consents/upgrades/{from}/{to}";
/// `GET`: this node.
pub const NODE: &str = "/v1/node";
/// `GET`: the other nodes of the network, and the connections with them.
pub const PEERS: &str = "/v1/peers";
/// `GET`: the network.
pub const NETWORK: &str = "/v1/network";
/// `POST`: confirm the node's clock after it was set.
pub const CLOCK_CONFIRM: &str = "/v1/clock/confirm";
/// `POST`: accept no more starts, and finish the running flows.
pub const DRAIN: &str = "/v1/drain";
/// `GET`: the description of this API, OpenAPI 3.1, with this node's flows.
pub const OPENAPI: &str = "/v1/openapi.json";
/// `GET`, without a token: a page that shows the description and tries its calls.
pub const DOCS: &str = "/docs";
/// `GET`, without a token: whether the node is up and takes work.
pub const HEALTH: &str = "/health";
/// `GET`: counters in Prometheus text format.
pub const METRICS: &str = "/metrics";

/// Replaces the `{name}` of a path by a segment, percent-encoded.
pub fn with(path: &str, segment: &str) -> String {
    let Some((before, rest)) = path.split_once('{') else {
        return path.to_owned();
    };
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    let mut filled = String::with_capacity(path.len() + segment.len());
    filled.push_str(before);
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            filled.push(char::from(byte));
        } else {
            filled.push_str(&format!("%{byte:02X}"));
        }
    }
    filled.push_str(after);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_encoded() {
        for (path, segment, expected) in [
            (FLOW, "00ff", "/v1/flows/00ff"),
            (FLOW_CANCEL, "00ff", "/v1/flows/00ff/cancel"),
            (CLIENT, "a/b ?é", "/v1/clients/a%2Fb%20%3F%C3%A9"),
            (NODE, "ignored", "/v1/node"),
        ] {
            assert_eq!(with(path, segment), expected);
        }
    }
}
