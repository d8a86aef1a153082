//! The vault queries of a caller that may not query all contracts.

use api::query::{Criterion, Datum, In, Is};
use api::{Balances, VaultQuery};

use super::permits::forbidden;
use super::refusal::Refusal;
use crate::users::Caller;

/// The field of a query that permissions are about.
const CONTRACT: &str = "contract";

impl Caller {
    /// Refuses a query that could show states of a contract that the caller may not query: a caller with
    /// `vault.query:CONTRACT` says in the query that the contract is that one.
    pub(super) fn check_query(&self, query: &VaultQuery) -> Result<(), Refusal> {
        if self.permissions.allow("vault.query", None) {
            return Ok(());
        }
        let contracts = query.criterion.as_ref().and_then(contracts);
        let Some(contracts) = contracts else {
            return Err(forbidden(
                "vault.query; name a permitted contract in 'where'",
            ));
        };
        match contracts.iter().find(|contract| !self.queries(contract)) {
            Some(contract) => {
                let shown: String = contract.chars().take(128).collect();
                Err(forbidden(&format!("vault.query:{shown}")))
            }
            None => Ok(()),
        }
    }

    /// Whether the caller may see balances of some tokens at least.
    pub(super) fn may_read_balances(&self) -> bool {
        self.permissions.allow("vault.query", None) || self.permissions.allow_some("vault.balances")
    }

    /// Leaves out the balances of tokens that the caller may not see.
    pub(super) fn strip_balances(&self, balances: &mut Balances) {
        if !self.permissions.allow("vault.query", None) {
            let held = &self.permissions;
            balances
                .balances
                .retain(|balance| held.allow("vault.balances", Some(&balance.symbol)));
        }
    }
}

/// Returns the contracts to which the criterion restricts its states: at the top, or in an `and` there.
fn contracts(criterion: &Criterion) -> Option<Vec<&str>> {
    match criterion {
        Criterion::Is(Is {
            field,
            value: Datum::Text(contract),
        }) if field == CONTRACT => Some(vec![contract]),
        Criterion::In(In { field, values }) if field == CONTRACT => values
            .iter()
            .map(|value| match value {
                Datum::Text(contract) => Some(contract.as_str()),
                Datum::Number(_) => None,
            })
            .collect(),
        Criterion::And(all) => all.iter().find_map(contracts),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::users::{Permissions, StartQuota};

    fn caller(permission: &str) -> Caller {
        let permission = permission.parse().expect("good");
        Caller {
            name: "ann".into(),
            permissions: Arc::new(Permissions::new(vec![permission])),
            quota: StartQuota::default(),
        }
    }

    #[test]
    fn a_narrow_query_says_which_contract() {
        for (permission, criterion, allowed) in [
            ("vault.query", "null", true),
            ("ALL", "null", true),
            ("vault.query:x.*", "null", false),
            (
                "vault.query:x.*",
                r#"{"is":{"field":"contract","value":"x.y"}}"#,
                true,
            ),
            (
                "vault.query:x.*",
                r#"{"is":{"field":"contract","value":"y"}}"#,
                false,
            ),
            (
                "vault.query:x.y",
                r#"{"in":{"field":"contract","values":["x.y","x.z"]}}"#,
                false,
            ),
            (
                "vault.query:x.*",
                r#"{"in":{"field":"contract","values":["x.y","x.z"]}}"#,
                true,
            ),
            (
                "vault.query:x.y",
                r#"{"and":[{"is":{"field":"symbol","value":"GBP"}},{"is":{"field":"contract","value":"x.y"}}]}"#,
                true,
            ),
            (
                "vault.query:x.y",
                r#"{"or":[{"is":{"field":"contract","value":"x.y"}},{"is":{"field":"symbol","value":"GBP"}}]}"#,
                false,
            ),
            (
                "vault.query:x.y",
                r#"{"not":{"is":{"field":"contract","value":"x.y"}}}"#,
                false,
            ),
            (
                "vault.query:x.y",
                r#"{"is":{"field":"owner","value":"x.y"}}"#,
                false,
            ),
        ] {
            let query: VaultQuery =
                serde_json::from_str(&format!(r#"{{"where":{criterion}}}"#)).expect("a query");
            let checked = caller(permission).check_query(&query);
            assert_eq!(checked.is_ok(), allowed, "{permission} {criterion}");
        }
    }

    #[test]
    fn balances_are_shown_token_by_token() {
        for (permission, seen) in [
            ("ALL", 2),
            ("vault.query", 2),
            ("vault.balances", 2),
            ("vault.balances:GBP", 1),
            ("vault.balances:X*", 0),
            ("vault.query:tally.cash", 0),
        ] {
            let balance = |symbol: &str| api::Balance {
                token: String::new(),
                symbol: symbol.to_owned(),
                issuer: String::new(),
                quantity: "1".to_owned(),
                states: 1,
                quarantined: None,
            };
            let mut balances = Balances {
                view_seq: 1,
                balances: vec![balance("GBP"), balance("USD")],
            };
            let caller = caller(permission);
            caller.strip_balances(&mut balances);
            assert_eq!(balances.balances.len(), seen, "{permission}");
            assert!(seen == 0 || caller.may_read_balances(), "{permission}");
        }
    }
}
