//! The flows of cash, documents, stock, commercial paper, obligations, trades and swaps. Their arguments are JSON objects: party
//! names are strings such as `O=Bank A, L=London, C=GB`, and quantities are whole numbers of minor units, text in results, and numbers or text in arguments.

pub mod obligation;
pub mod paper;
pub mod stock;
pub mod swap;
pub mod trade;

mod agreed;
mod anonymous;
mod arguments;
mod document;
mod exit;
mod issue;
mod issue_and_pay;
mod lock;
mod pay;
mod reissue;
mod reissue_messages;
mod reissue_responder;

pub use agreed::{StateResult, TokenArgs};
pub use anonymous::OffersKey;
pub use arguments::{CashResult, TokenChoice};
pub use document::{ShareArgs, ShareDocument};
pub use exit::{ExitArgs, ExitCash};
pub use issue::{IssueArgs, IssueCash};
pub use issue_and_pay::{IssueAndPayArgs, IssueAndPayCash, IssueAndPayResult};
pub use lock::{LockArgs, LockCash, UnlockCash};
pub use pay::{PayArgs, PayCash, Payment};
pub use reissue::{ReissueArgs, ReissueCash};
pub use reissue_messages::Reissued;
pub use reissue_responder::ReissueCashResponder;

use flow::FlowRegistry;

/// Registers all flows and their responders.
pub(crate) fn register(registry: &mut FlowRegistry) {
    registry.register::<IssueCash>();
    registry.register_responder::<OffersKey<IssueCash>>();
    registry.register::<PayCash>();
    registry.register_responder::<OffersKey<PayCash>>();
    registry.register::<IssueAndPayCash>();
    registry.register::<ExitCash>();
    registry.register::<LockCash>();
    registry.register_responder::<OffersKey<LockCash>>();
    registry.register_scheduled::<UnlockCash>();
    registry.register::<ReissueCash>();
    registry.register_responder::<ReissueCashResponder>();
    registry.register::<paper::IssuePaper>();
    registry.register_responder::<OffersKey<paper::IssuePaper>>();
    registry.register::<paper::MovePaper>();
    registry.register_responder::<OffersKey<paper::MovePaper>>();
    registry.register::<paper::RedeemPaper>();
    registry.register_responder::<paper::HoldsPaper>();
    registry.register::<obligation::IssueObligation>();
    registry.register_responder::<OffersKey<obligation::IssueObligation>>();
    registry.register::<obligation::MoveObligation>();
    registry.register_responder::<OffersKey<obligation::MoveObligation>>();
    registry.register::<obligation::SettleObligation>();
    registry.register::<obligation::NetObligations>();
    registry.register_responder::<obligation::NetsObligations>();
    registry.register::<obligation::DefaultObligation>();
    registry.register::<obligation::ExitObligation>();
    registry.register::<trade::PlaceBid>();
    registry.register::<trade::WithdrawBid>();
    registry.register::<trade::Sell>();
    registry.register_responder::<trade::BuyByBid>();
    registry.register::<stock::IssueStock>();
    registry.register_responder::<OffersKey<stock::IssueStock>>();
    registry.register::<stock::TransferStock>();
    registry.register_responder::<OffersKey<stock::TransferStock>>();
    registry.register::<stock::ExitStock>();
    registry.register::<ShareDocument>();
    registry.register::<swap::GiveMandate>();
    registry.register::<swap::RevokeMandate>();
    registry.register_retired::<swap::SwapVersion1>();
    registry.register::<swap::Swap>();
    registry.register_responder::<swap::TakesPart>();
}
