//! The settings of a database, and their checks.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::DatabaseError;

/// Longest name that PostgreSQL keeps whole, in bytes.
const NAME_BYTES_MAX: usize = 63;
/// Time to connect to one address of the server.
pub(crate) const CONNECT: Duration = Duration::from_secs(3);
/// Time after which bytes that the server's machine has not acknowledged end a connection.
const UNACKNOWLEDGED: Duration = Duration::from_secs(5);

/// The place of a node's data on a server. Does not show the password.
#[derive(Clone)]
pub struct Settings {
    /// `postgres://user@host:port/database`, with parameters as libpq has them.
    pub url: String,
    /// A file that holds the password, if the URL has none.
    pub password_file: Option<PathBuf>,
    /// A file of PEM certificates. If it is given, the connection uses TLS, and the server's certificate must be signed by one of them for the
    /// name in the URL. Without it only a server on this machine is accepted.
    pub ca: Option<PathBuf>,
    /// The schema of the node's tables. It belongs to one node.
    pub schema: String,
    /// The node, as letters and digits. A schema of another node is refused.
    pub node: String,
    /// The name of this process for messages to operators.
    pub holder: String,
    /// Whether this process waits, however long, until another one loses its lease. Meanwhile it follows the commits.
    pub standby: bool,
    /// Time after which another process may take over from one that does not renew its lease.
    pub lease: Duration,
    /// Time for which a commit is tried again while the server is away or refuses it. Then the node stops.
    pub give_up: Duration,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("schema", &self.schema)
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

/// Checked settings.
#[derive(Clone)]
pub struct Target {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: Option<MakeRustlsConnect>,
    pub(crate) schema: String,
    pub(crate) node: String,
    pub(crate) holder: String,
    pub(crate) standby: bool,
    pub(crate) lease: Duration,
    pub(crate) give_up: Duration,
    /// The server's addresses and the database, without user and password.
    pub(crate) shown: String,
}

impl Target {
    /// Checks settings and reads the files that they name.
    ///
    /// # Errors
    /// A setting is invalid, a file can't be read, or the connection would cross a network in the clear.
    pub fn of(settings: &Settings) -> Result<Self, DatabaseError> {
        check_schema_name(&settings.schema).map_err(DatabaseError::Settings)?;
        assert!(
            settings.node.chars().all(|c| c.is_ascii_alphanumeric()),
            "the node's id stands in a statement"
        );
        let mut config = tokio_postgres::Config::from_str(&settings.url).map_err(|error| {
            // The error does not repeat the URL, which may hold the password.
            DatabaseError::Settings(format!("the URL of the database cannot be read: {error}"))
        })?;
        if let Some(path) = &settings.password_file {
            let text = std::fs::read_to_string(path).map_err(|error| {
                DatabaseError::Settings(format!("cannot read {}: {error}", path.display()))
            })?;
            config.password(text.trim_end_matches(['\r', '\n']));
        }
        let hosts: Vec<String> = config.get_hosts().iter().map(shown_host).collect();
        if hosts.is_empty() {
            return Err(DatabaseError::Settings(
                "the URL of the database names no host".into(),
            ));
        }
        let tls = match &settings.ca {
            Some(path) => {
                config.ssl_mode(SslMode::Require);
                Some(MakeRustlsConnect::new(client_config(path)?))
            }
            None => {
                if let Some(host) = config.get_hosts().iter().find(|host| !is_local(host)) {
                    return Err(DatabaseError::PlainRefused(shown_host(host)));
                }
                // It takes the place of the host's own address.
                let addresses = config.get_hostaddrs();
                if let Some(address) = addresses.iter().find(|address| !address.is_loopback()) {
                    return Err(DatabaseError::PlainRefused(address.to_string()));
                }
                config.ssl_mode(SslMode::Disable);
                None
            }
        };
        if hosts.len() > 1 {
            // The others are standbys.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.application_name("tally");
        config.connect_timeout(CONNECT);
        config.tcp_user_timeout(UNACKNOWLEDGED);
        config.keepalives_idle(UNACKNOWLEDGED);
        let database = config.get_dbname().or(config.get_user());
        let shown = format!("{}/{}", hosts.join(","), database.unwrap_or("postgres"));
        Ok(Self {
            config,
            tls,
            schema: settings.schema.clone(),
            node: settings.node.clone(),
            holder: settings.holder.clone(),
            standby: settings.standby,
            lease: settings.lease,
            give_up: settings.give_up,
            shown,
        })
    }

    /// Returns the server's addresses and the database, without user and password.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Returns whether a URL holds a password.
#[must_use]
pub fn url_has_password(url: &str) -> bool {
    tokio_postgres::Config::from_str(url).is_ok_and(|config| config.get_password().is_some())
}

/// Checks the name of a schema. Only lower-case letters, digits and `_` are accepted, so that SQL users seldom need quotes.
///
/// # Errors
/// Describes a name that is not accepted.
pub fn check_schema_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let is_reserved = name.starts_with("pg_") || name == "information_schema" || name == "public";
    if starts && !is_reserved && name.chars().all(plain) && name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "the schema '{name}' is not accepted: expected lower-case letters, digits and '_', at most {NAME_BYTES_MAX}, and no name of \
         PostgreSQL's own"
    ))
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || IpAddr::from_str(name).is_ok_and(|address| address.is_loopback())
        }
    }
}

