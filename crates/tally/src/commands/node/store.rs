//! `tally node init-store` and `tally node accept-store`

use node::bootstrap::{NodeFiles, load_node_dir};
use node::{accept_store, init_store};

use crate::commands::store_care::{ACCEPTED, Args, EMPTY};
use crate::failure::Failure;
use crate::folder;

/// Permits an empty store.
pub fn init(arguments: &Args) -> Result<(), Failure> {
    let files = confirmed(arguments)?;
    let store = init_store(&files).map_err(|error| Failure::coded(&error))?;
    arguments.show(&store, EMPTY)
}

/// Accepts the existing store.
pub fn accept(arguments: &Args) -> Result<(), Failure> {
    let files = confirmed(arguments)?;
    let store = accept_store(&files).map_err(|error| Failure::coded(&error))?;
    arguments.show(&store, ACCEPTED)
}

pub(super) fn confirmed(arguments: &Args) -> Result<NodeFiles, Failure> {
    folder::holds_node(&arguments.folder)?;
    let files = load_node_dir(&arguments.folder).map_err(|error| Failure::coded(&error))?;
    arguments.refuse_unconfirmed(&files.config.node.name.to_string())?;
    Ok(files)
}
