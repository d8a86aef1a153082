//! Which permission each route needs, and whose a flow is.

use std::sync::Arc;

use api::codes::FORBIDDEN;
use api::paths;
use axum::http::Method;
use flow::FlowId;
use primitives::Hash;

use super::refusal::Refusal;
use crate::users::{Caller, Permissions};

/// What a route asks of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A good token, and nothing else.
    Token,
    /// This permission.
    Whole(&'static str),
    /// This permission for something at least; the route looks at what it is about.
    Some(&'static str),
    /// All queries of the vault, or balances of some tokens at least.
    Balances,
    /// This permission; without `flow.read.all` for one's own flows only.
    Own(&'static str),
}

/// All routes that want a token. A route that is not here is refused to all but those who may do everything.
#[rustfmt::skip]
pub(super) const NEEDS: &[(Method, &str, Need)] = &[
    (Method::POST, paths::FLOWS, Need::Some("flow.start")),
    (Method::GET, paths::FLOWS, Need::Own("flow.read")),
    (Method::POST, paths::FLOW_BATCH, Need::Some("flow.start")),
    (Method::GET, paths::FLOW, Need::Own("flow.read")),
    (Method::POST, paths::FLOW, Need::Some("flow.start")),
    (Method::GET, paths::FLOW_EVENTS, Need::Own("flow.read")),
    (Method::POST, paths::FLOW_CANCEL, Need::Own("flow.cancel")),
    (Method::POST, paths::FLOW_RETRY, Need::Own("flow.retry")),
    (Method::POST, paths::FLOW_PAUSE, Need::Own("flow.pause")),
    (Method::POST, paths::FLOW_RESUME, Need::Own("flow.pause")),
    (Method::GET, paths::FLOW_JOURNAL, Need::Own("flow.journal")),
    (Method::POST, paths::FLOWS_RETRY, Need::Whole("flow.retry")),
    (Method::POST, paths::FLOWS_PAUSE, Need::Whole("flow.pause")),
    (Method::POST, paths::FLOWS_RESUME, Need::Whole("flow.pause")),
    (Method::POST, paths::FLOWS_KILL, Need::Whole("flow.cancel")),
    (Method::DELETE, paths::CLIENT, Need::Some("flow.start")),
    (Method::POST, paths::STREAM, Need::Some("flow.start")),
    (Method::GET, paths::BALANCES, Need::Balances),
    (Method::GET, paths::STATES, Need::Some("vault.query")),
    (Method::POST, paths::VAULT_QUERY, Need::Some("vault.query")),
    (Method::GET, paths::VAULT_EVENTS, Need::Some("vault.query")),
    (Method::GET, paths::TRANSACTION, Need::Whole("tx.read")),
    (Method::GET, paths::TRANSACTION_BYTES, Need::Whole("tx.read")),
    (Method::GET, paths::TRANSACTION_CHAIN, Need::Whole("tx.read")),
    (Method::GET, paths::NOTES, Need::Whole("tx.read")),
    (Method::POST, paths::NOTES, Need::Whole("tx.note")),
    (Method::DELETE, paths::NOTE, Need::Whole("tx.note")),
    (Method::GET, paths::SCHEDULE, Need::Whole("flow.read.all")),
    (Method::GET, paths::LEDGER, Need::Whole("ledger.read")),
    (Method::GET, paths::CONSUMED, Need::Whole("notary.read")),
    (Method::GET, paths::NOTARY_REQUESTS, Need::Whole("notary.requests")),
    (Method::GET, paths::EQUIVOCATIONS, Need::Whole("ledger.read")),
    (Method::POST, paths::ATTACHMENTS, Need::Some("attachments.upload")),
    (Method::GET, paths::ATTACHMENTS, Need::Whole("attachments.read")),
    (Method::GET, paths::ATTACHMENT, Need::Whole("attachments.read")),
    (Method::PATCH, paths::ATTACHMENT, Need::Whole("attachments.manage")),
    (Method::DELETE, paths::ATTACHMENT, Need::Whole("attachments.manage")),
    (Method::GET, paths::ATTACHMENT_CONTENT, Need::Whole("attachments.read")),
    (Method::POST, paths::UPLOADS, Need::Some("attachments.upload")),
    (Method::GET, paths::UPLOAD, Need::Some("attachments.upload")),
    (Method::PATCH, paths::UPLOAD, Need::Some("attachments.upload")),
    (Method::DELETE, paths::UPLOAD, Need::Some("attachments.upload")),
    (Method::POST, paths::UPLOAD_COMPLETE, Need::Some("attachments.upload")),
    (Method::GET, paths::USERS, Need::Whole("admin.users")),
    (Method::POST, paths::USERS, Need::Whole("admin.users")),
    (Method::GET, paths::USER, Need::Whole("admin.users")),
    (Method::PATCH, paths::USER, Need::Whole("admin.users")),
    (Method::DELETE, paths::USER, Need::Whole("admin.users")),
    (Method::POST, paths::USER_TOKENS, Need::Whole("admin.users")),
    (Method::DELETE, paths::USER_TOKENS, Need::Whole("admin.users")),
    (Method::GET, paths::CONTRACTS, Need::Whole("node.read")),
    (Method::GET, paths::CONSENTS, Need::Whole("node.read")),
    (Method::PATCH, paths::CONSENTS, Need::Whole("admin.consents")),
    (Method::POST, paths::UPGRADES, Need::Whole("admin.consents")),
    (Method::DELETE, paths::UPGRADE, Need::Whole("admin.consents")),
    (Method::GET, paths::NODE, Need::Whole("node.read")),
    (Method::GET, paths::PEERS, Need::Whole("node.read")),
    (Method::GET, paths::NETWORK, Need::Whole("network.read")),
    (Method::POST, paths::DRAIN, Need::Whole("admin.drain")),
    (
        Method::POST,
        paths::CLOCK_CONFIRM,
        Need::Whole("admin.clock"),
    ),
    (Method::GET, paths::RECOVERY, Need::Whole("node.read")),
    (Method::POST, paths::RECOVERY, Need::Whole("admin.recover")),
    (Method::POST, paths::RECOVERY_FINISH, Need::Whole("admin.recover")),
    (Method::GET, paths::METRICS, Need::Whole("metrics.read")),
    (Method::GET, paths::OPENAPI, Need::Token),
    (Method::POST, paths::LOGOUT, Need::Token),
];

/// The bytes of a flow's id that say whose it is.
const MARK_BYTES: usize = 6;

/// Refuses a call that the caller's permissions do not allow.
pub(super) fn check(caller: &Caller, method: &Method, path: &str) -> Result<(), Refusal> {
    let method = if *method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let found = NEEDS.iter().find(|(m, p, _)| m == method && *p == path);
    let held = &caller.permissions;
    let (allowed, missing) = match found.map(|(_, _, need)| *need) {
        None => (**held == Permissions::all(), "ALL"),
        Some(Need::Token) => (true, ""),
        Some(Need::Whole(action)) => (held.allow(action, None), action),
        Some(Need::Some(action)) => (held.allow_some(action), action),
        Some(Need::Balances) => (caller.may_read_balances(), "vault.balances"),
        Some(Need::Own("flow.read")) => (may_read(held), "flow.read"),
        Some(Need::Own(action)) => (held.allow(action, None), action),
    };
    if allowed {
        Ok(())
    } else {
        Err(forbidden(missing))
    }
}

fn may_read(held: &Permissions) -> bool {
    held.allow("flow.read", None) || held.allow("flow.read.all", None)
}

pub(super) fn forbidden(missing: &str) -> Refusal {
    let text = format!("the user lacks the permission {missing}");
    Refusal::listed(&FORBIDDEN, text)
}

impl Caller {
    /// Refuses a start that is not allowed.
    pub(super) fn check_start(&self, flow: &str) -> Result<(), Refusal> {
        if self.permissions.allow("flow.start", Some(flow)) {
            return Ok(());
        }
        let shown: String = flow.chars().take(128).collect();
        Err(forbidden(&format!("flow.start:{shown}")))
    }

    /// Refuses the upload of a file that the user may not bring; one that is not said to be anything is any bytes.
    pub(super) fn check_upload(&self, media_type: Option<&str>) -> Result<(), Refusal> {
        let media_type = media_type.unwrap_or("application/octet-stream");
        if self
            .permissions
            .allow("attachments.upload", Some(media_type))
        {
            return Ok(());
        }
        Err(forbidden(&format!("attachments.upload:{media_type}")))
    }

    /// Refuses a flow of somebody else, unless the caller may see all.
    pub(super) fn check_own(&self, flow: &FlowId) -> Result<(), Refusal> {
        if self.sees(flow) {
            return Ok(());
        }
        Err(forbidden("flow.read.all"))
    }

    /// Whether a flow may be shown to the caller.
    pub(super) fn sees(&self, flow: &FlowId) -> bool {
        is_of(flow, &self.name) || self.permissions.allow("flow.read.all", None)
    }

    /// Whether states of a contract may be shown to the caller.
    pub(super) fn queries(&self, contract: &str) -> bool {
        self.permissions.allow("vault.query", Some(contract))
    }
}

/// Marks a fresh id as a user's, so that it is known for ever whose the flow is and nothing has to be stored.
pub(super) fn marked(mut flow: FlowId, user: &Arc<str>) -> FlowId {
    let mark = mark(&flow, user);
    flow.0[16 - MARK_BYTES..].copy_from_slice(&mark);
    flow
}

fn is_of(flow: &FlowId, user: &Arc<str>) -> bool {
    flow.0[16 - MARK_BYTES..] == mark(flow, user)
}

fn mark(flow: &FlowId, user: &Arc<str>) -> [u8; MARK_BYTES] {
    let kept = &flow.0[..16 - MARK_BYTES];
    let hash = Hash::plain(&[b"tally flow of ", kept, user.as_bytes()].concat());
    let mut mark = [0; MARK_BYTES];
    mark.copy_from_slice(&hash.as_bytes()[..MARK_BYTES]);
    mark
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::StartQuota;

    #[test]
    fn a_flow_is_its_starter_s() {
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let flow = marked(FlowId([7; 16]), &ann);
        assert!(is_of(&flow, &ann) && !is_of(&flow, &bob));
        assert!(!is_of(&FlowId([7; 16]), &ann));
    }

    #[test]
    fn each_route_is_refused_to_those_without_its_permission() {
        let caller = |text: &str| Caller {
            name: "ann".into(),
            permissions: Arc::new(Permissions::new(
                text.split_whitespace()
                    .map(|text| text.parse().expect(text))
                    .collect(),
            )),
            quota: StartQuota::default(),
        };
        for (method, path, need) in NEEDS {
            let refused = check(&caller(""), method, path);
            let action = match need {
                Need::Token => {
                    assert_eq!(refused, Ok(()));
                    continue;
                }
                Need::Balances => "vault.balances",
                Need::Whole(action) | Need::Some(action) | Need::Own(action) => *action,
            };
            let refusal = refused.expect_err(path);
            assert_eq!(
                (refusal.code.as_ref(), refusal.status()),
                ("api.forbidden", 403)
            );
            assert!(refusal.message.ends_with(action), "{}", refusal.message);
            assert_eq!(check(&caller(action), method, path), Ok(()), "{path}");
            assert_eq!(check(&caller("ALL"), method, path), Ok(()), "{path}");
        }
        assert!(check(&caller("flow.*"), &Method::GET, "/v1/new").is_err());
        assert_eq!(check(&caller("ALL"), &Method::GET, "/v1/new"), Ok(()));
    }
}
