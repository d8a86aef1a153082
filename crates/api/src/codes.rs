//! The error codes of the API itself. Flows, the ledger and the notary have their own.

pub use crate::error_info::ErrorInfo;
use crate::error_info::codes;

codes! {
    /// The token is missing or wrong.
    UNAUTHORISED = "api.unauthorised" 401
        "The request carries no bearer token, or one that the node does not know."
        "Send 'Authorization: Bearer TOKEN' with a token from the node's configuration; bootstrap wrote one to the node's folder.";
    /// The user lacks a permission.
    FORBIDDEN = "api.forbidden" 403
        "The user whose token the request carries lacks the permission that the detail names."
        "Have the node's operator grant it with 'tally user grant', or ask as another user.";
    /// The user or the password is wrong.
    LOGIN_FAILED = "api.login_failed" 401
        "There is no such user, the password is wrong, or the user is disabled or has no password."
        "Check the name and the password; the node's operator sets a new one with 'tally user passwd'.";
    /// Too many failed logins.
    LOGIN_LIMITED = "api.login_limited" 429
        "Too many logins failed lately for this user or from this address."
        "Try again after the time given in retry_after_ms.";
    /// The token to log out was not given by a login.
    NOT_A_LOGIN = "api.not_a_login" 422
        "The token does not come from a login, so a logout cannot end it."
        "Let the token expire, or have the node's operator remove it from the node's folder.";
    /// A user's data are invalid.
    BAD_USER = "api.bad_user" 422
        "A user's name, password or permissions, or a token's lifetime, are invalid. The detail names the field."
        "Correct what the detail names; docs/reference/users.md lists names, permissions and limits.";
    /// No such user.
    UNKNOWN_USER = "api.unknown_user" 404
        "The node's folder has no user of this name."
        "Check the name in the list of users: GET /v1/users, or 'tally user list'.";
    /// A user of this name exists.
    USER_EXISTS = "api.user_exists" 409
        "A user of this name already exists."
        "Choose another name, or change the existing user.";
    /// The file of users cannot be read or written.
    USERS_FILE = "api.users_file" 503
        "The node cannot read or write users.toml in its folder, or has no such file."
        "Read the node's log for the reason, and check the permissions of the folder and the space on its disk.";
    /// No such path.
    NO_SUCH_PATH = "api.no_such_path" 404
        "The API has nothing at this path."
        "Check the path; it begins with /v1, except for /health and /metrics.";
    /// No such method there.
    METHOD_NOT_ALLOWED = "api.method_not_allowed" 405
        "The path exists, but not with this method."
        "Read the allowed methods in the Allow header of the answer.";
    /// The body is not JSON.
    BAD_JSON = "api.bad_json" 400
        "The body, or a line of a stream, is not JSON."
        "Send one JSON value in UTF-8; the detail names the line and column.";
    /// The body is not said to be JSON.
    NOT_JSON = "api.not_json" 415
        "The header Content-Type says that the body is something other than JSON."
        "Send JSON with the header Content-Type: application/json.";
    /// The body is JSON of another shape.
    BAD_REQUEST = "api.bad_request" 422
        "The body, or a line of a stream, is JSON, but a field is missing, unknown or of the wrong type."
        "Compare the fields with the API's description; the detail names the field.";
    /// A query or path parameter does not parse.
    BAD_PARAMETER = "api.bad_parameter" 400
        "A parameter in the path or the query is unknown or does not parse."
        "Correct the parameter that the detail names.";
    /// The body is too large.
    BODY_TOO_LARGE = "api.body_too_large" 413
        "The body, or a line of a stream, is larger than the node allows."
        "Send less at a time, or have the node's operator raise the limit that the detail names.";
    /// The body did not come in time.
    BODY_TIMEOUT = "api.body_timeout" 408
        "The body did not arrive in the time allowed."
        "Send the whole body without pauses; for work without end use /v1/stream.";
    /// A client id is too long or empty.
    BAD_CLIENT_ID = "api.bad_client_id" 422
        "A client id is empty or longer than 128 characters."
        "Choose a client id of 1 to 128 characters, such as a UUID.";
    /// The user exceeds the rate of starts.
    RATE_LIMITED = "api.rate_limited" 429
        "The user starts more flows a second than the node allows this user. Nothing was started."
        "Try again after the time given in retry_after_ms, or have the node's operator raise the user's starts_per_s.";
    /// The batch has no starts, or too many.
    BAD_BATCH = "api.bad_batch" 422
        "A batch holds no starts, or more than the node takes at once."
        "Send 1 to 256 starts in a batch, or use /v1/stream for more.";
    /// A query of the vault cannot be answered.
    BAD_QUERY = "api.bad_query" 422
        "A query of the vault names a field that does not exist, compares it with the wrong kind of value, or is larger than the node allows."
        "Correct the part that the detail names. The detail lists the existing fields.";
    /// A query of the vault took too long.
    QUERY_TIMEOUT = "api.query_timeout" 504
        "A query of the vault exceeded its time limit and was stopped."
        "Narrow the criteria, sort by fewer columns, or allow more time with timeout_ms.";
    /// A reader of events is too slow.
    SLOW_READER = "api.slow_reader" 503
        "A follower of events read them too slowly, and its bounded queue overflowed."
        "Follow again and read faster. Read missed changes of a flow at the flow's URL.";
    /// A name, media type, hash or size is invalid.
    BAD_ATTACHMENT = "api.bad_attachment" 422
        "The name, media type or hash of a file is invalid. The detail names the field."
        "Give the file's plain name without folders, a media type such as application/pdf, the SHA-256 as 64 hexadecimal digits, or leave them out.";
    /// A range is invalid.
    BAD_RANGE = "api.bad_range" 416
        "The Range header is no single range of bytes, or lies outside the file."
        "Ask for one range within the size that Content-Range names, such as bytes=0-1023, or leave the header out.";
    /// The bytes do not belong at the offset of the upload.
    UPLOAD_OFFSET = "api.upload_offset" 409
        "The bytes do not begin at the current offset of the upload. The Upload-Offset header of the answer has the current offset."
        "Continue at that offset.";
    /// Too many uploads are open.
    UPLOADS_LIMITED = "api.uploads_limited" 429
        "The user, or all users together, have reached the limit of open uploads or of open downloads."
        "Complete or delete open uploads, or try again after the time given in retry_after_ms.";
    /// No such upload.
    UNKNOWN_UPLOAD = "api.unknown_upload" 404
        "The user has no upload with this id: it was completed or deleted, or was idle for too long."
        "Begin a new upload.";
    /// A bug was contained.
    INTERNAL = "api.internal" 500
        "A bug in the node made this request fail. The node keeps running."
        "Report the bug with the log lines of that time.";
    /// The node is at capacity.
    NODE_BUSY = "node.busy" 503
        "The node is at capacity. This request started no flow. A flow that an earlier request started with the same client id keeps running."
        "Try again after the time given in retry_after_ms, with the same client id.";
    /// The node takes no more work until it is restarted.
    NODE_DRAINING = "node.draining" 503
        "The node finishes its present work and accepts no new work."
        "Start the flow on another node, or wait until this node has been restarted.";
    /// The node stopped before it could answer.
    NODE_STOPPING = "node.stopping" 503
        "The node stopped before it could answer; whether the flow was started is not known."
        "Repeat the start with the same client id once the node is up again. A repeated client id never starts a second flow.";
    /// The start was handed over, and the node did not say in time where its flow stands.
    OUTCOME_UNKNOWN = "node.outcome_unknown" 504
        "The node has taken the start and did not say in time where its flow stands: the flow may run."
        "Repeat the start with the same client id. Without a client id, look whether the flow has run before you start it again.";
    /// The node is still starting.
    NODE_STARTING = "node.starting" 503
        "The node is starting and recovers its flows."
        "Try again in a moment.";
    /// The store refuses writes.
    STORE_FAILED = "node.store_failed" 503
        "A write or sync of the node's store failed; the node refuses writes until it is restarted."
        "Read the node's log for the cause (often a full disk), remove the cause, and restart the node.";
    /// No such flow.
    UNKNOWN_FLOW = "node.unknown_flow" 404
        "No flow with this id is live, and neither the flows that ended lately nor the flow history have it."
        "Check the id. The history keeps flows for flows.history_days; the outcome of a start with a client id is kept until you delete it.";
    /// The output of an ended flow is too large for the history.
    RESULT_NOT_KEPT = "node.result_not_kept" 410
        "The flow has succeeded. Its output is larger than 4 KiB, and the flow history keeps only the size of such an output."
        "Read the flow's transactions, which the answer names. For starts whose output you need later, give a client id and repeat the start: its whole outcome is kept.";
    /// The flow's state does not fit the order.
    FLOW_STANDS_OTHERWISE = "node.flow_stands_otherwise" 409
        "The state of the flow does not allow this action: retry needs a parked or retrying flow, pause a running or retrying one, and resume a paused one."
        "Read the flow's state with GET /v1/flows/{flow_id} or 'tally flow get', and choose an action that this state allows.";
    /// No such transaction.
    UNKNOWN_TRANSACTION = "node.unknown_transaction" 404
        "The node's ledger does not hold a transaction with this id."
        "Check the id, or ask a participant of the transaction.";
    /// Too many ancestors for one answer.
    CHAIN_TOO_WIDE = "node.chain_too_wide" 422
        "The page begins after more than 20,000 transactions of the back chain. One request does not visit so many."
        "Begin with an older transaction of the chain, or read the whole ledger in pages.";
    /// The transaction has the maximum number of notes, or the note is too long.
    NOTE_REFUSED = "node.note_refused" 422
        "The transaction has the maximum number of notes, or the note is too long."
        "Remove a note that is no longer needed, or write a shorter one.";
    /// No such note.
    UNKNOWN_NOTE = "node.unknown_note" 404
        "The transaction has no note with this id."
        "List the transaction's notes; another user may have removed it.";
    /// No contract with this descriptor.
    UNKNOWN_CONTRACT = "node.unknown_contract" 422
        "No contract with this descriptor is registered in the node's binary."
        "Copy the hash from GET /v1/contracts or 'tally contract list'; start a binary with the new code first.";
    /// There is no authorisation to withdraw.
    UNKNOWN_CONSENT = "node.unknown_consent" 404
        "The upgrade is not authorised, so there is nothing to withdraw."
        "List the authorised changes: tally contract consents.";
    /// The authorisation is in the configuration.
    CONSENT_CONFIGURED = "node.consent_configured" 409
        "The upgrade is authorised in node.toml, which the API does not change."
        "Remove the entry from transitions.accept_upgrades and start the node again.";
    /// The maximum number of authorisations is reached.
    TOO_MANY_CONSENTS = "node.too_many_consents" 422
        "The maximum number of upgrades is authorised already."
        "Withdraw the consents to upgrades that are complete.";
    /// No such client id.
    UNKNOWN_CLIENT_ID = "node.unknown_client_id" 404
        "No start with this client id is known."
        "Check the id and the user whose token you send.";
    /// Not a notary.
    NOT_A_NOTARY = "node.not_a_notary" 404
        "The node is not a notary."
        "Send the request to the network's notary, which GET /v1/network and 'tally network show' name.";
    /// The vault's view is too far behind.
    VIEW_BEHIND = "node.view_behind" 504
        "The vault's view did not catch up with the committed transactions in time."
        "Try again, or wait longer with timeout_ms.";
}

