//! The store of a node that does not run: checked, or replaced by a snapshot.

use std::path::{Path, PathBuf};

use chain::Height;
use chain::core::Core;
use chain::port::Table;
use chain::state::{Depth, Examined, examine, read, state_hash, verify_store};
use primitives::Hash;
use store::{Damage, Embedded};

use super::files::{ChainFiles, load_chain_dir};
use super::start::core_of;
use super::start_check::mend;
use super::start_error::ChainStartError;
use super::store::{STORE, open_store};
use crate::chain::clock::ChainClock;

/// The findings of a check.
#[derive(Clone, Debug)]
pub struct ChainChecked {
    /// The store's folder.
    pub path: PathBuf,
    /// Files and records read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Damaged files, a bounded number of them; the chain is looked at only if there are none.
    pub damage: Vec<Damage>,
    /// All damages, also those not named.
    pub damaged: u64,
    /// The findings about the chain's rows, before any repair.
    pub chain: Examined,
    /// The repairs that were made.
    pub did: Vec<String>,
    /// The tip.
    pub tip: Option<(Height, Hash)>,
    /// The hash of the state there.
    pub state_hash: Option<Hash>,
}

/// Checks the store of a stopped node. It compares every byte with its checksum. Then it checks that all rows are consistent
/// (blocks, indexes, undo rows, balances, leases), opens the chain and computes the state's hash. With `repair`, damaged rows are
/// repaired where possible. Without it, nothing is changed.
///
/// # Errors
/// The folder makes no node, the store is in use, or its balances or leases are not consistent though all blocks are whole.
pub fn check_store(dir: &Path, repair: bool) -> Result<ChainChecked, ChainStartError> {
    let files = load_chain_dir(dir)?;
    let data = files.data();
    let path = data.join(STORE);
    let checked = Embedded::<Table>::verify_with(&path, Some(&files.custody()))?;
    let mut found = ChainChecked {
        path,
        files: checked.files,
        bytes: checked.bytes,
        damaged: checked.damaged,
        damage: checked.damage,
        chain: Examined::default(),
        did: Vec::new(),
        tip: None,
        state_hash: None,
    };
    if found.damaged == 0 {
        look_at_chain(&files, &data, repair, &mut found)?;
    }
    Ok(found)
}

fn look_at_chain(
    files: &ChainFiles,
    data: &Path,
    repair: bool,
    found: &mut ChainChecked,
) -> Result<(), ChainStartError> {
    let failed = ChainStartError::StoreFailed;
    let store = open_store(data, files)?;
    found.chain = examine(store.clone(), &files.genesis, Depth::ALL).map_err(failed)?;
    if !found.chain.is_sound() {
        if !repair || found.chain.mending.is_none() {
            return Ok(());
        }
        found.did = mend(&store, &found.chain)?;
    }
    let now = ChainClock::new(files.genesis.time_ms).time();
    // The rows that opening would write are not committed.
    drop::<Core<_>>(core_of(files, store.clone(), now)?);
    // A new store has no rows to compare.
    if read::tip(&store).is_err() {
        return Ok(());
    }
    // Its blocks have been looked at.
    verify_store(&store, &files.genesis, 0).map_err(failed)?;
    if let Some(state) = state_hash(&store, &files.genesis).map_err(failed)? {
        found.tip = Some((state.height, state.block));
        found.state_hash = Some(state.state);
    }
    Ok(())
}

/// Replaces the store of a stopped node by a snapshot. Keeps the former store next to it, and returns its path.
///
/// # Errors
/// The snapshot is damaged or is no chain's, or the disk fails. The store is as it was then.
pub fn restore_store(dir: &Path, snapshot: &Path) -> Result<Option<PathBuf>, ChainStartError> {
    let files = load_chain_dir(dir)?;
    let data = files.data();
    let folder = |path: &Path| {
        let path = path.to_owned();
        move |source| ChainStartError::Folder { path, source }
    };
    let checked = Embedded::<Table>::verify(snapshot)?;
    if let Some(damage) = checked.damage.first() {
        let text = format!("{}: {}", damage.path.display(), damage.reason);
        return Err(ChainStartError::StoreFailed(chain::port::damaged(text)));
    }
    std::fs::create_dir_all(&data).map_err(folder(&data))?;
    let (path, new) = (data.join(STORE), data.join(format!("{STORE}.new")));
    if path.exists() {
        // Refused while a node has it open. The store that is replaced may be damaged, also in the file that names its format.
        match Embedded::<Table>::verify(&path) {
            Ok(_) | Err(store::OpenError::UnknownFormat { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if new.exists() {
        std::fs::remove_dir_all(&new).map_err(folder(&new))?;
    }
    copy(snapshot, &new).map_err(folder(&new))?;
    let kept = path.exists().then(|| free_name(&data));
    if let Some(kept) = &kept {
        std::fs::rename(&path, kept).map_err(folder(kept))?;
    }
    std::fs::rename(&new, &path).map_err(folder(&path))?;
    Embedded::<Table>::accept(&path, Some(&files.custody()))?;
    Ok(kept)
}

/// Lets the next start of a chain node make an empty store, which then synchronises with its peers. Gives the store's path.
///
/// # Errors
/// The folder makes no node, or there is a store.
pub fn init_chain_store(files: &ChainFiles) -> Result<PathBuf, ChainStartError> {
    let path = files.data().join(STORE);
    files.custody().permit_empty_store(&path)?;
    Ok(path)
}

/// Accepts the store in a chain node's folder in its present state, after a check of every byte. Returns the store's path.
///
/// # Errors
/// The folder is not a node's folder, or the store is in use, is missing or is damaged.
pub fn accept_chain_store(files: &ChainFiles) -> Result<PathBuf, ChainStartError> {
    let path = files.data().join(STORE);
    Embedded::<Table>::accept(&path, Some(&files.custody()))?;
    Ok(path)
}

/// Returns an unused name next to the store.
fn free_name(data: &Path) -> PathBuf {
    let names = (1u32..).map(|number| data.join(format!("{STORE}.before-{number}")));
    let mut free = names.skip_while(|path| path.exists());
    // There are more numbers than files.
    free.next()
        .unwrap_or_else(|| data.join(format!("{STORE}.before")))
}

/// Copies a folder's files, durably.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
            std::fs::File::open(&target)?.sync_all()?;
        }
    }
    std::fs::File::open(to)?.sync_all()
}
