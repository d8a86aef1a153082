//! `tally user`: the users of a node, in its folder. A running node takes changes up within a second.

mod password;

use std::path::PathBuf;

use clap::Subcommand;
use node::users::{Permission, TokenRecord, UserRecord, UsersError, UsersFile, now_s};
use primitives::Hash;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, Table, pairs, stdout_ink};

const DAY_S: u64 = 24 * 3_600;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add a user, who may do nothing but what is granted
    Add(Add),
    /// All users
    List(Common),
    /// One user
    Show(Named),
    /// Remove a user; tokens and logins end
    Remove(Named),
    /// Set a user's password; logins end
    Passwd(Passwd),
    /// Allow a user more
    Grant(Grant),
    /// Take permissions away
    Revoke(Grant),
    /// Make a long-lived token for a user; it is shown this once
    Token(Token),
}

/// Where, and how the result is shown.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// The node's folder, as bootstrap made it
    #[arg(long, value_name = "DIR", env = "TALLY_NODE")]
    node: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// A user.
#[derive(Debug, clap::Args)]
pub struct Named {
    /// The user's name
    name: String,
    #[command(flatten)]
    common: Common,
}

/// Arguments of `tally user add`.
#[derive(Debug, clap::Args)]
pub struct Add {
    #[command(flatten)]
    named: Named,
    /// What to allow, such as flow.start:cash.* or vault.query; may be repeated
    #[arg(long = "grant", value_name = "PERMISSION")]
    permissions: Vec<Permission>,
    /// No password: the user has tokens only
    #[arg(long, conflicts_with = "password_stdin")]
    no_password: bool,
    /// Read the password from the first line of standard input instead of asking
    #[arg(long)]
    password_stdin: bool,
}

/// Arguments of `tally user passwd`.
#[derive(Debug, clap::Args)]
pub struct Passwd {
    #[command(flatten)]
    named: Named,
    /// Read the password from the first line of standard input instead of asking
    #[arg(long)]
    password_stdin: bool,
}

/// Arguments of `tally user grant` and `tally user revoke`.
#[derive(Debug, clap::Args)]
pub struct Grant {
    #[command(flatten)]
    named: Named,
    /// Such as flow.start:cash.*, vault.query or ALL
    #[arg(required = true, value_name = "PERMISSION")]
    permissions: Vec<Permission>,
}

/// Arguments of `tally user token`.
#[derive(Debug, clap::Args)]
pub struct Token {
    #[command(flatten)]
    named: Named,
    /// How long it is good
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    days: u32,
}

impl From<UsersError> for Failure {
    fn from(error: UsersError) -> Self {
        Failure::coded(&error)
    }
}

impl Named {
    /// Changes the user and shows what came of it.
    fn change(self, change: impl FnOnce(&mut UserRecord)) -> Result<(), Failure> {
        let user = UsersFile::change(&self.common.node, |file| {
            let user = file
                .user_mut(&self.name)
                .ok_or_else(|| unknown(&self.name))?;
            change(user);
            Ok::<_, Failure>(user.clone())
        })?;
        show(self.common.output, &user)
    }
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Add(arguments) => add(arguments),
            Command::List(common) => list(&common),
            Command::Show(named) => {
                let mut file = UsersFile::read(&named.common.node)?;
                let user = file.user_mut(&named.name);
                show(
                    named.common.output,
                    user.ok_or_else(|| unknown(&named.name))?,
                )
            }
            Command::Remove(named) => UsersFile::change(&named.common.node, |file| {
                let before = file.users.len();
                file.users.retain(|user| user.name != named.name);
                if file.users.len() == before {
                    return Err(unknown(&named.name));
                }
                Ok(())
            }),
            Command::Passwd(arguments) => {
                let hash = password::read(arguments.password_stdin)?;
                arguments
                    .named
                    .change(move |user| user.password = Some(hash))
            }
            Command::Grant(grant) => grant.named.change(|user| {
                user.permissions.extend(grant.permissions);
                user.permissions.sort();
                user.permissions.dedup();
            }),
            Command::Revoke(revoke) => revoke.named.change(|user| {
                user.permissions
                    .retain(|held| !revoke.permissions.contains(held));
            }),
            Command::Token(arguments) => token(arguments),
        }
    }

    pub fn wants_json(&self) -> bool {
        let common = match self {
            Command::Add(arguments) => &arguments.named.common,
            Command::List(common) => common,
            Command::Show(named) | Command::Remove(named) => &named.common,
            Command::Passwd(arguments) => &arguments.named.common,
            Command::Grant(arguments) | Command::Revoke(arguments) => &arguments.named.common,
            Command::Token(arguments) => &arguments.named.common,
        };
        common.output.json
    }
}

