//! The token in a node's folder, which commands use.

use std::io::ErrorKind;
use std::path::Path;

use node::users::{UsersFile, now_s};
use primitives::Hash;

use super::finding::Finding;

/// The token's file in a node's folder.
const FILE: &str = "api-token";

/// Checks that the folder has a token and that the node accepts it: its hash is in the configuration, or in the list of users.
/// `config` is the name of the configuration file.
pub fn check<'a>(
    folder: &Path,
    config: &str,
    hashes: impl IntoIterator<Item = &'a str>,
    users: Option<&UsersFile>,
) -> Finding {
    const CHECK: &str = "API token";
    let path = folder.join(FILE);
    let action = format!(
        "Restore {FILE} from a backup. Or write a new secret to it (mode 600) and the secret's SHA-256 to api.tokens in {config}, and restart the node."
    );
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let why = match error.kind() {
                ErrorKind::NotFound => "it is missing".to_owned(),
                _ => error.to_string(),
            };
            let found = format!("{}: {why}; commands with --node need it", path.display());
            // The node itself starts without this file, and operators may keep it elsewhere.
            return match error.kind() {
                ErrorKind::NotFound => Finding::warning(CHECK, found, action),
                _ => Finding::problem(CHECK, found, action),
            };
        }
    };
    let hash = Hash::plain(text.trim().as_bytes()).to_string();
    let mut hashes = hashes.into_iter();
    let is_configured = hashes.any(|known| known.eq_ignore_ascii_case(&hash));
    let is_valid = |user: &node::users::UserRecord| {
        let mut tokens = user.tokens.iter();
        let now_s = now_s();
        tokens.any(|token| String::from(token.sha256) == hash && token.expires_s > now_s)
    };
    if is_configured || users.is_some_and(|users| users.users.iter().any(is_valid)) {
        return Finding::ok(CHECK, "the node's files list it");
    }
    let found = format!(
        "{}: the node's files do not list this token, so the node refuses it",
        path.display()
    );
    Finding::problem(CHECK, found, action)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn a_token_is_there_and_known() {
        let hash = Hash::plain(b"secret").to_string();
        for (text, known, verdict, found) in [
            (None, &hash, Verdict::Warning, "it is missing"),
            (Some("secret\n"), &hash, Verdict::Ok, "list it"),
            (Some("other"), &hash, Verdict::Problem, "refuses it"),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            if let Some(text) = text {
                std::fs::write(folder.path().join(FILE), text).expect("written");
            }
            let finding = check(folder.path(), "node.toml", [known.as_str()], None);
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
            assert!(finding.found.contains(found), "{}", finding.found);
        }
    }
}
