//! The decoders of states, commands, and of the arguments and results of flows, on arbitrary bytes and on changed valid ones.

use finance::document::{DocumentCommand, DocumentState};
use finance::flows::{obligation, paper, stock, swap, trade, *};
use finance::lock::{LockCommand, LockState};
use finance::obligation::{ObligationCommand, ObligationState, SettlementPayment};
use finance::paper::{PaperCommand, PaperState};
use finance::stock::{StockCommand, StockState, StockToken};
use finance::swap::{Mandate, MandateCommand, Market, Side};
use finance::trade::{Asset, BidCommand, BidState};
use finance::{CashCommand, CashState, IssuedToken};
use flow::FlowRegistry;
use primitives::{Decode, Encode, Hash};
use proptest::prelude::*;

use crate::fixtures::*;

fn round_trip<T: Decode + Encode>(bytes: &[u8]) {
    if let Ok(value) = T::from_bytes(bytes) {
        assert_eq!(
            value.to_bytes(),
            bytes,
            "an accepted encoding is the canonical one"
        );
    }
}

/// A check that decodes bytes and examines the result, with valid bytes.
type Sample = (fn(&[u8]), Vec<u8>);

fn of<T: Decode + Encode>(value: &T) -> Sample {
    let bytes = value.to_bytes();
    assert!(T::from_bytes(&bytes).is_ok(), "a sample is valid");
    (round_trip::<T>, bytes)
}

