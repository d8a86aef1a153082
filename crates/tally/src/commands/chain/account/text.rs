//! An account and its last transactions as text for people.

use api::chain::{AccountView, LeaseView, TransactionKind, TransactionView};

use super::Report;
use crate::commands::chain::balance::balance_cells;
use crate::commands::chain::notation::Notation;
use crate::commands::chain::tx::kind;
use crate::output::{Table, counted, grouped, pairs, stdout_ink};

/// Returns the account's facts, its balances and its transactions.
pub fn people(report: &Report, notation: &Notation) -> String {
    let mut text = pairs(&facts(report, notation));
    text.push_str(&format!("\n{}\n", balances(&report.account, notation)));
    if report.unconfirmed.is_empty() && report.transactions.is_empty() {
        text.push_str("\nno transactions in blocks or in the pool of this node");
        return text;
    }
    text.push_str(&format!("\n{}", transactions(report, notation)));
    if let Some(next) = &report.next {
        text.push_str(&format!("\nmore with --before {next}"));
    }
    text
}

fn facts(report: &Report, notation: &Notation) -> [(&'static str, String); 6] {
    let view = &report.account;
    let leases = view.leases.iter();
    let leases: Vec<String> = leases.map(|one| lease(one, view.height)).collect();
    let key = report.public_key.clone();
    [
        ("account", view.account.clone()),
        (
            "public key",
            key.unwrap_or_else(|| "in none of the transactions below".to_owned()),
        ),
        ("forging balance", stake(view, notation)),
        ("leases to", none_or(&leases)),
        ("leased to it by", none_or(&view.lessors)),
        ("at height", grouped(view.height)),
    ]
}

fn none_or(lines: &[String]) -> String {
    match lines {
        [] => "none".to_owned(),
        lines => lines.join("\n"),
    }
}

fn stake(view: &AccountView, notation: &Notation) -> String {
    let tokens = view.forging.effective_tokens;
    let text = notation.stake(tokens);
    match notation.parameter("effective_tokens_min") {
        Some(least) if tokens < least => {
            let least = notation.stake(least);
            format!("{text}, below the minimum of {least}: it does not forge")
        }
        _ => text,
    }
}

/// Writes a lease. `to` is the first block after it.
fn lease(lease: &LeaseView, height: u32) -> String {
    let state = match lease.from.checked_sub(height) {
        Some(left) if left > 0 => format!("begins in {}", counted(left, "block")),
        // Clipped at 0: a lease that has just ended is still listed.
        _ => format!(
            "ends in {}",
            counted(lease.to.saturating_sub(height), "block")
        ),
    };
    // A lease has at least one block.
    let last = lease.to.saturating_sub(1);
    format!(
        "{}, blocks {} to {} ({state})",
        lease.lessee,
        grouped(lease.from),
        grouped(last)
    )
}

fn balances(view: &AccountView, notation: &Notation) -> String {
    let mut table = Table::new(&["chain", ">balance"]);
    for balance in &view.balances {
        table.row(balance_cells(balance, notation));
    }
    table.render(stdout_ink())
}

fn transactions(report: &Report, notation: &Notation) -> String {
    let heads = [
        "transaction",
        "made",
        "kind",
        "with",
        ">amount",
        ">fee",
        "state",
    ];
    let mut table = Table::new(&heads);
    for row in rows(report, notation) {
        table.row(row);
    }
    table.render(stdout_ink())
}

/// Returns the cells of the transactions, the newest first: those of the pool, then those in blocks.
fn rows(report: &Report, notation: &Notation) -> Vec<[String; 7]> {
    let account = report.account.account.as_str();
    let waiting = report.unconfirmed.iter().rev();
    let waiting = waiting.map(|one| cells(one, account, "in the pool".to_owned(), notation));
    let placed = report.transactions.iter().map(|placed| {
        let count = counted(placed.confirmations, "confirmation");
        let state = format!("block {}, {count}", grouped(placed.height));
        cells(&placed.transaction, account, state, notation)
    });
    waiting.chain(placed).collect()
}

fn cells(
    transaction: &TransactionView,
    account: &str,
    state: String,
    notation: &Notation,
) -> [String; 7] {
    [
        transaction.id.clone(),
        notation.time(transaction.time),
        kind(transaction.kind).to_owned(),
        counterparty(transaction, account),
        value(transaction, notation),
        notation.amount(transaction.fee, transaction.chain),
        state,
    ]
}

fn counterparty(transaction: &TransactionView, account: &str) -> String {
    match transaction.recipient.as_deref() {
        Some(recipient) if recipient == transaction.sender => "to itself".to_owned(),
        Some(recipient) if transaction.sender == account => format!("to {recipient}"),
        Some(_) => format!("from {}", transaction.sender),
        // A child block has no recipient.
        None => String::new(),
    }
}

fn value(transaction: &TransactionView, notation: &Notation) -> String {
    match transaction.kind {
        TransactionKind::Payment => {
            let amount = transaction.amount;
            let written = amount.map(|minor| notation.amount(minor, transaction.chain));
            written.unwrap_or_default()
        }
        TransactionKind::Lease => {
            let blocks = transaction.lease_blocks;
            blocks.map_or_else(String::new, |count| counted(count, "block"))
        }
        TransactionKind::ChildBlock => {
            let count = transaction.child_count;
            count.map_or_else(String::new, |count| counted(count, "transaction"))
        }
    }
}

#[cfg(test)]
mod tests {
    use api::chain::{ChainBalance, ForgingBalance, PlacedTransaction};

    use super::*;

    fn payment(sender: &str, recipient: &str) -> TransactionView {
        TransactionView {
            id: "1d".to_owned(),
            chain: 3,
            kind: TransactionKind::Payment,
            sender: sender.to_owned(),
            sender_key: "ab".to_owned(),
            recipient: Some(recipient.to_owned()),
            amount: Some(15_000),
            fee: 100,
            time: 90,
            expires: 3_690,
            anchor_height: 0,
            anchor_id: String::new(),
            message: None,
            message_hex: None,
            lease_blocks: None,
            child_chain: None,
            child_count: None,
            signature: String::new(),
        }
    }

    fn report(effective_tokens: u64) -> Report {
        Report {
            account: AccountView {
                account: "TLY-A".to_owned(),
                height: 1_000,
                balances: vec![ChainBalance {
                    chain: 3,
                    balance: 12_345,
                }],
                forging: ForgingBalance { effective_tokens },
                leases: Vec::new(),
                lessors: Vec::new(),
            },
            public_key: None,
            unconfirmed: Vec::new(),
            transactions: Vec::new(),
            next: None,
        }
    }

    #[test]
    fn a_report_has_the_balances_with_units_and_the_newest_transactions_first() {
        let mut report = report(1_000);
        let notation = Notation::of_test(false);
        let text = people(&report, &notation);
        for part in ["Basalt (BAS)", "1.2345 BAS", "1,000 TLY", "no transactions"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        report.unconfirmed = vec![payment("TLY-A", "TLY-B")];
        report.transactions = vec![PlacedTransaction {
            height: 999,
            offset: 0,
            confirmations: 1,
            transaction: payment("TLY-C", "TLY-A"),
        }];
        report.next = Some("999-0".to_owned());
        let made = "2026-01-01T00:01:30.000Z";
        let row = |with, state| ["1d", made, "payment", with, "1.5 BAS", "0.01 BAS", state];
        assert_eq!(
            rows(&report, &notation),
            [
                row("to TLY-B", "in the pool"),
                row("from TLY-C", "block 999, 1 confirmation"),
            ]
        );
        let text = people(&report, &notation);
        assert!(text.ends_with("more with --before 999-0"), "{text}");
        assert!(people(&report, &Notation::of_test(true)).contains("15,000 × 10⁻⁴ BAS"));
    }

    #[test]
    fn a_stake_below_the_minimum_says_so() {
        let shown = stake(&report(999).account, &Notation::of_test(false));
        assert_eq!(
            shown,
            "999 TLY, below the minimum of 1,000 TLY: it does not forge"
        );
    }

    #[test]
    fn leases_say_when_they_begin_and_end() {
        let one = LeaseView {
            lessee: "TLY-B".to_owned(),
            from: 10,
            to: 2_010,
        };
        for (height, state) in [
            (9, "begins in 1 block"),
            (10, "ends in 2,000 blocks"),
            (2_009, "ends in 1 block"),
        ] {
            assert_eq!(
                lease(&one, height),
                format!("TLY-B, blocks 10 to 2,009 ({state})")
            );
        }
    }

    #[test]
    fn the_direction_of_a_payment_is_that_of_the_account() {
        for (sender, recipient, shown) in [
            ("TLY-A", "TLY-B", "to TLY-B"),
            ("TLY-B", "TLY-A", "from TLY-B"),
            ("TLY-A", "TLY-A", "to itself"),
        ] {
            assert_eq!(counterparty(&payment(sender, recipient), "TLY-A"), shown);
        }
    }

    #[test]
    fn the_key_comes_from_a_transaction_of_the_account_itself() {
        let sent = [payment("TLY-B", "TLY-A"), payment("TLY-A", "TLY-B")];
        assert_eq!(
            super::super::public_key("TLY-A", &sent, &[]).as_deref(),
            Some("ab")
        );
        assert_eq!(super::super::public_key("TLY-A", &sent[..1], &[]), None);
    }
}
