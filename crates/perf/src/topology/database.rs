//! The PostgreSQL server of a network whose nodes keep their data there: one server, and a schema for each node.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use pgserver::{PASSWORD, PgServer, ServerError, ServerOptions, USER};

use super::config_file::ConfigFile;
use super::database_process::DatabaseProcess;
use super::link::{Behind, LinkSpeed, LinkSpeeds, Links};
use super::network_error::{NetworkError, system};
use crate::measure::DiskUse;

/// In a node's folder: the password of the database.
const PASSWORD_FILE: &str = "database-password";
/// In a snapshot: the server's data.
const SNAPSHOT: &str = "database";

/// A server for the nodes of a network. Dropping it stops it and removes its data.
#[derive(Debug)]
pub(super) struct NetworkDatabase {
    server: PgServer,
    /// The proxy in front of the server, if there is one.
    link: Option<Links>,
}

impl NetworkDatabase {
    /// Starts a server with PostgreSQL's own settings, durable ones.
    pub(super) fn start(link: bool) -> Result<Self, NetworkError> {
        let server = PgServer::start(&ServerOptions::default())?;
        let behind = Behind {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, server.port())),
            // The delay is the same for all nodes, so the server need not be recognised.
            pid: Arc::default(),
        };
        let link = match link {
            true => Some(Links::start(vec![behind]).map_err(|source| system("a proxy", source))?),
            false => None,
        };
        Ok(Self { server, link })
    }

    /// Sets the time of a round trip through the proxy.
    pub(super) fn set_latency(&self, latency_ms: f64) {
        if let Some(link) = &self.link {
            link.set(LinkSpeeds {
                all: LinkSpeed::new(latency_ms / 2.0, None),
                ..LinkSpeeds::default()
            });
        }
    }

    /// Returns the port at which nodes reach the server.
    fn port(&self) -> u16 {
        let proxy = self.link.as_ref().and_then(|link| link.addresses().first());
        proxy.map_or(self.server.port(), SocketAddr::port)
    }

    /// Configures a node to keep its data in its schema of this server.
    pub(super) fn configure(
        &self,
        folder: &Path,
        config: &mut ConfigFile,
    ) -> Result<(), NetworkError> {
        write_password(folder, PASSWORD_FILE)?;
        let mut section = toml::Table::new();
        let url = format!("postgres://{USER}@127.0.0.1:{}/{USER}", self.port());
        section.insert("url".into(), url.into());
        section.insert("password_file".into(), PASSWORD_FILE.into());
        section.insert("schema".into(), schema(folder).into());
        config.add_section("database", section)
    }

    /// Removes the data of a stopped node.
    pub(super) fn forget(&self, folder: &Path) -> Result<(), NetworkError> {
        let drop_schema = format!("drop schema if exists {} cascade", schema(folder));
        self.server.query(&drop_schema)?;
        Ok(())
    }

    /// Copies the server's data. All nodes are stopped.
    pub(super) fn save(&mut self, into: &Path) -> Result<(), NetworkError> {
        self.server.save(&into.join(SNAPSHOT))?;
        Ok(())
    }

    /// Replaces the server's data by a copy. All nodes are stopped.
    pub(super) fn restore(&mut self, from: &Path) -> Result<(), NetworkError> {
        self.server.restore(&from.join(SNAPSHOT))?;
        Ok(())
    }

    /// Returns the server, for tests that disturb it.
    pub(super) fn server(&mut self) -> &mut PgServer {
        &mut self.server
    }

    /// Returns the first value of a query.
    pub(super) fn query(&self, sql: &str) -> Result<String, ServerError> {
        self.server.query(sql)
    }

    /// Returns the bytes on disk.
    pub(super) fn disk_use(&self) -> Result<DiskUse, NetworkError> {
        let folder = self.server.data();
        DiskUse::of(&folder).map_err(|source| system(&folder.display().to_string(), source))
    }

    /// Returns the server as a process to watch.
    pub(super) fn process(&self) -> DatabaseProcess {
        DatabaseProcess::postgres("database".to_owned(), &self.server)
    }

    /// Leaves the server running.
    pub(super) fn leave_running(self) {
        self.server.leave_running();
    }
}

/// Writes the password of a database into a node's folder.
pub(super) fn write_password(folder: &Path, name: &str) -> Result<(), NetworkError> {
    let path = folder.join(name);
    let failed = |source| system(&path.display().to_string(), source);
    fs::write(&path, PASSWORD).map_err(failed)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)
}

/// Returns the schema of a node: its folder's name, as SQL writes names.
fn schema(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.replace('-', "_")
}
