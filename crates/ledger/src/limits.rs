//! Every bound of the ledger's formats, in one place. A value outside its bound is refused when it is built and when it
//! is decoded.

/// Maximum bytes of an encoded transaction without its signatures (`tx.too_large`).
pub const TRANSACTION_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Maximum bytes of one component (an output, a command, a list of signers, ...) (`tx.too_large`).
pub const COMPONENT_BYTES_MAX: usize = 1024 * 1024;
/// Maximum number of inputs and references of a transaction, together (`tx.too_many_components`).
pub const INPUTS_AND_REFERENCES_MAX: usize = 10_000;
/// Maximum number of outputs of a transaction (`tx.too_many_components`).
pub const OUTPUTS_MAX: usize = 10_000;
/// Maximum number of commands of a transaction (`tx.too_many_components`).
pub const COMMANDS_MAX: usize = 1_000;
/// Maximum number of signers of one command (`tx.too_many_components`).
pub const COMMAND_SIGNERS_MAX: usize = 1_000;
/// Maximum number of signers of all commands together, counted once for each command (`tx.too_many_components`).
pub const SIGNERS_MAX: usize = 10_000;
/// Maximum number of attachments of a transaction (`tx.too_many_components`).
pub const ATTACHMENTS_MAX: usize = 1_000;
/// Maximum number of signatures on a transaction.
pub const SIGNATURES_MAX: usize = 10_000;
/// Maximum number of hashes in the proof that a notary's signature over a batch covers a transaction (2^32 leaves).
pub const BATCH_PROOF_HASHES_MAX: usize = 32;
/// Maximum number of hashes that a partly revealed group of a tear-off carries for its hidden components.
pub const TEAR_OFF_HASHES_MAX: usize = 10_000;
/// Maximum bytes of an encoded tear-off.
pub const TEAR_OFF_BYTES_MAX: usize = 11 * 1024 * 1024;

/// Maximum number of characters of a legal name's organisation.
pub const ORGANISATION_CHARS_MAX: usize = 128;
/// Maximum number of characters of any other attribute of a legal name.
pub const NAME_ATTRIBUTE_CHARS_MAX: usize = 64;
/// Maximum bytes of a legal name in its canonical form.
pub const LEGAL_NAME_BYTES_MAX: usize = 1024;
/// Maximum bytes of a contract's name.
pub const CONTRACT_NAME_BYTES_MAX: usize = 64;
/// Maximum number of columns that a version of a contract declares.
pub const COLUMNS_MAX: usize = 16;
/// Maximum bytes of a column's name.
pub const COLUMN_NAME_BYTES_MAX: usize = 32;
/// Maximum bytes of a state's value in a column.
pub const COLUMN_BYTES_MAX: usize = 256;
/// Maximum bytes of a contract descriptor.
pub const DESCRIPTOR_BYTES_MAX: usize = 16 * 1024;

/// Maximum bytes of a stable error code.
pub const CODE_BYTES_MAX: usize = 64;
/// Maximum bytes of an error's message.
pub const MESSAGE_BYTES_MAX: usize = 2_048;
/// Maximum bytes of an error's hint.
pub const HINT_BYTES_MAX: usize = 1_024;
/// Maximum number of conflicts that a notary's refusal lists.
pub const CONFLICTS_MAX: usize = 100;
/// Signatures of a notary's keys in a proof of equivocation.
pub const NOTARY_SIGNATURES_MAX: usize = 100;

/// Maximum number of addresses of a node.
pub const ADDRESSES_MAX: usize = 16;
/// Maximum bytes of an address.
pub const ADDRESS_BYTES_MAX: usize = 255;
/// Maximum number of notaries of a network.
pub const NOTARIES_MAX: usize = 100;
/// Maximum number of nodes of a network map.
pub const NODES_MAX: usize = 100_000;
/// Maximum bytes of a signed network document.
pub const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;
