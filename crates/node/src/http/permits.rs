//! The check of permissions, and the owner of a flow.

use std::sync::Arc;

use api::codes::FORBIDDEN;
use api::operations::{Operation, Permission};
use flow::FlowId;
use primitives::Hash;

use super::refusal::Refusal;
use crate::users::{Caller, Permissions};

/// The bytes of a flow's id that identify its user.
const MARK_BYTES: usize = 6;

/// Refuses a call that the caller's permissions do not allow. An operation without a row is refused to all callers but those
/// that may do everything.
pub(super) fn check(caller: &Caller, operation: Option<&Operation>) -> Result<(), Refusal> {
    let held = &caller.permissions;
    let (allowed, missing) = match operation.map(|operation| operation.permission) {
        None => (**held == Permissions::all(), "ALL"),
        Some(Permission::Anyone | Permission::Token) => (true, ""),
        Some(Permission::Whole(action)) => (held.allow(action, None), action),
        // The request may name an object, which is not read from a user without any. Granting the whole action would allow all.
        Some(Permission::Some(action)) if held.allow_some(action) => (true, action),
        Some(Permission::Some(action)) => {
            return Err(forbidden(&format!("{action}:NAME for any NAME")));
        }
        Some(Permission::Balances) => (caller.may_read_balances(), "vault.balances"),
        // Users may also look at the flows that they may start. The owner of the flow is compared later.
        Some(Permission::Own("flow.read")) => (may_read(held), "flow.read"),
        Some(Permission::Own(action)) => (held.allow(action, None), action),
    };
    if allowed {
        Ok(())
    } else {
        Err(forbidden(missing))
    }
}

fn may_read(held: &Permissions) -> bool {
    let actions = ["flow.read", "flow.read.all"];
    actions.iter().any(|action| held.allow(action, None)) || held.allow_some("flow.start")
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

    /// Refuses a flow of another user, unless the caller may see all flows.
    pub(super) fn check_own(&self, flow: &FlowId) -> Result<(), Refusal> {
        if self.sees(flow) {
            return Ok(());
        }
        Err(forbidden("flow.read.all"))
    }

    /// Whether a flow may be shown to the caller.
    pub(super) fn sees(&self, flow: &FlowId) -> bool {
        is_of(flow, &self.name) || self.sees_all()
    }

    /// Whether the flows of all users may be shown to the caller.
    pub(super) fn sees_all(&self) -> bool {
        self.permissions.allow("flow.read.all", None)
    }

    /// Whether states of a contract may be shown to the caller.
    pub(super) fn queries(&self, contract: &str) -> bool {
        self.permissions.allow("vault.query", Some(contract))
    }
}

/// Marks a fresh id as a user's. The owner of a flow is then known from its id, and nothing has to be stored.
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
    use api::operations::operations;

    use super::*;
    use crate::users::StartQuota;

    #[test]
    fn a_user_who_may_start_a_flow_may_read_it() {
        for (held, allowed) in [
            ("flow.start:cash.pay", true),
            ("flow.read", true),
            ("flow.read.all", true),
            ("flow.cancel", false),
            ("vault.balances", false),
        ] {
            let permissions = Permissions::new(vec![held.parse().expect(held)]);
            assert_eq!(may_read(&permissions), allowed, "{held}");
        }
    }

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
        for operation in operations() {
            let refused = check(&caller(""), Some(operation));
            let Some(action) = operation.permission.name() else {
                assert_eq!(refused, Ok(()));
                continue;
            };
            let refusal = refused.expect_err(operation.id);
            assert_eq!(
                (refusal.code.as_ref(), refusal.status()),
                ("api.forbidden", 403)
            );
            let expected = match operation.permission {
                Permission::Some(_) => format!(" {action}:NAME for any NAME"),
                _ => format!(" {action}"),
            };
            assert!(refusal.message.ends_with(&expected), "{}", refusal.message);
            for held in [action, "ALL"] {
                let allowed = check(&caller(held), Some(operation));
                assert_eq!(allowed, Ok(()), "{}", operation.id);
            }
        }
        assert!(check(&caller("flow.*"), None).is_err());
        assert_eq!(check(&caller("ALL"), None), Ok(()));
    }
}
