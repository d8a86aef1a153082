//! Commands: the purpose of a transaction, and its required signers.

use primitives::PublicKey;

use crate::ContractName;

/// A command. In a transaction its contract and value are one component (`[contract name, value (byte string)]`, group
/// `Commands`) and its signers another (`[key, ...]`, group `Signers`) at the same index, so that a tear-off can't show a
/// command and hide whose signatures it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The addressed contract.
    pub contract: ContractName,
    /// The command's value, in the contract's own encoding.
    pub value: Vec<u8>,
    /// Required signers: at least one key, none twice.
    pub signers: Vec<PublicKey>,
}
