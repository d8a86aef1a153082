//! The names and fields that the contracts give their commands for people.

use finance::document::{DocumentCommand, DocumentContract};
use finance::lock::{LockCommand, LockContract};
use finance::obligation::{ObligationCommand, ObligationContract, SettlementPayment};
use finance::paper::{PaperCommand, PaperContract};
use finance::stock::{StockCommand, StockContract};
use finance::swap::{MandateCommand, MandateContract};
use finance::trade::{BidCommand, BidContract};
use finance::{CashCommand, CashContract};
use ledger::{Contract, TokenId};
use primitives::{Encode, Hash};

/// Returns a hash and its text.
fn hash(digit: u8) -> (Hash, String) {
    (
        Hash::from_bytes([digit; 32]),
        format!("{digit:02x}").repeat(32),
    )
}

/// Returns the name of a command and its fields, as `name field=value`.
fn described(contract: &dyn Contract, value: &[u8]) -> String {
    let facts = contract.describe_command(value).expect("it decodes");
    let facts = facts.expect("it is described");
    let fields = facts.fields.iter();
    let fields: String = fields
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    format!("{}{fields}", facts.name)
}

#[test]
fn every_command_has_a_name_and_readable_fields() {
    let (one, one_text) = hash(1);
    let (two, two_text) = hash(2);
    let (token, token_text) = (TokenId::from_hash(hash(3).0), hash(3).1);
    let quantity = u64::MAX;
    let amount = format!("token={token_text} quantity={quantity}");
    let payment = |obligation, quantity| SettlementPayment {
        obligation,
        token,
        quantity,
    };
    let both = format!("obligations={one_text}, {two_text}");
    let ids = || vec![one, two];
    let table: Vec<(&dyn Contract, Vec<u8>, String)> = vec![
        (
            &CashContract,
            CashCommand::Issue { token, quantity }.to_bytes(),
            format!("issue {amount}"),
        ),
        (&CashContract, CashCommand::Move.to_bytes(), "move".into()),
        (
            &CashContract,
            CashCommand::Exit { token, quantity }.to_bytes(),
            format!("exit {amount}"),
        ),
        (
            &StockContract,
            StockCommand::Issue { token, quantity }.to_bytes(),
            format!("issue {amount}"),
        ),
        (&StockContract, StockCommand::Move.to_bytes(), "move".into()),
        (
            &StockContract,
            StockCommand::Exit { token, quantity }.to_bytes(),
            format!("exit {amount}"),
        ),
        (
            &PaperContract,
            PaperCommand::Issue.to_bytes(),
            "issue".into(),
        ),
        (&PaperContract, PaperCommand::Move.to_bytes(), "move".into()),
        (
            &PaperContract,
            PaperCommand::Redeem.to_bytes(),
            "redeem".into(),
        ),
        (
            &ObligationContract,
            ObligationCommand::Issue(ids()).to_bytes(),
            format!("issue {both}"),
        ),
        (
            &ObligationContract,
            ObligationCommand::Move(ids()).to_bytes(),
            format!("move {both}"),
        ),
        (
            &ObligationContract,
            ObligationCommand::Settle(vec![payment(one, 5), payment(two, 6)]).to_bytes(),
            format!(
                "settle payments=5 of {token_text} on {one_text}, 6 of {token_text} on {two_text}"
            ),
        ),
        (
            &ObligationContract,
            ObligationCommand::Net(ids()).to_bytes(),
            format!("net {both}"),
        ),
        (
            &ObligationContract,
            ObligationCommand::Default(ids()).to_bytes(),
            format!("default {both}"),
        ),
        (
            &ObligationContract,
            ObligationCommand::Restore(ids()).to_bytes(),
            format!("restore {both}"),
        ),
        (
            &ObligationContract,
            ObligationCommand::Exit(ids()).to_bytes(),
            format!("exit {both}"),
        ),
        (
            &MandateContract,
            MandateCommand::Give.to_bytes(),
            "give".into(),
        ),
        (
            &MandateContract,
            MandateCommand::Revoke.to_bytes(),
            "revoke".into(),
        ),
        (&BidContract, BidCommand::Place.to_bytes(), "place".into()),
        (&BidContract, BidCommand::Close.to_bytes(), "close".into()),
        (&LockContract, LockCommand::Lock.to_bytes(), "lock".into()),
        (&LockContract, LockCommand::Open.to_bytes(), "open".into()),
        (
            &DocumentContract,
            DocumentCommand::Share.to_bytes(),
            "share".into(),
        ),
    ];
    for (contract, value, expected) in &table {
        assert_eq!(
            described(*contract, value),
            *expected,
            "{}",
            contract.name()
        );
        let malformed = contract.describe_command(&[0xff]);
        assert!(malformed.is_err(), "{}", contract.name());
    }
}
