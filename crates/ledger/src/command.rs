//! Commands: what a transaction means to do, and who has to sign for it.

use primitives::PublicKey;

use crate::ContractName;

/// A command. In a transaction its contract and value are one component (`[contract name, value (byte string)]`, group
/// `Commands`) and its signers another (`[key, ...]`, group `Signers`) at the same index, so that a tear-off can't show a
/// command and hide whose signatures it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The contract it speaks to.
    pub contract: ContractName,
    /// The contract's own encoding of what to do.
    pub value: Vec<u8>,
    /// Who has to sign: at least one key, none twice.
    pub signers: Vec<PublicKey>,
}
