//! `tally user`: the users of a node, in its folder or over its API. A running node picks up changes of the folder within a
//! second.

mod book;
mod password;

use std::path::PathBuf;

use api::{NewUser, UserChange, UserView};
use clap::Subcommand;
use node::users::{Permission, TOKEN_DAYS_MAX};
use serde::Serialize;

use self::book::Book;
use crate::failure::Failure;
use crate::output::{Output, Table, pairs, stdout_ink, yes_or_no};
use crate::target::Target;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write an empty list of users into a node's folder without one, for example after users.toml was deleted
    Init(Common),
    /// Add a user without permissions, except for those granted
    Add(Add),
    /// List all users
    List(Common),
    /// Show one user
    Show(Named),
    /// Remove a user; its tokens and logins end
    Remove(Named),
    /// Set a user's password; logins end
    Passwd(Passwd),
    /// Grant permissions to a user
    Grant(Grant),
    /// Revoke permissions of a user
    Revoke(Grant),
    /// Limit the flows that a user may start per second, and the size of a start
    Limit(Limit),
    /// Disable a user without deleting it
    Disable(Named),
    /// Enable a disabled user
    Enable(Named),
    /// Make a long-lived token for a user; it is shown only once
    Token(Token),
    /// Revoke all long-lived tokens of a user; over the API also the logins
    RevokeTokens(Named),
}

/// The node, and the output format.
#[derive(Debug, clap::Args)]
pub struct Common {
    #[command(flatten)]
    target: Target,
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
    /// A permission to grant, such as flow.start:cash.* or vault.query; may be repeated
    #[arg(long = "grant", value_name = "PERMISSION")]
    permissions: Vec<Permission>,
    /// Flows that the user may start per second; 0 means unlimited, and the default is the node's setting
    #[arg(long, value_name = "N")]
    starts_per_s: Option<u32>,
    /// Maximum size of a start in bytes; 0 means unlimited, and the default is the node's setting
    #[arg(long, value_name = "BYTES")]
    start_bytes_max: Option<u32>,
    /// No password: the user has tokens only
    #[arg(long, conflicts_with = "password_stdin")]
    no_password: bool,
    /// Read the password from the first line of standard input instead of asking
    #[arg(long)]
    password_stdin: bool,
}

/// Arguments of `tally user limit`.
#[derive(Debug, clap::Args)]
#[group(id = "bounds", required = true, multiple = true, args = ["default", "starts_per_s", "start_bytes_max"])]
pub struct Limit {
    #[command(flatten)]
    named: Named,
    /// Reset to the node's settings, except for the options given
    #[arg(long)]
    default: bool,
    /// Flows per second; 0 means unlimited
    #[arg(long, value_name = "N")]
    starts_per_s: Option<u32>,
    /// Maximum size of a start in bytes; 0 means unlimited
    #[arg(long, value_name = "BYTES")]
    start_bytes_max: Option<u32>,
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
    /// A permission, such as flow.start:cash.*, vault.query or ALL
    #[arg(required = true, value_name = "PERMISSION")]
    permissions: Vec<Permission>,
}

/// Arguments of `tally user token`.
#[derive(Debug, clap::Args)]
pub struct Token {
    #[command(flatten)]
    named: Named,
    /// Validity in days
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=i64::from(TOKEN_DAYS_MAX)))]
    days: u32,
}

impl Named {
    fn book(&self) -> Result<Book<'_>, Failure> {
        Book::of(&self.common.target)
    }

    /// Changes the user and shows the result.
    fn change(self, change: UserChange) -> Result<(), Failure> {
        let user = self.book()?.change(&self.name, change)?;
        show(self.common.output, &user)
    }

    fn enabled(self, enabled: bool) -> Result<(), Failure> {
        self.change(UserChange {
            enabled: Some(enabled),
            ..UserChange::default()
        })
    }

    /// Changes the list of permissions.
    fn permissions(self, change: impl FnOnce(&mut Vec<String>)) -> Result<(), Failure> {
        let user = self.book()?.permit(&self.name, change)?;
        show(self.common.output, &user)
    }
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Init(common) => init(&common),
            Command::Add(arguments) => add(arguments),
            Command::List(common) => list(&common),
            Command::Show(named) => {
                let user = named.book()?.show(&named.name)?;
                show(named.common.output, &user)
            }
            Command::Remove(named) => {
                named.book()?.remove(&named.name)?;
                let removed = Removed {
                    removed: &named.name,
                };
                named.common.output.show(&removed, |removed| {
                    format!("user {} is removed", removed.removed)
                })
            }
            Command::Passwd(arguments) => {
                let password = password::read(arguments.password_stdin)?;
                arguments.named.change(UserChange {
                    password: Some(password),
                    ..UserChange::default()
                })
            }
            Command::Grant(grant) => grant.named.permissions(|held| {
                held.extend(grant.permissions.iter().map(ToString::to_string));
                held.sort();
                held.dedup();
            }),
            Command::Revoke(grant) => revoke(grant),
            Command::Limit(limit) => limit.named.change(UserChange {
                reset_bounds: limit.default.then_some(true),
                starts_per_s: limit.starts_per_s,
                start_bytes_max: limit.start_bytes_max,
                ..UserChange::default()
            }),
            Command::Disable(named) => named.enabled(false),
            Command::Enable(named) => named.enabled(true),
            Command::Token(arguments) => token(&arguments),
            Command::RevokeTokens(named) => {
                let user = named.book()?.revoke_tokens(&named.name)?;
                show(named.common.output, &user)
            }
        }
    }

    pub fn wants_json(&self) -> bool {
        let common = match self {
            Command::Add(arguments) => &arguments.named.common,
            Command::Init(common) | Command::List(common) => common,
            Command::Show(named)
            | Command::Remove(named)
            | Command::Disable(named)
            | Command::Enable(named)
            | Command::RevokeTokens(named) => &named.common,
            Command::Limit(arguments) => &arguments.named.common,
            Command::Passwd(arguments) => &arguments.named.common,
            Command::Grant(arguments) | Command::Revoke(arguments) => &arguments.named.common,
            Command::Token(arguments) => &arguments.named.common,
        };
        common.output.json
    }
}