fn shown_host(host: &Host) -> String {
    match host {
        Host::Unix(path) => path.display().to_string(),
        Host::Tcp(name) => name.clone(),
    }
}

fn client_config(path: &PathBuf) -> Result<ClientConfig, DatabaseError> {
    let bad = |reason: String| DatabaseError::Settings(format!("{}: {reason}", path.display()));
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| bad(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(bad("it holds no certificate".into()));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| bad(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> Settings {
        Settings {
            url: url.into(),
            password_file: None,
            ca: None,
            schema: "bank_a".into(),
            node: "a1".into(),
            holder: "test".into(),
            standby: false,
            lease: Duration::from_secs(5),
            give_up: Duration::from_secs(5),
        }
    }

    #[test]
    fn only_a_local_server_is_reached_without_tls() {
        for (url, accepted) in [
            ("postgres://bank@localhost/ledger", true),
            ("postgres://bank@127.0.0.1:5433/ledger", true),
            ("postgres://bank@%2Frun%2Fpostgresql/ledger", true),
            ("postgres://bank@db.example/ledger?sslmode=disable", false),
            ("postgres://bank@192.0.2.1/ledger", false),
            ("postgres://bank@localhost,db.example/ledger", false),
            ("postgres://bank@localhost/ledger?hostaddr=192.0.2.1", false),
            ("postgres://bank@localhost/ledger?hostaddr=127.0.0.1", true),
        ] {
            let checked = Target::of(&settings(url));
            assert_eq!(checked.is_ok(), accepted, "{url}");
        }
    }

    #[test]
    fn password_is_never_shown() {
        let mut settings = settings("postgres://bank:secret@localhost/ledger");
        assert!(!format!("{settings:?}").contains("secret"));
        assert!(!Target::of(&settings).is_ok_and(|target| target.shown.contains("secret")));
        settings.url = "postgres://bank:secret@localhost:none/ledger".into();
        let error = Target::of(&settings).map(drop).expect_err("a port");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn schema_names() {
        for (name, accepted) in [
            ("bank_a", true),
            ("_1", true),
            ("", false),
            ("1bank", false),
            ("Bank", false),
            ("bank\"; drop", false),
            ("public", false),
            ("pg_bank", false),
        ] {
            assert_eq!(check_schema_name(name).is_ok(), accepted, "{name}");
        }
        assert!(check_schema_name(&"a".repeat(64)).is_err());
    }
}
