//! `tally chain init-store` and `tally chain accept-store`

use node::chain::{ChainFiles, accept_chain_store, init_chain_store, load_chain_dir};

use crate::commands::store_care::{ACCEPTED, Args, EMPTY};
use crate::failure::Failure;
use crate::folder;

/// Permits an empty store.
pub fn init(arguments: &Args) -> Result<(), Failure> {
    let files = confirmed(arguments)?;
    let store = init_chain_store(&files).map_err(|error| Failure::coded(&error))?;
    arguments.show(&store, EMPTY)
}

/// Accepts the existing store.
pub fn accept(arguments: &Args) -> Result<(), Failure> {
    let files = confirmed(arguments)?;
    let store = accept_chain_store(&files).map_err(|error| Failure::coded(&error))?;
    arguments.show(&store, ACCEPTED)
}

fn confirmed(arguments: &Args) -> Result<ChainFiles, Failure> {
    folder::holds_chain_node(&arguments.folder)?;
    let files = load_chain_dir(&arguments.folder).map_err(|error| Failure::coded(&error))?;
    arguments.refuse_unconfirmed(&files.config.node.name)?;
    Ok(files)
}
