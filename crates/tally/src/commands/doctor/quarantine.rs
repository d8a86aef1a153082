//! States in quarantine, as a running node reports them.

use api::{Balances, Health, HealthWarning};

use super::finding::Finding;
use crate::output::grouped;

/// The code of the node's warning.
pub const CODE: &str = "vault.quarantined";

/// Returns whether states are in quarantine.
pub fn is_any(health: &Health) -> bool {
    warning(health).is_some()
}

fn warning(health: &Health) -> Option<&HealthWarning> {
    health.warnings.iter().find(|warning| warning.code == CODE)
}

/// Returns a finding with the sums in quarantine. `balances` are missing if the vault's view does not answer.
pub fn check(health: &Health, balances: Option<&Balances>) -> Finding {
    const CHECK: &str = "quarantine";
    let Some(warning) = warning(health) else {
        return Finding::ok(CHECK, "no state is in quarantine");
    };
    let sums = balances.map(|balances| balances.balances.iter());
    let sums = sums.into_iter().flatten().filter_map(|balance| {
        let quantity = balance.quarantined.as_ref()?;
        let (symbol, issuer) = (&balance.symbol, &balance.issuer);
        Some(format!(
            "{} minor units of {symbol} of {issuer}",
            grouped(quantity)
        ))
    });
    let sums: Vec<String> = sums.collect();
    let mut found = format!("{} ({CODE})", warning.message);
    if !sums.is_empty() {
        found = format!("{found}: {}", sums.join("; "));
    }
    Finding::problem(CHECK, found, warning.hint.clone())
}

#[cfg(test)]
mod tests {
    use api::{Balance, NodeState};

    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn quarantined_sums_are_named() {
        let mut health = Health {
            live: true,
            ready: true,
            state: NodeState::Ready,
            ledger_seq: 1,
            view_seq: 1,
            view_lag: 0,
            message: None,
            code: None,
            warnings: Vec::new(),
        };
        let finding = check(&health, None);
        assert_eq!(finding.verdict, Verdict::Ok);
        health.warnings = vec![HealthWarning {
            code: CODE.to_owned(),
            message: "2 states are in quarantine".to_owned(),
            hint: "Ask the notary.".to_owned(),
        }];
        let balance = |symbol: &str, quarantined: Option<&str>| Balance {
            token: String::new(),
            symbol: symbol.to_owned(),
            issuer: "Bank A".to_owned(),
            quantity: "5".to_owned(),
            states: 1,
            quarantined: quarantined.map(str::to_owned),
        };
        let balances = Balances {
            view_seq: 1,
            balances: vec![balance("EUR", None), balance("GBP", Some("1000"))],
        };
        for (balances, sums) in [
            (None, ""),
            (Some(&balances), ": 1,000 minor units of GBP of Bank A"),
        ] {
            let finding = check(&health, balances);
            assert_eq!(finding.verdict, Verdict::Problem);
            let found = format!("2 states are in quarantine (vault.quarantined){sums}");
            assert_eq!(finding.found, found);
            assert_eq!(finding.action, "Ask the notary.");
        }
    }
}
