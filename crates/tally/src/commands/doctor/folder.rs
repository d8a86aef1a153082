//! The node's folder: the access to its secrets, and the validity of its certificates.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use node::bootstrap::{NodeFiles, RENEWED_DAYS, not_after};
use node::chain::ChainFiles;
use node::users::UsersFile;
use primitives::Coded;

use super::finding::Finding;

/// Files that only the node's user may read.
const SECRETS: &[&str] = &["identity.key", "tls.key.pem", "api-token", "users.toml"];
const DAY_S: i64 = 86_400;

/// Returns one finding for each secret that other users can read, or one finding that there is none. Missing files are not
/// checked here.
pub fn permissions(folder: &Path) -> Vec<Finding> {
    const CHECK: &str = "secrets";
    let exposed = |name: &&str| {
        let path = folder.join(name);
        let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| {
            let found = format!("{} can be read by others (mode {mode:o})", path.display());
            Finding::problem(CHECK, found, format!("chmod 600 {}", path.display()))
        })
    };
    let found: Vec<Finding> = SECRETS.iter().filter_map(exposed).collect();
    let any = SECRETS.iter().any(|name| folder.join(name).exists());
    if found.is_empty() && any {
        vec![Finding::ok(CHECK, "for the node's user alone")]
    } else {
        found
    }
}

/// Checks that the list of users exists and is valid.
pub fn users(folder: &Path) -> Finding {
    const CHECK: &str = "users";
    match UsersFile::read(folder) {
        Ok(file) => Finding::ok(CHECK, format!("{} in users.toml", file.users.len())),
        Err(error) => Finding::problem(CHECK, format!("{}: {error}", error.code()), error.hint()),
    }
}

/// Checks the validity of the node's own certificate, its issuers' certificates, and the network's root.
pub fn certificates(files: &NodeFiles) -> Vec<Finding> {
    let own = own_certificates(&files.chain, BOOTSTRAP_AGAIN).into_iter();
    own.chain([lasts("root", ROOT, not_after(&files.root), now_s())])
        .collect()
}

/// Checks the validity of the certificates of a chain node's API.
pub fn chain_certificates(files: &ChainFiles) -> Vec<Finding> {
    own_certificates(&files.chain, NEW_PEM)
}

fn own_certificates(chain: &[impl AsRef<[u8]>], action: &str) -> Vec<Finding> {
    let ends = chain
        .iter()
        .map(|certificate| not_after(certificate.as_ref()));
    ends.map(|until_s| lasts("certificate", action, until_s, now_s()))
        .collect()
}

const ROOT: &str = "Ask the network's operator for a new root: no command renews it. Every node and client needs it in root.pem before the old one ends.";
const BOOTSTRAP_AGAIN: &str = "Bootstrap the same NETWORK.toml again where the network's root is kept, copy the new tls.pem and tls.key.pem into the node's folder, and restart the node.";
const NEW_PEM: &str = "Put a new certificate and its key into tls.pem and tls.key.pem, with its root in root.pem, and restart the node: no command renews a chain node's.";

fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok());
    // A clock before 1970 is a finding of its own.
    now.unwrap_or(0)
}

fn lasts(check: &'static str, action: &str, until_s: Option<i64>, now_s: i64) -> Finding {
    let Some(until_s) = until_s else {
        return Finding::warning(check, "its last day can't be read", action);
    };
    let days = (until_s - now_s).div_euclid(DAY_S);
    match days {
        ..0 => Finding::problem(check, format!("expired {} days ago", -days), action),
        0..RENEWED_DAYS => Finding::warning(check, format!("expires in {days} days"), action),
        _ => Finding::ok(check, format!("good for {days} days")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn how_long_a_certificate_lasts() {
        for (until_s, verdict, found) in [
            (Some(100 * DAY_S), Verdict::Ok, "good for 90 days"),
            (Some(39 * DAY_S), Verdict::Warning, "expires in 29 days"),
            (Some(10 * DAY_S), Verdict::Warning, "expires in 0 days"),
            (Some(8 * DAY_S), Verdict::Problem, "expired 2 days ago"),
            (None, Verdict::Warning, "its last day can't be read"),
        ] {
            let finding = lasts("certificate", "Renew it.", until_s, 10 * DAY_S);
            assert_eq!((finding.verdict, finding.found.as_str()), (verdict, found));
        }
    }

    #[test]
    fn secrets_that_are_missing_are_not_judged() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(permissions(folder.path()), []);
    }

    #[test]
    fn secrets_that_others_can_read_are_named_with_the_command_that_closes_them() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, mode) in [("identity.key", 0o600), ("api-token", 0o640)] {
            let path = folder.path().join(name);
            std::fs::write(&path, "x").expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        }
        let findings = permissions(folder.path());
        assert_eq!(findings.len(), 1);
        assert!(findings[0].action.starts_with("chmod 600 "), "{findings:?}");
        assert!(findings[0].action.ends_with("api-token"), "{findings:?}");
    }
}
