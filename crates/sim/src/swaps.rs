//! An exchange that lets two banks swap cash for stock. Each bank prepares its side and gives a mandate for it. Then everything
//! changes hands at once or not at all, even if a node crashes.

use finance::flows::TokenArgs;
use finance::flows::stock::{IssueStock, IssueStockArgs, StockArgs};
use finance::flows::swap::{Exchange, GiveMandate, GiveMandateArgs, Resolve, Swap, SwapArgs};
use finance::stock::Symbol;
use finance::swap::Side;
use flow::library::Turns;
use flow::{Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};
use ledger::LegalName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stories::{LATER, Steps, persist};

/// Maximum wait of a bank for its own states, in milliseconds.
const DEADLINE_MS: u64 = 300_000;

/// Registers the flow and its responder.
pub fn register(flows: &mut FlowRegistry) {
    flows.register::<Settle>();
    flows.register_responder::<Prepares>();
}

/// The arguments of a swap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettleArgs {
    /// The bank that pays.
    pub buyer: LegalName,
    /// The bank that gives stock, which it issues for this swap.
    pub seller: LegalName,
    /// The cash.
    pub token: TokenArgs,
    /// The quantity of cash.
    pub price: u64,
    /// The stock, with a unique symbol.
    pub symbol: Symbol,
    /// The quantity of stock.
    pub quantity: u64,
    /// Whether outputs go to fresh keys.
    pub anonymous: bool,
    /// Whether the banks are asked one after the other.
    pub sequential: bool,
    /// Whether transactions are fetched one by one.
    pub single: bool,
}

primitives::record!(SettleArgs {
    buyer,
    seller,
    token,
    price,
    symbol,
    quantity,
    anonymous,
    sequential,
    single
});

impl SettleArgs {
    fn stock(&self) -> StockArgs {
        StockArgs {
            symbol: self.symbol.clone(),
            issuer: Some(self.seller.clone()),
        }
    }
}

/// Lets two banks swap.
#[derive(Debug)]
pub struct Settle;

impl Flow for Settle {
    const NAME: &'static str = "sim.settle";
    const VERSION: u32 = 1;
    type Args = SettleArgs;
    type Output = Steps;

    async fn run(ctx: FlowContext, args: SettleArgs) -> Result<Steps, FlowError> {
        let sessions = [
            ctx.open_session(&args.buyer.party_id())?,
            ctx.open_session(&args.seller.party_id())?,
        ];
        ctx.send_all(&sessions, &args).await?;
        let prepared: Vec<Steps> = ctx.receive_all(&sessions).await?;
        let pair = Exchange {
            buyer: args.buyer.clone(),
            seller: args.seller.clone(),
            cash: args.token.clone(),
            price: args.price,
            stock: args.stock(),
            quantity: args.quantity,
            cash_states: Vec::new(),
            stock_states: Vec::new(),
        };
        let swap = SwapArgs {
            pairs: vec![pair],
            notary: None,
            anonymous: Some(args.anonymous),
            deadline_ms: Some(DEADLINE_MS),
            sessions: args.sequential.then_some(Turns::Sequential),
            resolution: args.single.then_some(Resolve::Single),
        };
        let swapped = persist::<Swap>(&ctx, swap).await?;
        let mut steps: Vec<_> = prepared.into_iter().flat_map(|steps| steps.0).collect();
        steps.push(swapped.transaction);
        Ok(Steps(steps))
    }
}

/// A bank's side of [`Settle`]: issues the stock if it is the seller, and gives the exchange a mandate for exactly this swap.
#[derive(Debug)]
pub struct Prepares;

impl Responder for Prepares {
    const NAME: &'static str = Settle::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let args: SettleArgs = session.receive().await?;
        let mut steps = Vec::new();
        let sells = args.seller == ctx.me().name;
        if sells {
            let issue = IssueStockArgs {
                symbol: args.symbol.clone(),
                quantity: args.quantity,
                outputs: None,
                recipient: None,
                notary: None,
                anonymous: Some(args.anonymous),
            };
            steps.push(ctx.sub_flow::<IssueStock>(issue).await?.transaction);
        }
        let (price, quantity) = (args.price, args.quantity);
        let mandate = GiveMandateArgs {
            coordinator: ctx.party(&session.peer())?.name.clone(),
            side: if sells { Side::Sell } else { Side::Buy },
            cash: args.token.clone(),
            stock: args.stock(),
            // The tightest price limit that whole numbers allow.
            price: if sells {
                price / quantity
            } else {
                price.div_ceil(quantity)
            }
            .max(1),
            quantity_max: quantity,
            until: Some(LATER),
            notary: None,
        };
        steps.push(ctx.sub_flow::<GiveMandate>(mandate).await?.transaction);
        session.send(&Steps(steps)).await
    }
}
