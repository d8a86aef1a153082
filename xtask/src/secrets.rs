//! The check of secrets: a field whose name says that it holds one has a type that no output shows.
//!
//! It goes by names and sees neither parameters nor local values.

use anyhow::{Context, Result, bail};

use crate::fields::{Field, fields};
use crate::metadata::{self, Package};
use crate::tree;

/// Last words of the names of secrets.
const NAMES: &[&str] = &[
    "credential",
    "credentials",
    "entropy",
    "passphrase",
    "passphrases",
    "passwd",
    "password",
    "passwords",
    "phrase",
    "phrases",
    "pkcs8",
    "secret",
    "secrets",
    "seed",
    "seeds",
    "token",
    "tokens",
];

/// Last two words of the names of secrets.
const PAIRS: &[(&str, &str)] = &[
    ("key", "pair"),
    ("private", "key"),
    ("secret", "key"),
    ("signing", "key"),
    ("tls", "key"),
];

/// Types whose `Debug` shows no secret.
const SECRET_TYPES: &[&str] = &[
    "CustodyKey",
    "KeyPair",
    "PasswordHash",
    "PrivateKeyDer",
    "Secret",
    "SecretText",
    "Seed",
];

/// Words of types that say nothing of the content.
const WRAPPERS: &[&str] = &[
    "Arc",
    "BTreeMap",
    "Box",
    "HashMap",
    "Option",
    "Range",
    "Vec",
    "a",
    "api",
    "crate",
    "primitives",
    "pub",
    "static",
    "super",
    "t",
];

/// Types that are no secret under any name, with the reason.
const OPEN_TYPES: &[(&[&str], &str)] = &[
    (
        &["bool", "f64", "i64", "u128", "u32", "u64", "usize"],
        "counts, and seeds of simulators and load generators, which their reports show on purpose",
    ),
    (
        &[
            "IssuedToken",
            "StockToken",
            "TokenArgs",
            "TokenFacts",
            "TokenId",
        ],
        "a kind of money or stock",
    ),
    (
        &["Token"],
        "a number of a start, a kind of money, a word of a source file, or the agents' token, which hides itself",
    ),
    (
        &["ApiToken", "TokenEntry", "TokenRecord", "Tokens"],
        "a user's name and the hash of a token",
    ),
    (&["SocketAddr"], "addresses of a network's first nodes"),
];

/// Fields that are no secret in spite of their names, with the reason. An entry that no field needs is refused.
const OPEN_FIELDS: &[(&[&str], &str)] = &[
    (
        &[
            "Balance.token",
            "CashParts.token",
            "Feed.tokens",
            "Fungible.token",
            "Orders.by_token",
            "StateFilter.token",
            "StockParts.token",
            "VaultState.token",
            "VaultView.tokens",
        ],
        "kinds of money or stock: their ids, their encodings, or an index by them",
    ),
    (
        &["Clients.by_token", "Clients.tokens", "Waiters.tokens"],
        "numbers of starts, or an index by them",
    ),
    (&["Accounts.by_token"], "an index by the hashes of tokens"),
    (
        &["ChainStartError.token", "StartError.token"],
        "the name of the user whose token has a bad hash",
    ),
    (
        &["Command.passwd", "Command.revoke_tokens"],
        "commands, whose own arguments are judged",
    ),
    (&["Secret.secret"], "the secret type itself"),
];

/// Runs the check.
pub fn run() -> Result<()> {
    let packages = metadata::packages()?;
    let ours = packages.iter().filter(|package| package.source.is_none());
    let mut found = Vec::new();
    let mut used = Vec::new();
    let mut judged = 0;
    for Package { manifest, .. } in ours {
        let folder = manifest
            .parent()
            .context("a manifest's path has no folder")?;
        for (path, text) in tree::sources(&folder.join("src"))? {
            let shown = path.strip_prefix(metadata::root())?;
            for field in fields(&text).iter().filter(|field| is_secret(&field.name)) {
                judged += 1;
                match judge(field) {
                    Verdict::Hidden => {}
                    Verdict::Listed(entry) => used.push(entry),
                    Verdict::Shown => found.push(format!("{}:{}", shown.display(), fault(field))),
                }
            }
        }
    }
    let listed = OPEN_FIELDS.iter().flat_map(|(names, _)| names.iter());
    let stale = listed.filter(|name| !used.contains(*name));
    found.extend(
        stale.map(|name| {
            format!("xtask/src/secrets.rs: no field needs the entry {name}; remove it")
        }),
    );
    if !found.is_empty() {
        bail!("{}", found.join("\n"));
    }
    println!("secrets: {judged} fields with the names of secrets, none is shown");
    Ok(())
}

