//! The database of a replicated notary: a Galera cluster or a PostgreSQL server, with the record that the workers share.

use std::path::Path;

use pgserver::{ClusterOptions, GaleraCluster, PgServer, ServerOptions, USER};

use super::config_file::ConfigFile;
use super::database::write_password;
use super::database_process::DatabaseProcess;
use super::network_error::{NetworkError, system};
use crate::measure::DiskUse;
pub use crate::plan::NotaryBackend;

/// In the folder of a worker: the password of the database.
const PASSWORD_FILE: &str = "notary-database-password";
/// References of states are random, so a batch touches as many pages as it has states. The record of the larger scenarios does not fit into the
/// server's own 128 MB of buffers. With its own redo log of 96 MB, it writes a page of 16 KB to the disk for every few states.
const SIZES: [&str; 2] = ["--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G"];
/// In a snapshot: the data of one server.
const SNAPSHOT: &str = "notary-database";

/// The database of the workers. Dropping it stops its servers and removes their data.
#[derive(Debug)]
pub(super) enum NotaryDatabase {
    Galera(GaleraCluster),
    Postgres(PgServer),
}

impl NotaryDatabase {
    /// Starts the servers, with durable settings.
    pub(super) fn start(backend: NotaryBackend) -> Result<Self, NetworkError> {
        Ok(match backend {
            NotaryBackend::Galera => {
                let options = ClusterOptions {
                    arguments: SIZES.map(str::to_owned).to_vec(),
                    ..ClusterOptions::default()
                };
                Self::Galera(GaleraCluster::start(&options)?)
            }
            NotaryBackend::Postgres => Self::Postgres(PgServer::start(&ServerOptions::default())?),
        })
    }

    /// Configures a worker to use it.
    pub(super) fn configure(
        &self,
        folder: &Path,
        config: &mut ConfigFile,
    ) -> Result<(), NetworkError> {
        write_password(folder, PASSWORD_FILE)?;
        let url = match self {
            Self::Galera(cluster) => cluster.url(),
            Self::Postgres(server) => {
                format!("postgres://{USER}@127.0.0.1:{}/{USER}", server.port())
            }
        };
        let mut section = toml::Table::new();
        section.insert("url".into(), url.into());
        section.insert("password_file".into(), PASSWORD_FILE.into());
        config.add_section("notary_database", section)
    }

    /// Returns the cluster, for tests that disturb it.
    pub(super) fn cluster(&mut self) -> Option<&mut GaleraCluster> {
        match self {
            Self::Galera(cluster) => Some(cluster),
            Self::Postgres(_) => None,
        }
    }

    /// Returns the PostgreSQL server, for tests that disturb it.
    pub(super) fn server(&mut self) -> Option<&mut PgServer> {
        match self {
            Self::Galera(_) => None,
            Self::Postgres(server) => Some(server),
        }
    }

    /// Removes the record. All workers are stopped.
    pub(super) fn clear(&self) -> Result<(), NetworkError> {
        match self {
            Self::Galera(cluster) => {
                cluster.query(0, &format!("drop database {USER}; create database {USER}"))?
            }
            Self::Postgres(server) => server.query(&format!("drop owned by {USER} cascade"))?,
        };
        Ok(())
    }

    /// Copies the data. All workers are stopped.
    pub(super) fn save(&mut self, into: &Path) -> Result<(), NetworkError> {
        let to = into.join(SNAPSHOT);
        match self {
            Self::Galera(cluster) => cluster.save(&to)?,
            Self::Postgres(server) => server.save(&to)?,
        }
        Ok(())
    }

    /// Replaces the data by a copy. All workers are stopped.
    pub(super) fn restore(&mut self, from: &Path) -> Result<(), NetworkError> {
        let from = from.join(SNAPSHOT);
        match self {
            Self::Galera(cluster) => cluster.restore(&from)?,
            Self::Postgres(server) => server.restore(&from)?,
        }
        Ok(())
    }

    /// Returns the bytes on the disks of all servers.
    pub(super) fn disk_use(&self) -> Result<DiskUse, NetworkError> {
        let folders = match self {
            Self::Galera(cluster) => (0..cluster.servers())
                .map(|one| cluster.data(one))
                .collect(),
            Self::Postgres(server) => vec![server.data()],
        };
        let mut sum = DiskUse::default();
        for folder in folders {
            let part = DiskUse::of(&folder)
                .map_err(|source| system(&folder.display().to_string(), source))?;
            sum.live_bytes += part.live_bytes;
            sum.allocated_bytes += part.allocated_bytes;
        }
        Ok(sum)
    }

    /// Returns the servers as processes to watch.
    pub(super) fn processes(&self) -> Vec<DatabaseProcess> {
        let name = "notary-database".to_owned();
        match self {
            Self::Galera(cluster) => {
                let servers = 0..cluster.servers();
                let server = |at| DatabaseProcess {
                    name: format!("{name}-{}", at + 1),
                    pid: cluster.process(at),
                    folder: cluster.data(at),
                    log: None,
                };
                servers.map(server).collect()
            }
            Self::Postgres(server) => vec![DatabaseProcess::postgres(name, server)],
        }
    }

    /// Leaves the servers running.
    pub(super) fn leave_running(self) {
        match self {
            Self::Galera(cluster) => cluster.leave_running(),
            Self::Postgres(server) => drop(server.leave_running()),
        }
    }
}
