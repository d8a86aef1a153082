//! Bids: an asset that a buyer wants, the seller, and the maximum price. The contract lets only the buyer make and end
//! them.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use ledger::{
    CommandFacts, Constraint, Contract, ContractName, ContractRegistry, ContractRejection,
    LedgerTransaction, Party, StateFacts,
};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash, PublicKey, Timestamp};

use super::TradeError;
use crate::IssuedToken;

/// The name of the contract of bids.
pub const BID_NAME: &str = "tally.bid";
/// Maximum size of the data of an asset in a bid, in bytes.
pub const ASSET_BYTES_MAX: usize = 16 << 10;

/// Returns the contract's checked name.
pub fn bid_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new(BID_NAME).expect("a constant that is a valid name"))
}

/// Returns the code of the newest version of the contract: its descriptor and the constraint of new states.
pub fn bid_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(BidContract))
            .expect("the only contract of a new registry");
        registry
            .current(bid_name())
            .expect("it was just registered")
    })
}

/// The data of a bid. Encoded as `[buyer, seller, contract, asset, token, price_max, until]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BidState {
    /// The bidder.
    pub buyer: Party,
    /// The only party that may take the bid.
    pub seller: Party,
    /// The contract of the asset.
    pub contract: ContractName,
    /// The exact data of the asset with the buyer as its owner.
    pub asset: Vec<u8>,
    /// The cash for the payment.
    pub token: IssuedToken,
    /// The maximum price, in minor units.
    pub price_max: u64,
    /// The time at which the bid ends.
    pub until: Timestamp,
}

impl Encode for BidState {
    fn encode(&self, e: &mut Encoder) {
        e.array(7);
        self.buyer.encode(e);
        self.seller.encode(e);
        self.contract.encode(e);
        e.bytes(&self.asset);
        self.token.encode(e);
        e.u64(self.price_max);
        self.until.encode(e);
    }
}

impl Decode for BidState {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(7)?;
        Ok(Self {
            buyer: Party::decode(d)?,
            seller: Party::decode(d)?,
            contract: ContractName::decode(d)?,
            asset: d.bytes_within(ASSET_BYTES_MAX)?.to_vec(),
            token: IssuedToken::decode(d)?,
            price_max: d.u64()?,
            until: Timestamp::decode(d)?,
        })
    }
}

/// A command to the contract of bids. Encoded as `[0]` or `[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BidCommand {
    /// Makes bids; their buyers sign.
    Place,
    /// Ends bids that are taken or withdrawn; their buyers sign.
    Close,
}

primitives::variants!(BidCommand { 0 => Place, 1 => Close });

/// The contract of bids, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct BidContract;

impl Contract for BidContract {
    fn name(&self) -> &str {
        BID_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        let consumed = tx.inputs_of(bid_name()).map(|input| &input.state.data);
        let consumed = buyers(consumed)?;
        let made = buyers(tx.outputs_of(bid_name()).map(|output| &output.data))?;
        let (mut place, mut close): (Option<&[PublicKey]>, Option<&[PublicKey]>) = (None, None);
        for command in tx.commands_of(bid_name()) {
            let value = BidCommand::from_bytes(&command.value).map_err(TradeError::Command)?;
            let order = match value {
                BidCommand::Place => &mut place,
                BidCommand::Close => &mut close,
            };
            if order.replace(&command.signers).is_some() {
                return Err(TradeError::CommandRepeated.into());
            }
        }
        for (signers, buyers) in [(place, made), (close, consumed)] {
            if signers.is_some() && buyers.is_empty() {
                return Err(TradeError::CommandWithoutBid.into());
            }
            // Without the command, no buyer has signed.
            let signers = signers.unwrap_or_default();
            if !buyers.iter().all(|buyer| signers.contains(buyer)) {
                return Err(TradeError::BuyerMustSign.into());
            }
        }
        Ok(())
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let bid = BidState::from_bytes(data)?;
        let mut participants = vec![bid.buyer.key.clone()];
        if bid.seller.key != bid.buyer.key {
            participants.push(bid.seller.key);
        }
        Ok(StateFacts {
            participants,
            owner: Some(bid.buyer.key),
            fungible: None,
            linear_id: None,
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        let name = match BidCommand::from_bytes(value)? {
            BidCommand::Place => "place",
            BidCommand::Close => "close",
        };
        Ok(Some(CommandFacts::new(name)))
    }
}

fn buyers<'a>(
    states: impl Iterator<Item = &'a Vec<u8>>,
) -> Result<BTreeSet<PublicKey>, TradeError> {
    states
        .map(|data| BidState::from_bytes(data).map(|bid| bid.buyer.key))
        .collect::<Result<_, _>>()
        .map_err(TradeError::Bid)
}
