//! The place of the ledger's rows: the embedded store in the node's folder, or a database server with the embedded store as its cache.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel::NotaryService;
use kernel::port::Table;
use ledger::{NetworkMap, NodeInfo};
use notarydb::{RecordError, SharedRecord};
use pgstore::{Database, DatabaseError, Settings};
use store::CommitterOptions;

use super::options::store_options;
use super::start_error::StartError;
use crate::bootstrap::NodeFiles;
use crate::bootstrap::files::read_secret;
use crate::config::NodeConfig;
use crate::ledger_store::{LedgerCommitter, LedgerStore};

/// The folder of the cache of a database, within the data folder.
pub(super) const CACHE: &str = "database-cache";
/// Bytes of the organisation's name in the name of a schema.
const SCHEMA_NAME_BYTES_MAX: usize = 40;
/// Hexadecimal digits of the party's id in the name of a schema.
const SCHEMA_ID_DIGITS: usize = 8;

/// An open store with its committer.
pub(super) struct Storage {
    /// The database server, unless the store is embedded. Dropped first: then no commit waits long for a server that is away.
    pub(super) database: Option<Database>,
    pub(super) committer: LedgerCommitter,
    pub(super) store: LedgerStore,
}

impl Storage {
    /// Opens the store of a node. Takes the lease of the schema if it is on a database server. If `standby`, waits for it however long.
    ///
    /// # Errors
    /// The store can't be opened, or the server can't be used.
    pub(super) fn open(files: &NodeFiles, standby: bool) -> Result<Self, StartError> {
        let committer_options = CommitterOptions {
            linger_us: files.config.store.linger_us,
            ..CommitterOptions::default()
        };
        let options = store_options(&files.config, files.custody());
        let no_thread =
            |error| StartError::System(format!("cannot start the commit thread: {error}"));
        let Some(settings) = settings(files)? else {
            let cache = files.data().join(CACHE);
            if cache.is_dir() && !files.ledger().is_dir() {
                return Err(StartError::DatabaseLeft(cache));
            }
            if standby {
                return Err(StartError::NoDatabase);
            }
            // Makes the data folder too, unless it refuses the store.
            let store = LedgerStore::open(&files.ledger(), &options)?;
            let committer = LedgerCommitter::start(store.clone(), committer_options);
            return Ok(Self {
                committer: committer.map_err(no_thread)?,
                store,
                database: None,
            });
        };
        if files.ledger().is_dir() {
            return Err(StartError::EmbeddedStore(files.ledger()));
        }
        let cache = files.data().join(CACHE);
        tracing::info!(schema = settings.schema, "the data is on a database server");
        let settings = Settings {
            standby,
            ..settings
        };
        let opened = pgstore::open(&settings, &cache, &options, Table::Meta)?;
        let committer =
            LedgerCommitter::start_behind(opened.cache.clone(), committer_options, opened.behind);
        Ok(Self {
            store: opened.cache,
            committer: committer.map_err(no_thread)?,
            database: Some(opened.database),
        })
    }
}

/// Connects to the record that the workers of a replicated notary share, if the node is one of them.
///
/// # Errors
/// The record can't be used.
pub(super) async fn notary_record(
    dir: &Path,
    config: &NodeConfig,
    service: Option<&NotaryService>,
    info: &NodeInfo,
    network: &NetworkMap,
) -> Result<Option<SharedRecord>, StartError> {
    let Some(service) = service else {
        return Ok(None);
    };
    let settings = notary_settings(dir, config, service, info, network, true)?;
    // It waits for the servers.
    let opened = tokio::task::spawn_blocking(move || notarydb::open(&settings)).await;
    let opened =
        opened.map_err(|error| StartError::System(format!("the notary's database: {error}")))?;
    Ok(Some(opened?))
}