/// Codes of other parts of the node that the API answers with a specific status. The pages belong to these parts.
pub mod files {
    use crate::error_info::{ErrorInfo, codes};

    codes! {
        /// No such file.
        UNKNOWN = "file.unknown" 404
            "The node has no file with this hash."
            "Check the hash; list the files that are here (tally attachment list).";
        /// Transactions refer to the file.
        REFERENCED = "file.referenced" 409
            "Recorded transactions list the file: it stays as long as they do."
            "Leave it. Only a file that no transaction refers to can be removed.";
        /// A flow is using the file.
        IN_USE = "file.in_use" 409
            "A running flow has a transaction that lists the file."
            "Remove the file when the flow has ended.";
        /// Another transfer writes to the same part.
        BUSY = "files.busy" 409
            "Another transfer is writing to the same part file."
            "Try again when the other transfer of the same file has ended.";
        /// The bytes do not match the announced hash.
        MISMATCH = "files.mismatch" 422
            "The received bytes do not have the announced hash. They were discarded."
            "Compute the SHA-256 of the file again and send the file from its start.";
        /// The bytes do not match the announced size.
        WRONG_SIZE = "files.wrong_size" 422
            "The number of received bytes differs from the announced size."
            "Send exactly as many bytes as announced, or announce no size.";
        /// The file exceeds the network's limit.
        TOO_LARGE = "tx.attachment_too_large" 413
            "A file has more bytes than the network's parameters allow."
            "Split the file, or have the network's operator raise max_attachment_bytes.";
        /// A file on disk is damaged.
        DAMAGED = "files.damaged" 500
            "The file of an attachment is missing, is not a regular file, or has another length or hash than recorded."
            "Restore the file from a backup, or remove the attachment and upload the file again; then check the disk.";
        /// The disk failed.
        FAILED = "files.failed" 503
            "The file of an attachment could not be read or written. The message contains the path and the error of the operating system."
            "Check the disk and the permissions of the folder; the transfer can be tried again.";
        /// The disk is full.
        DISK_FULL = "files.disk_full" 507
            "The disk or a quota is full, or the attachment would use the space that the node reserves for its ledger."
            "Free disk space, then try again; a transfer that has begun resumes where it stopped.";
        /// The vault's view failed.
        VIEW_FAILED = "vault.view_failed" 503
            "The vault's view cannot be read or written, so the node cannot answer queries of the vault. The ledger is not affected."
            "Free disk space or repair the disk: the node opens the view again by itself, and fills it again if it is damaged.";
    }
}

