//! The rows of chains that were being fetched when the node stopped.

use crate::back_chains::chain::Resolution;
use crate::context::Context;
use crate::pages::{WALK_PAGE, after, row_page};
use crate::port::{Reads, StoreFailure, Table};

/// Deletes the staged parts of chains. No chain is continued after a restart: it is fetched again when it is needed.
pub(crate) fn wipe_staging(context: &mut Context, reads: &dyn Reads) -> Result<(), StoreFailure> {
    let mut from = Vec::new();
    loop {
        let page = row_page(reads, Table::Staging, from, None, WALK_PAGE.0, WALK_PAGE.1)?;
        let Some((last, _)) = page.rows.last() else {
            return Ok(());
        };
        from = after(last);
        let mut rows = context.rows::<Resolution>();
        for (key, _) in page.rows {
            rows.delete(Table::Staging, key);
        }
    }
}
