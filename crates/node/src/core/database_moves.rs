//! Moving a stopped node's data between its folder and a database server, and checking the two against each other.

use std::fs;
use std::io::Write;
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
/// The store that an export fills, within the data folder.
const UNFINISHED: &str = "ledger-export-unfinished";
/// Holds the fence of an export whose store is complete, within the data folder.
const COMPLETE: &str = "ledger-export-complete";
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
    // A call that was cut short may have renamed the folder.
    let source = match (ledger.is_dir(), moved.is_dir()) {
        (true, true) => return Err(StartError::InTheWay(moved)),
        (true, false) => &ledger,
        (false, true) => &moved,
        (false, false) => return Err(StartError::NothingToMove(ledger)),
    };
    let options = store_options(&files.config, files.custody());
    let store = LedgerStore::open(source, &options)?;
    let total = count(&store)?;
    let mut told = |done| progress(done, total);
    let keep = || match source == &ledger {
        true => fs::rename(&ledger, &moved)
            .map_err(|error| DatabaseError::System(format!("{}: {error}", ledger.display()))),
        false => Ok(()),
    };
    match pgstore::import(&settings, &store, &mut told, keep)? {
        Some(difference) => Err(StartError::Differs(difference)),
        None => Ok((total, moved)),
    }
}

/// Moves the data of a stopped node from its database server to an embedded store in its folder. No node can use the schema afterwards. Returns
/// the number of rows. The call may be repeated after it was cut short.
///
/// # Errors
/// The node has no database, the node runs, there is an embedded store already, or a row can't be read or written.
pub fn export_database(files: &NodeFiles, progress: &mut Progress<'_>) -> Result<u64, StartError> {
    let settings = required(files)?;
    let data = files.data();
    let (ledger, cache) = (files.ledger(), data.join(CACHE));
    let (unfinished, complete) = (data.join(UNFINISHED), data.join(COMPLETE));
    if ledger.exists() {
        return Err(StartError::InTheWay(ledger));
    }
    let options = store_options(&files.config, files.custody());
    // Locks the cache, so nothing else works on this folder.
    let opened = match pgstore::open(&settings, &cache, &options, Table::Meta) {
        Err(DatabaseError::Moved { fence, .. })
            if fs::read_to_string(&complete).is_ok_and(|noted| noted == fence.to_string()) =>
        {
            // The call was cut short after the schema had been closed.
            finish_export(&unfinished, &ledger, &complete, &cache)?;
            let store = LedgerStore::open(&ledger, &options)?;
            return count(&store);
        }
        opened => opened?,
    };
    remove_if_there(&complete, |path| fs::remove_file(path))?;
    remove_if_there(&unfinished, |path| fs::remove_dir_all(path))?;
    let total = count(&opened.cache)?;
    files.custody().permit_empty_store(&unfinished)?;
    let store = LedgerStore::open(&unfinished, &options)?;
    copy(&opened.cache, &store, &mut |done| progress(done, total))?;
    wait_for_fold(&opened.database)?;
    let told = &mut |done| progress(done, total);
    if let Some(difference) = pgstore::difference(&settings, &store, told)? {
        return Err(StartError::Differs(difference));
    }
    drop(store);
    let (fence, head) = (opened.behind.fence, opened.behind.last);
    write_synced(&complete, &fence.to_string())?;
    pgstore::close(&settings, fence, head)?;
    drop(opened);
    finish_export(&unfinished, &ledger, &complete, &cache)?;
    Ok(total)
}

/// Puts a complete store in its place, and removes the rest.
fn finish_export(
    unfinished: &Path,
    ledger: &Path,
    complete: &Path,
    cache: &Path,
) -> Result<(), StartError> {
    fs::rename(unfinished, ledger).map_err(folder(unfinished))?;
    remove_if_there(complete, |path| fs::remove_file(path))?;
    remove_if_there(cache, |path| fs::remove_dir_all(path))
}

/// Copies every row.
fn copy(
    from: &impl Reads<Table>,
    to: &LedgerStore,
    told: &mut dyn FnMut(u64),
) -> Result<(), StartError> {
    let (mut batch, mut bytes, mut done) = (WriteBatch::default(), 0, 0);
    let write = |batch: &mut WriteBatch<Table>| {
        let written = to.write(vec![std::mem::take(batch)]);
        written.map(drop).map_err(StartError::StoreFailed)
    };
    pgstore::for_each_row(from, &mut |table, (key, value)| {
        bytes += key.len() + value.len();
        batch.put(table, key, value);
        done += 1;
        if bytes >= COMMIT_BYTES {
            write(&mut batch)?;
            told(done);
            bytes = 0;
        }
        Ok::<(), StartError>(())
    })?;
    write(&mut batch)
}

fn write_synced(path: &Path, text: &str) -> Result<(), StartError> {
    let written = fs::File::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(folder(path))
}

fn remove_if_there(
    path: &Path,
    remove: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), StartError> {
    match remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(folder(path)(error)),
        _ => Ok(()),
    }
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
    settings(files)?.ok_or(StartError::NoDatabase)
}

/// Waits until the server's present rows include every commit.
fn wait_for_fold(database: &pgstore::Database) -> Result<(), StartError> {
    let deadline = Instant::now() + FOLD;
    loop {
        let figures = database.figures();
        if figures.folded == figures.confirmed {
            return Ok(());
        }
        if let Some(failure) = database.failure() {
            return Err(StartError::StoreFailed(failure));
        }
        if Instant::now() >= deadline {
            return Err(StartError::Database(DatabaseError::NotReady(format!(
                "its present rows end at commit {}, expected {}",
                figures.folded, figures.confirmed
            ))));
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

fn folder(path: &Path) -> impl FnOnce(std::io::Error) -> StartError + use<> {
    let path = path.to_path_buf();
    move |source| StartError::Folder { path, source }
}