/// The verdict on a field with the name of a secret.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Its type hides it, or is never a secret.
    Hidden,
    /// This entry of [`OPEN_FIELDS`] declares that it is not a secret.
    Listed(&'static str),
    /// `Debug` would show it.
    Shown,
}

fn judge(field: &Field) -> Verdict {
    let open = |word: &str| OPEN_TYPES.iter().any(|(types, _)| types.contains(&word));
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut content = field
        .words
        .iter()
        .map(String::as_str)
        .filter(|word| !WRAPPERS.contains(word) && !number(word))
        .peekable();
    if content.peek().is_some() && content.all(|word| SECRET_TYPES.contains(&word) || open(word)) {
        return Verdict::Hidden;
    }
    let name = format!("{}.{}", field.owner, field.name);
    let mut listed = OPEN_FIELDS.iter().flat_map(|(names, _)| names.iter());
    match listed.find(|entry| **entry == name) {
        Some(entry) => Verdict::Listed(entry),
        None => Verdict::Shown,
    }
}

fn fault(field: &Field) -> String {
    format!(
        "{}: {}.{} has the name of a secret; give it a secret type (primitives::Secret, api::SecretText), or list it in xtask/src/secrets.rs with the reason",
        field.line, field.owner, field.name
    )
}

/// Whether a name says that its value is a secret.
fn is_secret(name: &str) -> bool {
    let mut words = name.rsplit('_');
    let last = words.next().unwrap_or_default();
    let before = words.next().unwrap_or_default();
    NAMES.contains(&last) || PAIRS.contains(&(before, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = fields(text)
            .iter()
            .filter(|field| is_secret(&field.name) && judge(field) == Verdict::Shown)
            .map(|field| format!("{}.{}", field.owner, field.name))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn finds_planted_secrets() {
        check(
            "struct Login { user: String, password: String }",
            &["Login.password"],
        );
        check(
            "pub struct Options { pub key_seed: [u8; 32] }",
            &["Options.key_seed"],
        );
        check(
            "struct Plan { passphrases: Vec<String> }",
            &["Plan.passphrases"],
        );
        check(
            "struct Tls { private_key: Vec<u8>, tls_key: Vec<u8> }",
            &["Tls.private_key", "Tls.tls_key"],
        );
        check(
            "struct Args { #[arg(long)] passphrase: Option<String> }",
            &["Args.passphrase"],
        );
        check(
            "enum Way { Token(String), Login { user: String, password: &'static str } }",
            &["Way.token", "Way.password"],
        );
        check("struct ApiToken(String);", &["ApiToken.api_token"]);
        check(
            "struct Both { secret: (SecretText, String) }",
            &["Both.secret"],
        );
    }

    #[test]
    fn accepts_secret_types() {
        check(
            "struct A { password: Option<SecretText>, seed: primitives::Seed, token: api::SecretText }",
            &[],
        );
        check(
            "struct B { tls_key: PrivateKeyDer<'static>, key_pair: KeyPair, secret: Option<PasswordHash> }",
            &[],
        );
    }

    #[test]
    fn accepts_other_names_and_open_types() {
        check(
            "struct A { token_file: PathBuf, passphrase_stdin: bool, tokens_expire_ms: Vec<u64> }",
            &[],
        );
        check(
            "struct B { seed: u64, token: IssuedToken, tokens: Vec<TokenRecord> }",
            &[],
        );
    }

    #[test]
    fn fault_names_the_place_and_the_remedy() {
        let found = fields("struct A {\n    password: String,\n}");
        let text = fault(&found[0]);
        assert!(
            text.starts_with("2: A.password") && text.contains("SecretText"),
            "{text}"
        );
    }
}
