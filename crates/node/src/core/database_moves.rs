//! Moving a stopped node's data between its folder and a database server, and checking the two against each other.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernel::port::Table;
use pgstore::DatabaseError;
use primitives::storage::{Reads, WriteBatch};

use super::options::store_options;
use super::start_error::StartError;
use super::storage::{CACHE, settings};
use crate::bootstrap::NodeFiles;
use crate::ledger_store::LedgerStore;

/// The embedded store after its rows were moved to a server, within the data folder.
const MOVED: &str = "ledger-moved";
/// Marks an export that is not complete, within the data folder.
const UNFINISHED: &str = "ledger-export-unfinished";
/// Bytes of rows that are written to an embedded store in one commit.
const COMMIT_BYTES: usize = 1 << 20;
/// Time for the server's present rows to follow the commits.
const FOLD: Duration = Duration::from_secs(120);

/// A call with the number of rows done and their total, which is 0 if it is not known.
pub type Progress<'a> = dyn FnMut(u64, u64) + Send + 'a;

/// Makes the schema of a node on its database server.
///
/// # Errors
/// The node has no database, or it can't be used.
pub fn migrate_database(files: &NodeFiles) -> Result<(), StartError> {
    Ok(pgstore::migrate(&required(files)?)?)
}

/// Moves the embedded store of a stopped node to its database server. The store's folder is kept under another name, which is returned with the
/// number of rows. The call may be repeated after it was cut short.
///
/// # Errors
/// The node has no database or no embedded store, the node runs, the schema has other data, or a row can't be read or written.
pub fn import_database(
    files: &NodeFiles,
    progress: &mut Progress<'_>,
) -> Result<(u64, PathBuf), StartError> {
    let settings = required(files)?;
    let (ledger, moved) = (files.ledger(), files.data().join(MOVED));
    if !ledger.is_dir() {
        return Err(StartError::NothingToMove(ledger));
    }
    if moved.exists() {
        return Err(StartError::InTheWay(moved));
    }
    let options = store_options(&files.config, files.custody());
    let source = LedgerStore::open(&ledger, &options)?;
    let total = count(&source)?;
    // If the schema has data, the comparison shows whether it is this store's.
    pgstore::import(&settings, &source, &mut |done| progress(done, total))?;
    let opened = pgstore::open(&settings, &files.data().join(CACHE), &options, Table::Meta)?;
    let difference = pgstore::difference(&settings, &source, &mut |done| progress(done, total))?;
    drop(opened);
    drop(source);
    if let Some(difference) = difference {
        return Err(StartError::Differs(difference));
    }
    rename(&ledger, &moved)?;
    Ok((total, moved))
}

/// Moves the data of a stopped node from its database server to an embedded store in its folder. The schema is not changed. Returns the number of
/// rows. The call may be repeated after it was cut short.
///
/// # Errors
/// The node has no database, the node runs, there is an embedded store already, or a row can't be read or written.
pub fn export_database(files: &NodeFiles, progress: &mut Progress<'_>) -> Result<u64, StartError> {
    let settings = required(files)?;
    let (ledger, cache) = (files.ledger(), files.data().join(CACHE));
    let unfinished = files.data().join(UNFINISHED);
    if ledger.exists() {
        if !unfinished.exists() {
            return Err(StartError::InTheWay(ledger));
        }
        fs::remove_dir_all(&ledger).map_err(folder(&ledger))?;
    }
    let options = store_options(&files.config, files.custody());
    let opened = pgstore::open(&settings, &cache, &options, Table::Meta)?;
    let total = count(&opened.cache)?;
    fs::write(&unfinished, []).map_err(folder(&unfinished))?;
    files.custody().permit_empty_store(&ledger)?;
    let store = LedgerStore::open(&ledger, &options)?;
    let (mut batch, mut bytes, mut done) = (WriteBatch::default(), 0, 0);
    let write = |batch: &mut WriteBatch<Table>| {
        let written = store.write(vec![std::mem::take(batch)]);
        written.map(drop).map_err(StartError::StoreFailed)
    };
    pgstore::for_each_row(&opened.cache, &mut |table, (key, value)| {
        bytes += key.len() + value.len();
        batch.put(table, key, value);
        done += 1;
        if bytes >= COMMIT_BYTES {
            write(&mut batch)?;
            progress(done, total);
            bytes = 0;
        }
        Ok::<(), StartError>(())
    })?;
    write(&mut batch)?;
    wait_for_fold(&opened.database)?;
    let difference = pgstore::difference(&settings, &store, &mut |done| progress(done, total))?;
    drop(opened);
    if let Some(difference) = difference {
        return Err(StartError::Differs(difference));
    }
    drop(store);
    // While the cache is there, the node does not start without its database.
    fs::remove_file(&unfinished).map_err(folder(&unfinished))?;
    fs::remove_dir_all(&cache).map_err(folder(&cache))?;
    Ok(total)
}

/// Compares the present rows of a stopped node on its database server with the cache, after all commits were read and applied to it. Returns the number of rows.
///
/// # Errors
/// The node has no database, the node runs, or a row can't be read, fails its check, or differs.
pub fn check_database(files: &NodeFiles, progress: &mut Progress<'_>) -> Result<u64, StartError> {
    let settings = required(files)?;
    if files.ledger().is_dir() {
        return Err(StartError::EmbeddedStore(files.ledger()));
    }
    let options = store_options(&files.config, files.custody());
    let opened = pgstore::open(&settings, &files.data().join(CACHE), &options, Table::Meta)?;
    let total = count(&opened.cache)?;
    wait_for_fold(&opened.database)?;
    let told = &mut |done| progress(done, total);
    match pgstore::difference(&settings, &opened.cache, told)? {
        Some(difference) => Err(StartError::Differs(difference)),
        None => Ok(total),
    }
}

fn required(files: &NodeFiles) -> Result<pgstore::Settings, StartError> {
    let settings = settings(files)?.ok_or(StartError::NoDatabase)?;
    // A command never waits for a node that runs.
    Ok(pgstore::Settings {
        standby: false,
        ..settings
    })
}

/// Waits until the server's present rows include every commit.
fn wait_for_fold(database: &pgstore::Database) -> Result<(), StartError> {
    let deadline = Instant::now() + FOLD;
    loop {
        let figures = database.figures();
        if figures.folded == figures.confirmed {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let message = format!(
                "the present rows end at commit {}, expected {}",
                figures.folded, figures.confirmed
            );
            return Err(StartError::Differs(message));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn count(reads: &impl Reads<Table>) -> Result<u64, StartError> {
    let mut rows = 0;
    pgstore::for_each_row(reads, &mut |_, _| {
        rows += 1;
        Ok::<(), DatabaseError>(())
    })?;
    Ok(rows)
}

fn rename(from: &Path, to: &Path) -> Result<(), StartError> {
    fs::rename(from, to).map_err(folder(from))
}

fn folder(path: &Path) -> impl FnOnce(std::io::Error) -> StartError + use<> {
    let path = path.to_path_buf();
    move |source| StartError::Folder { path, source }
}