fn add(arguments: Add) -> Result<(), Failure> {
    let Named { name, common } = arguments.named;
    let password = if arguments.no_password {
        None
    } else {
        Some(password::read(arguments.password_stdin)?)
    };
    let user = UserRecord {
        name,
        password,
        permissions: arguments.permissions,
        enabled: true,
        tokens: Vec::new(),
    };
    UsersFile::change(&common.node, |file| {
        file.users.push(user.clone());
        Ok::<_, Failure>(())
    })?;
    show(common.output, &user)
}

fn list(common: &Common) -> Result<(), Failure> {
    let file = UsersFile::read(&common.node)?;
    let users: Vec<_> = file.users.iter().map(view).collect();
    common.output.show(&users, |_| {
        let mut table = Table::new(&["user", "enabled", "password", ">tokens", "permissions"]);
        for user in &file.users {
            table.row([
                user.name.clone(),
                user.enabled.to_string(),
                user.password.is_some().to_string(),
                user.tokens.len().to_string(),
                permissions(user),
            ]);
        }
        table.render(stdout_ink())
    })
}

fn token(arguments: Token) -> Result<(), Failure> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| password::no_randomness(&error))?;
    let token = primitives::hex::encode(&secret);
    let Named { name, common } = arguments.named;
    let now_s = now_s();
    let expires_s = now_s.saturating_add(u64::from(arguments.days) * DAY_S);
    UsersFile::change(&common.node, |file| {
        let user = file.user_mut(&name).ok_or_else(|| unknown(&name))?;
        user.tokens.retain(|token| now_s < token.expires_s);
        user.tokens.push(TokenRecord {
            sha256: node::users::Sha256Text(*Hash::plain(token.as_bytes()).as_bytes()),
            expires_s,
        });
        Ok::<_, Failure>(())
    })?;
    let shown = json!({ "token": token, "expires_ms": expires_s * 1_000 });
    common.output.show(&shown, |_| token.clone())
}

fn show(output: Output, user: &UserRecord) -> Result<(), Failure> {
    output.show(&view(user), |_| {
        pairs(&[
            ("user", user.name.clone()),
            ("enabled", user.enabled.to_string()),
            ("password", user.password.is_some().to_string()),
            ("tokens", user.tokens.len().to_string()),
            ("permissions", permissions(user)),
        ])
    })
}

fn permissions(user: &UserRecord) -> String {
    let all: Vec<String> = user.permissions.iter().map(ToString::to_string).collect();
    all.join(" ")
}

/// Without hashes.
fn view(user: &UserRecord) -> serde_json::Value {
    let ends = user.tokens.iter().map(|token| token.expires_s * 1_000);
    json!({
        "name": user.name,
        "enabled": user.enabled,
        "password": user.password.is_some(),
        "permissions": user.permissions,
        "tokens_expire_ms": ends.collect::<Vec<u64>>(),
    })
}

fn unknown(name: &str) -> Failure {
    Failure::local(
        "tally.unknown_user",
        format!("there is no user '{name}'"),
        "See 'tally user list'.",
    )
}
