//! `trade.sell`: exchanges an asset of this node for cash of a buyer that has bid for it, in one transaction.

use flow::library::{ANSWER_MS_MAX, Asked, build_and_sign, finality, until_void, verify_proposal};
use flow::{Deadline, Fetching, Flow, FlowContext, FlowError, Responder, Session};
use ledger::{SignedTransaction, StateAndRef, StateRef, TimeWindow, TransactionState};
use primitives::{Decode, Encode, PublicKey, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::open_bid;
use crate::flows::CashResult;
use crate::flows::agreed::{
    WINDOW_MS, asks_only_for, await_final, lock_state, parties, tell_final,
};
use crate::flows::arguments::{Wanted, select_cash, signatures};
use crate::trade::{Asset, BidCommand, BidState, TradeError, bid_code, bid_name};
use crate::{CashState, Portion, cash_builder, cash_name};

/// Maximum time that a buyer waits for cash that other flows have locked, in milliseconds.
const BUYER_DEADLINE_MS: u64 = 10_000;

/// Arguments of `trade.sell`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SellArgs {
    /// The state to sell.
    pub asset: StateRef,
    /// The buyer's bid for it.
    pub bid: StateRef,
    /// The price in minor units, at most the bid's maximum; that maximum, if left out.
    #[serde(default, with = "primitives::OptionalQuantityInput")]
    pub price: Option<u64>,
}

primitives::record!(SellArgs { asset, bid, price });

/// The seller's offer to the buyer. Encoded as an array of the fields in their order.
struct Offer {
    bid: StateRef,
    reference: StateRef,
    state: TransactionState,
    price: u64,
}

primitives::record!(Offer {
    bid,
    reference,
    state,
    price
});

/// Sells an asset of this node to a buyer that has bid for it.
#[derive(Debug)]
pub struct Sell;

impl Flow for Sell {
    const NAME: &'static str = "trade.sell";
    const VERSION: u32 = 1;
    type Args = SellArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "offering",
        "receiving a proposal",
        "verifying the proposal",
        "signing",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: SellArgs) -> Result<CashResult, FlowError> {
        let StateAndRef { state, reference } = lock_state(&ctx, args.asset).await?;
        let asset = Asset::read(&state.contract, &state.data)?;
        let bids = ctx.states(vec![args.bid]).await?;
        let bid = open_bid(bids.first().ok_or(TradeError::NoBid)?)?;
        if bid.seller.key != ctx.me().key {
            return Err(TradeError::NoBid.into());
        }
        if !ctx.is_mine(asset.owner()).await? {
            return Err(TradeError::NotTheOwner.into());
        }
        let price = args.price.unwrap_or(bid.price_max);
        let sold = asset.clone().owned_by(bid.buyer.key.clone());
        let terms = Terms {
            bid: &bid,
            sold: &sold,
            price,
        };
        terms.check(ctx.now())?;

        ctx.progress("offering");
        let session = ctx.open_session(&bid.buyer.id())?;
        let offer = Offer {
            bid: args.bid,
            reference,
            state,
            price,
        };
        session.send(&offer).await?;
        // This node has not signed yet, so the asset can be released at any time.
        let wait = Deadline::AfterMs(ANSWER_MS_MAX);
        ctx.progress("receiving a proposal");
        let proposal = session.receive();
        let proposal: SignedTransaction =
            ctx.within(wait, "the buyer's proposal", proposal).await?;
        let verified = verify_proposal(&ctx, &session, &proposal, Fetching::InBulk);
        ctx.within(wait, "the back chain of the buyer's cash", verified)
            .await?;
        let asked = Asked::of(&ctx, &proposal).await?;
        check_proposal(&asked, &proposal, &offer, &terms, asset.owner())?;
        // Verification has recorded everything that the proposal consumes.
        let consumed = ctx.states(proposal.wire().inputs().to_vec()).await?;
        check_consumed(&consumed, &offer)?;
        ctx.progress("signing");
        let id = proposal.id();
        let mut signed = proposal;
        for signature in signatures(&ctx, &id, &asked.keys).await? {
            signed.add(signature);
        }
        let concerned = parties(&ctx, [&bid.buyer.key, &asset.debtor().key]).await?;
        finality(&ctx, signed, &concerned).await?;
        tell_final(&ctx, &[session], &id).await?;
        Ok(CashResult { transaction: id })
    }
}

/// The terms of a sale: the asset, the bid and the price.
struct Terms<'a> {
    bid: &'a BidState,
    /// The asset as the buyer will own it.
    sold: &'a Asset,
    price: u64,
}

impl Terms<'_> {
    /// Checks that the bid is for this asset, at this price, and still stands.
    fn check(&self, now: Timestamp) -> Result<(), TradeError> {
        let Self { bid, sold, price } = *self;
        if bid.contract != *sold.contract() || bid.asset != sold.to_bytes() {
            return Err(TradeError::Differs("another asset is offered"));
        }
        let price_max = bid.price_max;
        if price == 0 || price > price_max {
            return Err(TradeError::Price { price, price_max });
        }
        if now >= bid.until {
            return Err(TradeError::Expired(bid.until));
        }
        Ok(())
    }
}

