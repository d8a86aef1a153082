//! `tally chain tx`, `tally chain account` and `tally doctor` against a running chain node, and the unit of amounts in input and
//! output.

use std::process::Command;

use crate::chain_stage::{Chain, Ran, confirmed, reaches};

fn shows(ran: &Ran, parts: &[&str]) {
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in parts {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

fn refuses(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.err);
    for part in parts {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_and_its_accounts_are_shown_with_units() {
    let chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 1).await;
    let id = chain.pay(0, "1", "2", "1.5BAS", "BAS");
    confirmed(std::slice::from_ref(&client), &id, 1).await;
    let found = client.transaction(&id).await.expect("an answer");
    let payment = found.transaction.expect("it is kept");

    let ran = chain.tally(0, &format!("tx --node % {id}"));
    let parts = [
        "in block",
        "confirmation",
        "payment",
        "1.5 BAS",
        "child block",
        "pays the forger",
    ];
    shows(&ran, &parts);
    shows(&ran, &[&payment.sender, &payment.sender_key]);
    let ran = chain.tally(0, &format!("tx --node % {id} --smallest-unit"));
    shows(&ran, &["15,000 × 10⁻⁴ BAS"]);
    let json = chain.tally(0, &format!("tx --node % {id} --json")).json();
    assert_eq!(json["state"], "confirmed", "{json}");
    assert_eq!(json["transaction"]["amount"], "15000", "{json}");

    let ran = chain.tally(0, "account --node % passphrase:2 --chain BAS");
    shows(&ran, &["forging balance", "Basalt (BAS)", "1.5 BAS", &id]);
    let json = chain.tally(0, "account --node % passphrase:1 --limit 1 --json");
    let json = json.json();
    assert_eq!(json["transactions"][0]["id"], id.as_str(), "{json}");
    assert_eq!(json["public_key"], payment.sender_key.as_str(), "{json}");
    let balances = chain.tally(0, "balance --node % passphrase:1 --json");
    assert_eq!(json["balances"], balances.json()["accounts"][0]["balances"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_and_amounts_that_name_nothing_are_refused() {
    let chain = Chain::bring_up(1, 1);
    reaches(&chain.client(0), 1).await;
    let unknown = format!("tx --node % {}", "ff".repeat(32));
    refuses(
        &chain.tally(0, &unknown),
        1,
        &["chain_api.unknown_transaction", "in the future"],
    );
    let send = "send --node % --passphrase 1 --to passphrase:2";
    let bundle = "bundle --node % --passphrase 1 --start BAS";
    for (line, part) in [
        ("tx --node % 00".to_owned(), "00"),
        (
            format!("{send} --amount 1.00001 --chain BAS"),
            "expected at most 4",
        ),
        (format!("{send} --amount 1BAS"), "not an amount of TLY"),
        (format!("{send} --amount 1,000"), "not an amount of TLY"),
        (format!("{bundle} --rate 5"), "no unit"),
        (
            format!("{bundle} --rate 5BAS --total 5BAS"),
            "not an amount of TLY",
        ),
    ] {
        refuses(&chain.tally(0, &line), 2, &["tally.bad_value", part]);
    }
    let ran = chain.tally(0, &format!("{bundle} --rate 0.5BAS --total 9TLY"));
    shows(&ran, &["0.5 BAS per TLY", "9 TLY"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_examines_a_running_chain_node() {
    let chain = Chain::bring_up(1, 1);
    reaches(&chain.client(0), 1).await;
    let ran = Command::new(env!("CARGO_BIN_EXE_tally"))
        .args(["doctor", "--node"])
        .arg(chain.dir(0))
        .output()
        .expect("tally runs");
    let out = String::from_utf8(ran.stdout).expect("text");
    assert!(ran.status.success(), "{out}");
    for part in [
        "of a chain node",
        "the node runs",
        "synced, at height",
        "disk use",
        "chain ",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}
