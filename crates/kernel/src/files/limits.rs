//! The files that a transaction lists, and the network's limits for their sizes.

use ledger::{ContractExecutor, Rejection, WireTransaction};
use primitives::Hash;

use crate::context::Context;
use crate::errors;

/// Returns the files of a transaction: its attachments without the descriptors of contracts.
pub(crate) fn files_of(wire: &WireTransaction, context: &Context) -> Vec<Hash> {
    let contracts = &context.identity.contracts;
    let files = wire.attachments().iter();
    let files = files.filter(|hash| contracts.descriptor(hash).is_none());
    files.copied().collect()
}

/// Checks that the network allows a file of this size.
pub(crate) fn check_file_size(hash: &Hash, size: u64, context: &Context) -> Result<(), Rejection> {
    let max = context.identity.network.parameters().max_attachment_bytes;
    if size <= max {
        return Ok(());
    }
    let text =
        format!("file {hash} has {size} bytes; max_attachment_bytes of the network is {max}");
    Err(errors::rejection(&errors::FILE_TOO_LARGE, text))
}

/// Checks that the network allows a transaction whose files have `bytes` bytes together.
pub(crate) fn check_files_size(bytes: u64, context: &Context) -> Result<(), Rejection> {
    let parameters = context.identity.network.parameters();
    let max = parameters.max_transaction_attachment_bytes;
    if bytes <= max {
        return Ok(());
    }
    let text = format!(
        "the transaction's files have {bytes} bytes together; max_transaction_attachment_bytes of the network is {max}"
    );
    Err(errors::rejection(&errors::FILES_TOO_LARGE, text))
}