fn add(arguments: Add) -> Result<(), Failure> {
    let Named { name, common } = arguments.named;
    let book = Book::of(&common.target)?;
    // Before the password is typed twice.
    book.check_new_name(&name)?;
    let password = if arguments.no_password {
        None
    } else {
        Some(password::read(arguments.password_stdin)?)
    };
    let permissions = arguments.permissions.iter().map(ToString::to_string);
    let user = book.add(NewUser {
        name,
        password,
        permissions: permissions.collect(),
        starts_per_s: arguments.starts_per_s,
        start_bytes_max: arguments.start_bytes_max,
    })?;
    show(common.output, &user)
}

/// A new list of users.
#[derive(Debug, Serialize)]
struct Initialised {
    users: PathBuf,
}

/// A removed user.
#[derive(Debug, Serialize)]
struct Removed<'a> {
    removed: &'a str,
}

fn init(common: &Common) -> Result<(), Failure> {
    let users = Book::of(&common.target)?.init()?;
    common.output.show(&Initialised { users }, |made| {
        format!("wrote {}: an empty list of users", made.users.display())
    })
}

/// Revokes permissions, and says which of them the user did not hold.
fn revoke(arguments: Grant) -> Result<(), Failure> {
    let name = arguments.named.name.clone();
    let revoked = arguments.permissions.iter().map(ToString::to_string);
    let revoked: Vec<String> = revoked.collect();
    let mut absent = Vec::new();
    arguments.named.permissions(|held| {
        absent = without(held, &revoked);
    })?;
    if !absent.is_empty() {
        eprintln!("{name} did not hold {}", absent.join(", "));
    }
    Ok(())
}

/// Removes permissions from those held. Returns the ones that were not held.
fn without(held: &mut Vec<String>, revoked: &[String]) -> Vec<String> {
    let absent = revoked.iter().filter(|one| !held.contains(one));
    let absent = absent.cloned().collect();
    held.retain(|permission| !revoked.contains(permission));
    absent
}

fn list(common: &Common) -> Result<(), Failure> {
    let users = Book::of(&common.target)?.list()?;
    common.output.show(&users, |_| {
        let mut table = Table::new(&["user", "enabled", "password", ">tokens", "permissions"]);
        for user in &users {
            table.row([
                user.name.clone(),
                yes_or_no(user.enabled),
                yes_or_no(user.password),
                user.tokens_expire_ms.len().to_string(),
                user.permissions.join(" "),
            ]);
        }
        table.render(stdout_ink())
    })
}

fn token(arguments: &Token) -> Result<(), Failure> {
    let named = &arguments.named;
    let given = named.book()?.add_token(&named.name, arguments.days)?;
    named
        .common
        .output
        .show(&given, |_| given.token.expose().to_owned())
}

fn bound(bound: Option<u32>) -> String {
    match bound {
        None => "as the node's settings say".to_owned(),
        Some(0) => "no bound".to_owned(),
        Some(bound) => bound.to_string(),
    }
}

fn show(output: Output, user: &UserView) -> Result<(), Failure> {
    output.show(user, |_| {
        pairs(&[
            ("user", user.name.clone()),
            ("enabled", yes_or_no(user.enabled)),
            ("password", yes_or_no(user.password)),
            ("tokens", user.tokens_expire_ms.len().to_string()),
            ("starts a second", bound(user.starts_per_s)),
            ("bytes of a start", bound(user.start_bytes_max)),
            ("permissions", user.permissions.join(" ")),
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_that_are_not_held_are_named() {
        let texts = |list: &[&str]| {
            list.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        for (revoked, left, absent) in [
            (&["vault.query"][..], &["node.read"][..], &[] as &[&str]),
            (
                &["flow.read"],
                &["node.read", "vault.query"],
                &["flow.read"],
            ),
            (
                &["flow.read", "node.read"],
                &["vault.query"],
                &["flow.read"],
            ),
        ] {
            let mut held = texts(&["node.read", "vault.query"]);
            assert_eq!(without(&mut held, &texts(revoked)), texts(absent));
            assert_eq!(held, texts(left));
        }
    }
}