/// Returns the settings of the record that a worker shares. With `is_successor`, a record that lacks the data of an older notary is refused.
pub(super) fn notary_settings(
    dir: &Path,
    config: &NodeConfig,
    service: &NotaryService,
    info: &NodeInfo,
    network: &NetworkMap,
    is_successor: bool,
) -> Result<notarydb::Settings, StartError> {
    let section = &config.notary_database;
    let within = |path: &PathBuf| (!path.as_os_str().is_empty()).then(|| dir.join(path));
    let password_file = within(&section.password_file);
    if let Some(path) = &password_file {
        // Checks that no other user may read it.
        read_secret(path).map_err(|error| {
            let text = format!("notary_database.password_file: {error}");
            StartError::NotaryRecord(RecordError::Settings(text))
        })?;
    }
    let workers = network.services().get(&service.party.id());
    let place = workers.and_then(|all| all.iter().position(|one| *one == info.party.id()));
    Ok(notarydb::Settings {
        url: section.url.clone(),
        password_file,
        ca: within(&section.ca),
        service: service.party.clone(),
        place: place.unwrap_or_default(),
        is_successor: is_successor && network.node(&service.party.id()).is_some(),
        give_up: Duration::from_secs(section.give_up_s),
    })
}

/// Refuses a command that works on the embedded store, if the data is on a database server.
pub(super) fn refuse_database(files: &NodeFiles) -> Result<(), StartError> {
    match files.config.database.url.is_empty() {
        true => Ok(()),
        false => Err(StartError::NotEmbedded),
    }
}

/// Returns the settings of the database, if the node has one.
pub(super) fn settings(files: &NodeFiles) -> Result<Option<Settings>, StartError> {
    let section = &files.config.database;
    if section.url.is_empty() {
        return Ok(None);
    }
    let within = |path: &PathBuf| (!path.as_os_str().is_empty()).then(|| files.dir.join(path));
    let password_file = within(&section.password_file);
    if let Some(path) = &password_file {
        // Checks that no other user may read it.
        read_secret(path).map_err(|error| {
            StartError::Database(DatabaseError::Settings(format!(
                "database.password_file: {error}"
            )))
        })?;
    }
    let party = files.info.party.id().to_string();
    let schema = match section.schema.is_empty() {
        true => default_schema(files.info.party.name.organisation(), &party),
        false => section.schema.clone(),
    };
    Ok(Some(Settings {
        url: section.url.clone(),
        password_file,
        ca: within(&section.ca),
        schema,
        node: party,
        holder: format!("process {} on {}", std::process::id(), host_name()),
        // A command never waits for a node that runs. See [`Storage::open`].
        standby: false,
        lease: Duration::from_secs(section.lease_s),
        give_up: Duration::from_secs(section.give_up_s),
    }))
}

/// Returns the schema of a node that configures none: `bank_a_0a1b2c3d`.
fn default_schema(organisation: &str, party: &str) -> String {
    let mut name = String::new();
    for c in organisation.chars() {
        match c.is_ascii_alphanumeric() {
            true => name.push(c.to_ascii_lowercase()),
            false if name.ends_with('_') => {}
            false => name.push('_'),
        }
    }
    // Only ASCII so far.
    name.truncate(SCHEMA_NAME_BYTES_MAX);
    let name = name.trim_matches('_');
    let digits = &party[..SCHEMA_ID_DIGITS.min(party.len())];
    match name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.starts_with("pg_") {
        true => format!("{name}_{digits}"),
        false => format!("node_{name}_{digits}"),
    }
}

/// Returns the machine's name, for messages.
fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_schemas_are_accepted_names() {
        for (organisation, expected) in [
            ("Bank A", "bank_a_0a1b2c3d"),
            ("Bank & Sons, Ltd.", "bank_sons_ltd_0a1b2c3d"),
            ("1st Bank", "node_1st_bank_0a1b2c3d"),
            ("銀行", "node__0a1b2c3d"),
            ("pg_bank", "node_pg_bank_0a1b2c3d"),
        ] {
            let schema = default_schema(organisation, "0a1b2c3d4e5f");
            assert_eq!(schema, expected);
            pgstore::check_schema_name(&schema).expect("accepted");
        }
        let long = default_schema(&"a".repeat(200), "0a1b2c3d4e5f");
        pgstore::check_schema_name(&long).expect("accepted");
    }
}
