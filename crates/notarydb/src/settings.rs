//! The settings of a shared record, and their checks.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ledger::Party;

use crate::error::RecordError;

/// The port of MariaDB if a URL names none.
const MARIA_PORT: u16 = 3306;

/// The place of a shared record. Does not show the password.
#[derive(Clone)]
pub struct Settings {
    /// `mysql://user@host:port,host:port,.../database` for a MariaDB cluster, or `postgres://user@host:port/database` as libpq has it.
    pub url: String,
    /// A file that holds the password.
    pub password_file: Option<PathBuf>,
    /// A file of PEM certificates. If it is given, connections use TLS, and each server's certificate must be signed by one of them for
    /// its name in the URL. Without it only servers on this machine are accepted.
    pub ca: Option<PathBuf>,
    /// The notary whose record it is. A record of another notary is refused.
    pub service: Party,
    /// The place of this worker among those of the notary. Each begins with another server of the cluster.
    pub place: usize,
    /// Whether the workers take the place of a notary of its own. They then need its data: see [`crate::SharedRecord::finish_move`].
    pub is_successor: bool,
    /// Time for a batch, repetitions included. Then its requesters are asked to come again. A worker needs at most
    /// [`notary::GIVE_UP_MS_MAX`], or other workers refuse for good what it may still enter.
    pub give_up: Duration,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("service", &self.service.name)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// Reads the password, if there is a file of it.
    pub(crate) fn password(&self) -> Result<Option<String>, RecordError> {
        let Some(path) = &self.password_file else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            RecordError::Settings(format!("cannot read {}: {error}", path.display()))
        })?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }
}

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// MariaDB, as a Galera cluster.
    Maria,
    /// PostgreSQL, with synchronous standbys.
    Postgres,
}

impl Engine {
    /// Returns the kind of database that a URL names, or `None` for any other.
    #[must_use]
    pub fn of(url: &str) -> Option<Self> {
        match url.split_once("://")?.0 {
            "mysql" | "mariadb" => Some(Self::Maria),
            "postgres" | "postgresql" => Some(Self::Postgres),
            _ => None,
        }
    }
}

/// Checks the URL of a shared record as far as that needs no connection. `has_ca` tells whether connections use TLS.
///
/// # Errors
/// Names the fault, without the URL itself: it may hold a password.
pub fn check_url(url: &str, has_ca: bool) -> Result<(), String> {
    match Engine::of(url) {
        Some(Engine::Maria) => {
            let parsed = MariaUrl::parse(url)?;
            if parsed.has_password {
                return Err("a URL with a password is not accepted".into());
            }
            let far = parsed.hosts.iter().find(|(host, _)| !is_local(host));
            match far {
                Some((host, _)) if !has_ca => Err(format!(
                    "the server {host} is on another machine, so 'ca' is required"
                )),
                _ => Ok(()),
            }
        }
        Some(Engine::Postgres) if pgstore::url_has_password(url) => {
            Err("a URL with a password is not accepted".into())
        }
        Some(Engine::Postgres) => Ok(()),
        None => Err("expected mysql://... or postgres://...".into()),
    }
}

/// A URL of a MariaDB cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MariaUrl {
    pub(crate) user: String,
    pub(crate) hosts: Vec<(String, u16)>,
    pub(crate) database: String,
    has_password: bool,
}

impl MariaUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        const FORM: &str = "expected mysql://user@host:port,host:port/database";
        let rest = url.split_once("://").ok_or(FORM)?.1;
        let (user, rest) = rest.rsplit_once('@').ok_or(FORM)?;
        let (hosts, database) = rest.split_once('/').ok_or(FORM)?;
        let user_name = user.split_once(':').map_or(user, |(name, _)| name);
        let is_word = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            !text.is_empty() && text.chars().all(plain)
        };
        if !is_word(user_name) || !is_word(database) {
            return Err(FORM.into());
        }
        let mut found = Vec::new();
        for host in hosts.split(',') {
            let (name, port) = match host.rsplit_once(':') {
                Some((name, port)) if !name.ends_with(':') && !port.ends_with(']') => {
                    let port = port.parse::<u16>().map_err(|_| FORM)?;
                    (name, port)
                }
                _ => (host, MARIA_PORT),
            };
            let name = name.trim_start_matches('[').trim_end_matches(']');
            if name.is_empty() || port == 0 {
                return Err(FORM.into());
            }
            found.push((name.to_owned(), port));
        }
        Ok(Self {
            user: user_name.to_owned(),
            hosts: found,
            database: database.to_owned(),
            has_password: user.contains(':'),
        })
    }
}

/// Returns whether a host is this machine.
pub(crate) fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for (url, has_ca, accepted) in [
            (
                "mysql://notary@127.0.0.1:4001,127.0.0.1:4002/ledger",
                false,
                true,
            ),
            ("mariadb://notary@localhost/ledger", false, true),
            ("mysql://notary@[::1]:4001/ledger", false, true),
            ("mysql://notary@db1,db2:3307,db3/ledger", true, true),
            ("mysql://notary@db1,localhost/ledger", false, false),
            ("mysql://notary:secret@localhost/ledger", false, false),
            ("mysql://localhost/ledger", false, false),
            ("mysql://notary@localhost", false, false),
            ("mysql://notary@localhost:0/ledger", false, false),
            ("mysql://notary@localhost:x/ledger", false, false),
            ("mysql://notary@localhost,/ledger", false, false),
            ("mysql://notary@localhost/led`ger", false, false),
            ("postgres://notary@localhost/ledger", false, true),
            ("postgres://notary:secret@localhost/ledger", false, false),
            ("sqlite://ledger", false, false),
            ("ledger", false, false),
        ] {
            let checked = check_url(url, has_ca);
            assert_eq!(checked.is_ok(), accepted, "{url}: {checked:?}");
            assert!(!checked.is_err_and(|error| error.contains("secret")));
        }
        let parsed = MariaUrl::parse("mysql://n@db1,[::1]:3307/ledger").expect("a URL");
        assert_eq!(
            parsed.hosts,
            [("db1".to_owned(), 3306), ("::1".to_owned(), 3307)]
        );
    }
}