/// Arguments as they arrive through the API.
fn arguments<T: Decode + Encode>(flow: &str, json: &str) -> Sample {
    let mut flows = FlowRegistry::new();
    finance::register_flows(&mut flows);
    let json = json
        .replace("NAME", r#""O=Bank B, L=London, C=GB""#)
        .replace(
            "TOKEN",
            r#"{"currency":"GBP","issuer":NAME,"reference":"01"}"#,
        )
        .replace("NAME", r#""O=Bank B, L=London, C=GB""#)
        .replace(
            "STATE",
            &format!(r#"{{"tx":"{}","index":3}}"#, Hash::plain(b"tx")),
        );
    let version = flows.current_version(flow).expect("a registered flow");
    let bytes = flows.args_from_json(flow, version, json.as_bytes());
    let bytes = bytes.unwrap_or_else(|error| panic!("{flow} {json}: {error:?}"));
    of(&T::from_bytes(&bytes).expect("arguments decode"))
}

/// Arguments without a time window are encoded as before there was one: journals of earlier versions have these bytes.
#[test]
fn arguments_of_earlier_versions() {
    let bank = "4f3d42616e6b20422c204c3d4c6f6e646f6e2c20433d4742";
    for (flow, json, expected) in [
        (
            "cash.pay",
            r#"{"currency":"GBP","payments":[{"to":NAME,"quantity":3}]}"#,
            format!("88f663474250f6f681837818{bank}03f6f6f6f6"),
        ),
        (
            "cash.issue_and_pay",
            r#"{"currency":"GBP","quantity":7,"recipient":NAME}"#,
            format!("876347425007f67818{bank}f6f6f6"),
        ),
    ] {
        let (_, bytes) = match flow {
            "cash.pay" => arguments::<PayArgs>(flow, json),
            _ => arguments::<IssueAndPayArgs>(flow, json),
        };
        assert_eq!(primitives::hex::encode(&bytes), expected, "{flow}");
    }
}

fn states() -> Vec<Sample> {
    let token = token("A GBP 01");
    let id = Hash::plain(b"an obligation");
    let paper = PaperState {
        issuer: party('A'),
        reference: token.reference.clone(),
        token: token.clone(),
        face: 300,
        maturity: at(1_000),
        owner: public(b'B'),
    };
    let obligation = ObligationState {
        id,
        obligor: party('A'),
        tokens: vec![token.clone()],
        due: at(1_000),
        quantity: 300,
        defaulted: true,
        obligee: public(b'B'),
    };
    let payment = SettlementPayment {
        obligation: id,
        token: token.id(),
        quantity: 300,
    };
    let asset = Asset::Paper(paper.clone());
    let bid = BidState {
        buyer: party('B'),
        seller: party('A'),
        contract: asset.contract().clone(),
        asset: asset.to_bytes(),
        token: token.clone(),
        price_max: 300,
        until: at(1_000),
    };
    let lock = LockState {
        owner: public(b'B'),
        until: at(1_000),
    };
    let exit = CashCommand::Exit {
        token: token.id(),
        quantity: 300,
    };
    let stock = StockToken {
        issuer: party('A'),
        symbol: "BRK.B".parse().expect("a symbol"),
    };
    let mandate = Mandate {
        owner: party('B'),
        coordinator: party('A'),
        market: Market {
            side: Side::Sell,
            cash: token.clone(),
            stock: stock.clone(),
        },
        price: 300,
        quantity_max: 300,
        until: Some(at(1_000)),
    };
    let held = StockState {
        token: stock.clone(),
        quantity: 300,
        owner: public(b'B'),
    };
    let made = StockCommand::Issue {
        token: stock.id(),
        quantity: 300,
    };
    let document = DocumentState {
        from: party('A'),
        to: party('B'),
        title: "a contract".into(),
        attachment: id,
    };
    vec![
        of(&document),
        of(&DocumentCommand::Share),
        of(&held),
        of(&made),
        of(&mandate),
        of(&MandateCommand::Revoke),
        (round_trip::<CashState>, cash(&token, 1_000_000, 'B').data),
        of::<IssuedToken>(&token),
        of(&exit),
        of(&paper),
        of(&PaperCommand::Redeem),
        of(&obligation),
        of(&ObligationCommand::Net(vec![id, id])),
        of(&ObligationCommand::Settle(vec![payment])),
        of(&bid),
        of(&BidCommand::Close),
        of(&lock),
        of(&LockCommand::Open),
    ]
}

#[rustfmt::skip]
fn flows() -> Vec<Sample> {
    vec![
        arguments::<IssueArgs>("cash.issue", r#"{"currency":"GBP","quantity":7,"outputs":2,"recipient":NAME}"#),
        arguments::<PayArgs>("cash.pay", r#"{"currency":"GBP","issuer":NAME,"reference":"01","payments":[{"to":NAME,"quantity":3,"states":2},{"to":NAME,"quantity":4}],"deadline_ms":5,"anonymous":true}"#),
        arguments::<PayArgs>("cash.pay", r#"{"currency":"GBP","issuer":NAME,"reference":"01","payments":[{"to":NAME,"quantity":3,"states":2},{"to":NAME,"quantity":4}],"deadline_ms":5,"window_ms":30000}"#),
        arguments::<IssueAndPayArgs>("cash.issue_and_pay", r#"{"currency":"GBP","quantity":7,"recipient":NAME}"#),
        arguments::<IssueAndPayArgs>("cash.issue_and_pay", r#"{"currency":"GBP","quantity":7,"recipient":NAME,"window_ms":30000}"#),
        arguments::<ExitArgs>("cash.exit", r#"{"currency":"GBP","quantity":7,"notary":NAME}"#),
        arguments::<LockArgs>("cash.lock", r#"{"currency":"GBP","quantity":7,"until":1000,"to":NAME}"#),
        arguments::<ReissueArgs>("cash.reissue", r#"{"currency":"GBP","quantity":7,"issuer":NAME,"outputs":2}"#),
        arguments::<paper::IssuePaperArgs>("paper.issue", r#"{"face":7,"token":TOKEN,"maturity":1000,"recipient":NAME}"#),
        arguments::<paper::MovePaperArgs>("paper.move", r#"{"paper":STATE,"to":NAME}"#),
        arguments::<paper::RedeemPaperArgs>("paper.redeem", r#"{"paper":STATE,"deadline_ms":5}"#),
        arguments::<obligation::IssueObligationArgs>("obligation.issue", r#"{"to":NAME,"quantity":7,"tokens":[TOKEN,TOKEN],"due":1000}"#),
        arguments::<obligation::MoveObligationArgs>("obligation.move", r#"{"obligation":STATE,"to":NAME}"#),
        arguments::<obligation::SettleObligationArgs>("obligation.settle", r#"{"obligation":STATE,"quantity":7,"token":TOKEN}"#),
        arguments::<obligation::NetObligationsArgs>("obligation.net", r#"{"obligations":[STATE,STATE],"parties":[NAME]}"#),
        arguments::<obligation::DefaultArgs>("obligation.default", r#"{"obligation":STATE,"restore":true}"#),
        arguments::<obligation::ObligationArgs>("obligation.exit", r#"{"obligation":STATE}"#),
        arguments::<trade::PlaceBidArgs>("trade.bid", r#"{"seller":NAME,"paper":{"issuer":NAME,"token":TOKEN,"face":7,"maturity":1000},"contract":"a.b","data":"00","token":TOKEN,"price_max":7,"until":1000}"#),
        arguments::<trade::WithdrawBidArgs>("trade.withdraw", r#"{"bid":STATE}"#),
        arguments::<stock::IssueStockArgs>("stock.issue", r#"{"symbol":"TLY","quantity":7,"outputs":2,"recipient":NAME}"#),
        arguments::<stock::TransferStockArgs>("stock.transfer", r#"{"symbol":"TLY","issuer":NAME,"quantity":7,"to":NAME,"states":2}"#),
        arguments::<stock::ExitStockArgs>("stock.exit", r#"{"symbol":"TLY","quantity":7,"deadline_ms":5}"#),
        arguments::<swap::GiveMandateArgs>("swap.mandate", r#"{"coordinator":NAME,"side":"sell","cash":TOKEN,"stock":{"symbol":"TLY","issuer":NAME},"price":7,"quantity_max":9,"until":1000}"#),
        arguments::<swap::RevokeMandateArgs>("swap.revoke", r#"{"mandate":STATE}"#),
        arguments::<swap::SwapArgs>("swap.run", r#"{"pairs":[{"buyer":NAME,"seller":NAME,"cash":TOKEN,"price":7,"stock":{"symbol":"TLY"},"quantity":9,"cash_states":[STATE],"stock_states":[STATE,STATE]}],"anonymous":true,"sessions":"sequential","resolution":"single"}"#),
        arguments::<ShareArgs>("document.share", r#"{"to":NAME,"attachment":"0101010101010101010101010101010101010101010101010101010101010101","title":"a contract","notary":NAME}"#),
        arguments::<trade::SellArgs>("trade.sell", r#"{"asset":STATE,"bid":STATE,"price":7}"#),
    ]
}

proptest! {
    #![proptest_config(properties::config!(2_000))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        thread_local!(static ALL: Vec<Sample> = states().into_iter().chain(flows()).collect());
        ALL.with(|all| all.iter().for_each(|(decode, _)| decode(&bytes)));
    }

    #[test]
    fn changed_valid_bytes(
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        kind in 0u8..3,
    ) {
        thread_local!(static ALL: Vec<Sample> = states().into_iter().chain(flows()).collect());
        ALL.with(|all| for (decode, sample) in all {
            let mut bytes = sample.clone();
            let place = place.index(bytes.len());
            match kind {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => {
                    bytes.remove(place);
                }
            }
            decode(&bytes);
        });
    }
}
