//! `trade.bid` and `trade.withdraw`: this node's offers to buy.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{ContractName, LegalName, StateRef, TransactionBuilder};
use primitives::{Encode, Timestamp, hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::open_bid;
use crate::flows::CashResult;
use crate::flows::agreed::{StateResult, TokenArgs, lock_state, output_of};
use crate::flows::arguments::{notary, party};
use crate::paper::PaperState;
use crate::trade::{ASSET_BYTES_MAX, Asset, BidCommand, BidState, TradeError, bid_code, bid_name};
use crate::{CashError, Reference};

/// A commercial paper to buy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaperTerms {
    /// The party that owes the face value.
    pub issuer: LegalName,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The cash that it is redeemed in.
    pub token: TokenArgs,
    /// The face value, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub face: u64,
    /// The maturity: the start of redemption, in milliseconds since 1970.
    pub maturity: Timestamp,
}

primitives::record!(PaperTerms {
    issuer,
    reference,
    token,
    face,
    maturity
});

/// Arguments of `trade.bid`: either `paper`, or `contract` and `data`. Encoded as an array of the fields in their order,
/// absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceBidArgs {
    /// The party that may take the bid.
    pub seller: LegalName,
    /// The paper to buy.
    #[serde(default)]
    pub paper: Option<PaperTerms>,
    /// The contract of the state to buy.
    #[serde(default)]
    pub contract: Option<String>,
    /// The data of the state to buy, in hexadecimal; the owner in it is ignored.
    #[serde(default)]
    pub data: Option<String>,
    /// The cash for the payment.
    pub token: TokenArgs,
    /// The maximum price, in minor units. The seller sees it.
    #[serde(with = "primitives::QuantityInput")]
    pub price_max: u64,
    /// The end of the bid, in milliseconds since 1970.
    pub until: Timestamp,
    /// The notary of the bid, of the asset and of the cash; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
}

primitives::record!(PlaceBidArgs {
    seller,
    paper,
    contract,
    data,
    token,
    price_max,
    until,
    notary
});

/// Places a bid: an offer to buy one asset once, from one seller, up to a maximum price.
#[derive(Debug)]
pub struct PlaceBid;

impl Flow for PlaceBid {
    const NAME: &'static str = "trade.bid";
    const VERSION: u32 = 1;
    type Args = PlaceBidArgs;
    type Output = StateResult;
    const STEPS: &'static [&'static str] = &["building", "verifying", "notarising", "recording"];

    async fn run(ctx: FlowContext, args: PlaceBidArgs) -> Result<StateResult, FlowError> {
        ctx.progress("building");
        if args.price_max == 0 {
            return Err(CashError::ZeroAmount.into());
        }
        if args.until <= ctx.now() {
            return Err(TradeError::Expired(args.until).into());
        }
        let seller = party(&ctx, &args.seller)?.clone();
        let me = ctx.me().clone();
        let asset = wanted(&ctx, &args)?.owned_by(me.key.clone());
        let bid = BidState {
            buyer: me.clone(),
            seller: seller.clone(),
            contract: asset.contract().clone(),
            asset: asset.to_bytes(),
            token: args.token.resolve(&ctx)?,
            price_max: args.price_max,
            until: args.until,
        };
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        let (code, constraint) = bid_code();
        let builder = TransactionBuilder::new(notary)
            .attachment(*code)
            .output_data(bid_name().clone(), constraint.clone(), bid.to_bytes())
            .command(
                bid_name().clone(),
                BidCommand::Place.to_bytes(),
                vec![me.key.clone()],
            );
        let signed = build_and_sign(&ctx, builder, &[me.key]).await?;
        let state = output_of(&signed, bid_name());
        finality(&ctx, signed, &[seller.id()]).await?;
        Ok(StateResult {
            state,
            transaction: state.tx,
        })
    }
}

/// Returns the asset that the arguments name.
fn wanted(ctx: &FlowContext, args: &PlaceBidArgs) -> Result<Asset, FlowError> {
    match (&args.paper, &args.contract, &args.data) {
        (Some(terms), None, None) => Ok(Asset::Paper(PaperState {
            issuer: party(ctx, &terms.issuer)?.clone(),
            reference: terms.reference.clone().unwrap_or_default(),
            token: terms.token.resolve(ctx)?,
            face: terms.face,
            maturity: terms.maturity,
            owner: ctx.me().key.clone(),
        })),
        (None, Some(contract), Some(data)) if data.len() <= 2 * ASSET_BYTES_MAX => {
            let data = hex::decode(data).ok_or(TradeError::AssetAmbiguous)?;
            Ok(Asset::read(&ContractName::new(contract)?, &data)?)
        }
        _ => Err(TradeError::AssetAmbiguous.into()),
    }
}

/// Arguments of `trade.withdraw`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WithdrawBidArgs {
    /// The bid's state.
    pub bid: StateRef,
}

primitives::record!(WithdrawBidArgs { bid });

/// Withdraws a bid of this node.
#[derive(Debug)]
pub struct WithdrawBid;

impl Flow for WithdrawBid {
    const NAME: &'static str = "trade.withdraw";
    const VERSION: u32 = 1;
    type Args = WithdrawBidArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &["building", "verifying", "notarising", "recording"];

    async fn run(ctx: FlowContext, args: WithdrawBidArgs) -> Result<CashResult, FlowError> {
        let input = lock_state(&ctx, args.bid).await?;
        let bid = open_bid(&input)?;
        let me = ctx.me().key.clone();
        if bid.buyer.key != me {
            return Err(TradeError::NoBid.into());
        }
        ctx.progress("building");
        let builder = TransactionBuilder::new(input.state.notary.clone())
            .attachment(bid_code().0)
            .input(&input)
            .command(
                bid_name().clone(),
                BidCommand::Close.to_bytes(),
                vec![me.clone()],
            );
        let signed = build_and_sign(&ctx, builder, &[me]).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[bid.seller.id()]).await?;
        Ok(CashResult { transaction })
    }
}