/// Returns the entry of a code, including codes of a chain node.
pub fn info(code: &str) -> Option<&'static ErrorInfo> {
    let all = ERRORS.iter().chain(crate::chain::ERRORS);
    let mut all = all.chain(files::ERRORS);
    all.find(|info| info.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_that_names_a_command_is_for_clients_too() {
        let own = ERRORS.iter().chain(crate::chain::ERRORS);
        for info in own.chain(files::ERRORS) {
            let names_command = info.action.contains("'tally ");
            let names_request = ["GET /", "POST /"].map(|word| info.action.contains(word));
            // A hint that sends the client to the operator may name the operator's command.
            let is_operators = info.action.contains("operator");
            let is_for_clients = is_operators || names_request.contains(&true);
            assert!(!names_command || is_for_clients, "{info:?}");
        }
    }

    #[test]
    fn codes_are_unique_and_complete() {
        let all = || {
            let own = ERRORS.iter().chain(crate::chain::ERRORS);
            own.chain(files::ERRORS)
        };
        let mut codes: Vec<&str> = all().map(|info| info.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all().count());
        for info in all() {
            assert!(
                info.code.contains('.') && (400..600).contains(&info.status),
                "{info:?}"
            );
            assert!(
                info.cause.ends_with('.') && !info.action.is_empty(),
                "{info:?}"
            );
        }
        assert_eq!(super::info("node.busy").map(|i| i.status), Some(503));
    }
}
