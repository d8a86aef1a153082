//! The rehearsal of a chain node's start: would it start on its folder?

use std::path::Path;

use chain::core::Core;
use chain::port::Table;
use chain::state::read;
use store::{Embedded, RehearsalFigures, Rehearsed};

use super::clock::ChainClock;
use super::files::ChainFiles;
use super::start::{core_of, http_options};
use super::start_check::{examine_newest, refuse_unmended};
use super::start_error::ChainStartError;
use super::store::STORE;
use crate::core::READ_BYTES_MAX;

/// The result of a rehearsal that no fault ended.
#[derive(Clone, Debug, Default)]
pub struct ChainRehearsed {
    /// The store.
    pub store: RehearsalFigures,
    /// Damaged rows that the start would repair.
    pub repairs: Vec<String>,
}

/// Makes the checks of [`super::ChainNode::start`] on a chain node's folder without a start: the store and its inventory, the newest
/// blocks, and the genesis. Changes nothing in the folder, and no process is kept from starting on it. `scratch` is an empty folder
/// elsewhere.
///
/// # Errors
/// The error of the start. `store.locked` if a process has the store open.
pub fn rehearse_chain_start(
    files: &ChainFiles,
    scratch: &Path,
) -> Result<ChainRehearsed, ChainStartError> {
    let path = files.data().join(STORE);
    let custody = files.custody();
    let judge = |store: Rehearsed<Table>| -> Result<ChainRehearsed, ChainStartError> {
        let mut found = ChainRehearsed {
            store: store.figures(),
            repairs: Vec::new(),
        };
        let examined = examine_newest(store.clone(), files)?;
        if let Some(examined) = examined.filter(|examined| !examined.is_sound()) {
            refuse_unmended(&examined, files)?;
            found.repairs = examined.damage;
        } else if !read::is_new(&store).map_err(ChainStartError::StoreFailed)? {
            let now = ChainClock::new(files.genesis.time_ms).time();
            // The rows that opening would write are not committed.
            drop::<Core<_>>(core_of(files, store, now)?);
        }
        http_options(files)?;
        Ok(found)
    };
    Embedded::rehearse(&path, Some(&custody), scratch, READ_BYTES_MAX, judge)?
}