/// Checks that the buyer's transaction takes the asset and nothing else from this node, and pays the price.
fn check_proposal(
    asked: &Asked,
    proposal: &SignedTransaction,
    offer: &Offer,
    terms: &Terms<'_>,
    seller: &PublicKey,
) -> Result<(), TradeError> {
    let sold = terms.sold.move_command();
    let wire = proposal.wire();
    if !wire.inputs().contains(&offer.reference) {
        return Err(TradeError::Proposal("the asset is not in it"));
    }
    let contract = terms.sold.contract();
    if !asks_only_for(asked, proposal, contract, |RawCommand(value)| value == sold) {
        return Err(TradeError::Proposal("it asks for more than the asset"));
    }
    let data = terms.sold.to_bytes();
    let (mut paid, mut moved) = (0u64, 0usize);
    for output in wire.outputs() {
        if output.contract == *cash_name() {
            let cash = CashState::from_bytes(&output.data).map_err(TradeError::Asset)?;
            if cash.owner == *seller && cash.token == terms.bid.token {
                // A clipped sum is above every price.
                paid = paid.saturating_add(cash.quantity);
            }
        } else if output.contract == *contract && output.data == data {
            moved += 1;
        } else {
            return Err(TradeError::Proposal("it makes something else"));
        }
    }
    if moved != 1 || paid < terms.price {
        return Err(TradeError::Proposal("it does not pay the price"));
    }
    Ok(())
}

/// Checks that the asset is exchanged only for cash. Any other state consumed in the transaction, such as another debt to this
/// node, might count the same cash as its own payment.
fn check_consumed(consumed: &[StateAndRef], offer: &Offer) -> Result<(), TradeError> {
    let expected = |input: &StateAndRef| {
        let contract = &input.state.contract;
        input.reference == offer.reference || contract == cash_name() || contract == bid_name()
    };
    if consumed.iter().all(expected) {
        Ok(())
    } else {
        Err(TradeError::Proposal("it consumes something else"))
    }
}

/// The raw bytes of a command's value.
struct RawCommand(Vec<u8>);

impl Decode for RawCommand {
    fn decode(d: &mut primitives::Decoder<'_>) -> Result<Self, primitives::DecodeError> {
        d.raw().map(|bytes| Self(bytes.to_vec()))
    }
}

/// The buyer's side of `trade.sell`: buys only an asset that it has bid for, at most at the bid's maximum price.
#[derive(Debug)]
pub struct BuyByBid;

impl Responder for BuyByBid {
    const NAME: &'static str = Sell::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let wait = Deadline::AfterMs(ANSWER_MS_MAX);
        let offer: Offer = ctx.within(wait, "an offer", session.receive()).await?;
        let me = ctx.me().key.clone();
        // Checked before it is locked: a party other than the bid's seller must not lock states of this node.
        let bids = ctx.states(vec![offer.bid]).await?;
        let bid = open_bid(bids.first().ok_or(TradeError::NoBid)?)?;
        if bid.buyer.key != me || bid.seller.id() != session.peer() {
            return Err(TradeError::NoBid.into());
        }
        let placed = lock_state(&ctx, offer.bid).await?;
        let asset = Asset::read(&offer.state.contract, &offer.state.data)?;
        let sold = asset.clone().owned_by(me.clone());
        let terms = Terms {
            bid: &bid,
            sold: &sold,
            price: offer.price,
        };
        terms.check(ctx.now())?;
        let notary = placed.state.notary.clone();
        if offer.state.notary != notary {
            return Err(TradeError::Differs("the asset is with another notary").into());
        }

        ctx.progress("selecting cash");
        let token = Wanted::from(&bid.token);
        let cash = select_cash(&ctx, &token, offer.price, &notary, BUYER_DEADLINE_MS).await?;

        ctx.progress("building");
        let to_seller = Portion {
            owner: asset.owner().clone(),
            quantity: offer.price,
            states: 1,
        };
        let mut payment = cash_builder::pay(notary.clone(), &cash, &[to_seller], &me)?;
        if !payment.owners.contains(&me) {
            payment.owners.push(me.clone());
        }
        // A window beyond the end of time does not end.
        let end = ctx.now().plus_ms(WINDOW_MS).unwrap_or(Timestamp::MAX);
        let input = StateAndRef {
            state: offer.state,
            reference: offer.reference,
        };
        let builder = payment
            .builder
            .time_window(TimeWindow::until(end.min(bid.until)))
            .attachment(bid_code().0)
            .input(&placed)
            .command(
                bid_name().clone(),
                BidCommand::Close.to_bytes(),
                vec![me.clone()],
            );
        let builder = pass(builder, &input, &asset, &sold);
        let signed = build_and_sign(&ctx, builder, &payment.owners).await?;
        let missing: [PublicKey; 2] = [asset.owner().clone(), notary.key];
        // The seller may have it notarised until the window has ended.
        let void = until_void(signed.wire()).ok_or(TradeError::Proposal("it has no end"))?;
        ctx.progress("verifying");
        let verified = ctx.verify(&signed, Some(session.peer()), &missing);
        ctx.within(void, "the back chain of the asset", verified)
            .await?;
        let id = signed.id();
        session.send(&signed).await?;
        await_final(&ctx, &session, &id, void).await
    }
}

/// Adds the transfer of the asset to the buyer; its owner has to sign.
fn pass(
    builder: ledger::TransactionBuilder,
    input: &StateAndRef,
    asset: &Asset,
    sold: &Asset,
) -> ledger::TransactionBuilder {
    let constraint = input.state.constraint.clone();
    let builder = match &constraint {
        ledger::Constraint::Descriptor(hash) => builder.attachment(*hash),
        _ => builder.attachment(asset.code()),
    };
    let contract = asset.contract();
    builder
        .input(input)
        .output_data(contract.clone(), constraint, sold.to_bytes())
        .command(
            contract.clone(),
            asset.move_command(),
            vec![asset.owner().clone()],
        )
}
