//! Tradable assets: states with an owner, which one command passes to a new owner.

use ledger::{ContractName, Party};
use primitives::{Decode, Encode, Hash, PublicKey};

use super::TradeError;
use crate::obligation::builder::obligation_code;
use crate::obligation::{ObligationCommand, ObligationState, obligation_name};
use crate::paper::builder::paper_code;
use crate::paper::{PaperCommand, PaperState, paper_name};

/// The data of a state that can be traded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asset {
    /// A commercial paper.
    Paper(PaperState),
    /// The claim to an obligation.
    Obligation(ObligationState),
}

impl Asset {
    /// Decodes an asset; fails with `trade.not_tradable` if the contract is not one of those known here.
    pub fn read(contract: &ContractName, data: &[u8]) -> Result<Self, TradeError> {
        if contract == paper_name() {
            PaperState::from_bytes(data)
                .map(Self::Paper)
                .map_err(TradeError::Asset)
        } else if contract == obligation_name() {
            ObligationState::from_bytes(data)
                .map(Self::Obligation)
                .map_err(TradeError::Asset)
        } else {
            Err(TradeError::NotTradable(contract.to_string()))
        }
    }

    /// Returns the data of the state.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Asset::Paper(paper) => paper.to_bytes(),
            Asset::Obligation(obligation) => obligation.to_bytes(),
        }
    }

    /// Returns the contract.
    pub fn contract(&self) -> &'static ContractName {
        match self {
            Asset::Paper(_) => paper_name(),
            Asset::Obligation(_) => obligation_name(),
        }
    }

    /// Returns the code of the newest version of the contract.
    pub fn code(&self) -> Hash {
        match self {
            Asset::Paper(_) => paper_code().0,
            Asset::Obligation(_) => obligation_code().0,
        }
    }

    /// Returns the key that can sell it.
    pub fn owner(&self) -> &PublicKey {
        match self {
            Asset::Paper(paper) => &paper.owner,
            Asset::Obligation(obligation) => &obligation.obligee,
        }
    }

    /// Returns the asset with another owner.
    #[must_use]
    pub fn owned_by(mut self, owner: PublicKey) -> Self {
        match &mut self {
            Asset::Paper(paper) => paper.owner = owner,
            Asset::Obligation(obligation) => obligation.obligee = owner,
        }
        self
    }

    /// Returns the party that owes the asset's value. It learns the asset's holder.
    pub fn debtor(&self) -> &Party {
        match self {
            Asset::Paper(paper) => &paper.issuer,
            Asset::Obligation(obligation) => &obligation.obligor,
        }
    }

    /// Returns the value of the command that passes it on.
    pub fn move_command(&self) -> Vec<u8> {
        match self {
            Asset::Paper(_) => PaperCommand::Move.to_bytes(),
            Asset::Obligation(obligation) => {
                ObligationCommand::Move(vec![obligation.id]).to_bytes()
            }
        }
    }
}
