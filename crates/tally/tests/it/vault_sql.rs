//! The vault in SQL: the page `docs/reference/vault-sql.md` is run against the schema of a real node, and the tables agree with the API.

use std::collections::BTreeMap;

use client::Client;
use perf::topology::{Network, NetworkOptions, Who};
use pgserver::PgServer;
use serde_json::json;

use crate::stage::{self, A, B, cash};
use api::{StartFlow, Wait};

/// The schema of the page and of the first bank.
const SCHEMA: &str = "bank_a";

/// Waits until the tables of a node include all that its API shows, and compares balances and the number of states.
pub async fn agrees(client: &Client, server: &PgServer, schema: &str) {
    let shown = client.balances().await.expect("balances");
    let position = format!(
        "select sequence >= {} from {schema}.vault_position",
        shown.view_seq
    );
    stage::eventually("the vault tables include the ledger", async || {
        server
            .query(&position)
            .is_ok_and(|reached| reached == "t")
            .then_some(())
    })
    .await;
    let balances = format!(
        "select token, symbol, issuer, sum(quantity), count(*) from {schema}.vault_states
         where status = 'unconsumed' and not quarantined and token is not null group by 1, 2, 3 order by 2, 3, 1"
    );
    let mut expected: Vec<_> = (shown.balances.iter())
        .map(|of| {
            format!(
                "{}|{}|{}|{}|{}",
                of.token, of.symbol, of.issuer, of.quantity, of.states
            )
        })
        .collect();
    expected.sort_by_key(|line| {
        line.split('|')
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    let mut found: Vec<_> = lines(server, &balances);
    found.sort_by_key(|line| {
        line.split('|')
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    assert_eq!(found, expected, "balances of {schema}");
    let whole = format!(
        "select p.sequence = count(t.sequence), p.sequence = max(t.sequence),
           p.states = (select count(*) from {schema}.vault_states),
           p.participants = (select count(*) from {schema}.vault_participants)
         from {schema}.vault_position p, {schema}.vault_transactions t group by p.only_row"
    );
    assert_eq!(lines(server, &whole), ["t|t|t|t"], "{schema}");
}

fn lines(server: &PgServer, sql: &str) -> Vec<String> {
    let text = server.query(sql).expect("readable");
    text.lines().map(str::to_owned).collect()
}

/// Reads the page.
fn page() -> String {
    let page = stage::guide::repository().join("docs/reference/vault-sql.md");
    std::fs::read_to_string(page).expect("the page is there")
}

/// Returns the blocks of SQL of the page, with their headings.
fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut heading, mut block, mut blocks) = (String::new(), None, Vec::new());
    for line in page.lines() {
        match (line, &mut block) {
            ("```sql", None) => block = Some(String::new()),
            ("```", Some(sql)) => {
                blocks.push((heading.clone(), std::mem::take(sql)));
                block = None;
            }
            (_, Some(sql)) => *sql = format!("{sql}{line}\n"),
            (_, None) if line.starts_with("##") => {
                heading = line.trim_start_matches('#').trim().to_owned();
            }
            (_, None) => {}
        }
    }
    blocks
}

async fn done(client: &Client, flow: &str, arguments: &serde_json::Value) -> Vec<String> {
    let start = StartFlow::new(flow, arguments).expect("arguments");
    stage::completes(client, start, Wait::Delivered)
        .await
        .transactions
}

/// Makes payments in both directions, a paper and an obligation. Returns the transactions of two payments to A, and of two by A.
async fn some_business(network: &Network) -> (Vec<String>, Vec<String>) {
    let (a, b) = (stage::client(network, A), stage::client(network, B));
    let (name_a, name_b) = (network.name(A), network.name(B));
    let mut paid = Vec::new();
    for quantity in [500, 70] {
        let start = cash::issue_and_pay("GBP", quantity, name_b).expect("arguments");
        let outcome = stage::completes(&a, start, Wait::Delivered).await;
        paid.push(outcome.transactions.last().expect("the payment").clone());
    }
    let start = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&a, start, Wait::Delivered).await;
    let mut payments = Vec::new();
    for quantity in [30, 12] {
        let start = cash::issue_and_pay("EUR", quantity, name_a).expect("arguments");
        let outcome = stage::completes(&b, start, Wait::Delivered).await;
        payments.push(outcome.transactions.last().expect("the payment").clone());
    }
    // With change, to the issuer.
    let start = cash::pay("GBP", Some(name_a), 100, name_a, 1).expect("arguments");
    stage::completes(&b, start, Wait::Delivered).await;
    let token = json!({ "currency": "GBP", "issuer": name_a });
    let maturity = 4_102_444_800_000_u64;
    let paper = json!({ "face": 1_000, "token": token, "maturity": maturity, "recipient": name_b });
    done(&a, "paper.issue", &paper).await;
    let owed = json!({ "to": name_b, "quantity": 30, "tokens": [token], "due": maturity });
    done(&a, "obligation.issue", &owed).await;
    (payments, paid)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_of_the_page_runs_against_a_node_and_agrees_with_its_api() {
    let mut network = Network::bring_up(&database(&["A", "B"])).expect("the network comes up");
    let (payments, paid) = some_business(&network).await;
    let clients = [A, B].map(|who| stage::client(&network, who));
    let names = [A, B].map(|who| network.name(who).to_owned());
    let server = network.database_server().expect("a server");
    for (client, schema) in clients.iter().zip([SCHEMA, "bank_b"]) {
        agrees(client, server, schema).await;
    }
    let as_reader = |sql: &str| {
        let sql = format!("set role reports; set search_path = {SCHEMA}, institution; {sql}");
        server.administer(&sql)
    };
    let page = page();
    let mut answers = BTreeMap::new();
    for (heading, sql) in blocks(&page) {
        let answer = match heading.as_str() {
            "Let others read them" => server.administer(&sql),
            "Your own tables" => {
                let made = as_reader(&sql);
                let received = payments.iter().map(|id| format!("('{id}', 'Acme')"));
                let paid = paid.iter().map(|id| format!("('{id}', 'Bolt')"));
                let rows = received.chain(paid).collect::<Vec<_>>().join(", ");
                as_reader(&format!("insert into customer_payments values {rows}"))
                    .expect("its own");
                made
            }
            _ => as_reader(&sql),
        };
        let answer = answer.unwrap_or_else(|error| panic!("{heading}: {error}"));
        answers.insert(heading, answer);
    }
    let of = |heading: &str| -> Vec<Vec<&str>> {
        let answer = answers
            .get(heading)
            .unwrap_or_else(|| panic!("no query {heading}"));
        answer
            .lines()
            .map(|line| line.split('|').collect())
            .collect()
    };
    let columns = "select table_name, column_name from information_schema.columns where table_schema = 'bank_a' and table_name like 'vault%'";
    for line in lines(server, columns) {
        let (table, column) = line.split_once('|').expect("two columns");
        let described = page
            .split("\n\n")
            .find(|part| part.starts_with(&format!("| `{table}`")));
        let described = described.unwrap_or_else(|| panic!("no description of {table}"));
        let names = [format!("`{column} "), format!("`{column}`")];
        assert!(
            names.iter().any(|name| described.contains(name)),
            "{table}.{column} is not described"
        );
    }
    // Two set the page up.
    assert_eq!(answers.len(), 12);
    let name_a = names[0].as_str();
    let name_b = names[1].as_str();
    let balances = of("The balance of each currency");
    assert_eq!(balances, [["EUR", "42", "2"], ["GBP", "1100", "2"]]);
    let by_issuer = of("Balances by issuer");
    assert_eq!(by_issuer, [[name_a, "GBP", "1100"], [name_b, "EUR", "42"]]);
    assert_eq!(
        of("States by contract"),
        [
            ["tally.cash", "consumed", "2"],
            ["tally.cash", "unconsumed", "4"],
            ["tally.obligation", "unconsumed", "1"],
            ["tally.paper", "unconsumed", "1"]
        ]
    );
    let received: Vec<_> = of("Payments received per day");
    let sum = |symbol: &str, column: usize| -> u64 {
        let of_symbol = received.iter().filter(|row| row[1] == symbol);
        of_symbol
            .map(|row| row[column].parse::<u64>().expect("a number"))
            .sum()
    };
    // The issues of A to itself count, too: 500, 70 and 1,000 GBP.
    assert_eq!((sum("EUR", 2), sum("EUR", 3)), (2, 42));
    assert_eq!((sum("GBP", 2), sum("GBP", 3)), (4, 1_670));
    let largest = of("The largest holdings");
    assert_eq!(largest[0][..3], ["GBP", name_a, "1000"]);
    assert_eq!(largest.len(), 4);
    let consumed = of("States consumed in the last seven days");
    assert_eq!(consumed.len(), 2);
    assert_eq!(consumed[0][..3], ["tally.cash", "GBP", "500"]);
    assert_eq!(consumed[0][5].len(), 64, "the id of the payment");
    let by_notary = of("Unconsumed states by notary");
    assert_eq!(by_notary.len(), 3);
    assert_eq!(by_notary[0][1..], ["tally.cash", "4"]);
    let customers = of("Payments of your customers");
    assert_eq!(customers.len(), 2);
    assert_eq!(customers[0][..3], ["Acme", "EUR", "42"]);
    assert_eq!(customers[1][..3], ["Bolt", "GBP", "-570"]);
    let linear = of("The current version of each linear state");
    assert_eq!(linear.len(), 1);
    assert_eq!((linear[0][1], linear[0][5]), ("tally.obligation", "1"));
    let behind = of("How far the tables are behind");
    assert_eq!(behind[0][1], "0");

    let paper =
        "select fields->>'face', owner from bank_b.vault_states where contract = 'tally.paper'";
    assert_eq!(
        server.query(paper).expect("readable"),
        format!("1000|{name_b}")
    );
    for refused in ["rows", "commits", "lease", "folded"] {
        let error = as_reader(&format!("select * from {refused}")).expect_err(refused);
        assert!(error.to_string().contains("permission denied"), "{error}");
    }
    as_reader("delete from vault_states").expect_err("for reading only");
}

fn database(banks: &[&str]) -> NetworkOptions {
    NetworkOptions {
        database: true,
        ..stage::options(banks)
    }
}

async fn pay(network: &Network, quantity: u64) {
    let start = cash::issue_and_pay("GBP", quantity, network.name(B)).expect("arguments");
    stage::completes(&stage::client(network, A), start, Wait::Delivered).await;
}

async fn both_agree(network: &mut Network) {
    for (who, schema) in [(A, SCHEMA), (B, "bank_b")] {
        let client = stage::client(network, who);
        agrees(
            &client,
            network.database_server().expect("a server"),
            schema,
        )
        .await;
    }
}

async fn metric(network: &Network, who: Who, name: &str) -> u64 {
    let text = stage::client(network, who)
        .metrics()
        .await
        .expect("metrics");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} ")));
    let number = line.unwrap_or_else(|| panic!("no {name}: {text}"));
    number.parse::<f64>().expect("a number") as u64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tables_go_on_after_a_kill_and_are_filled_again_after_a_loss() {
    let mut network = Network::bring_up(&database(&["A", "B"])).expect("the network comes up");
    for quantity in [500, 70, 3] {
        pay(&network, quantity).await;
    }
    both_agree(&mut network).await;
    network.kill(A);
    std::fs::remove_dir_all(network.data(A).join("database-cache")).expect("a cache");
    network.start(A).expect("starts");
    pay(&network, 20).await;
    both_agree(&mut network).await;
    // One payment: two transactions, their states and participants, and two consumed states at most.
    let written = metric(&network, A, "tally_database_vault_rows_total").await;
    assert!(
        (2..=10).contains(&written),
        "{written} rows: the tables went on"
    );

    let server = network.database_server().expect("a server");
    server
        .query("truncate bank_a.vault_position; drop table bank_b.vault_states cascade")
        .expect("lost");
    pay(&network, 7).await;
    both_agree(&mut network).await;
    for who in [A, B] {
        let lag = metric(&network, who, "tally_database_vault_lag_transactions").await;
        assert_eq!(lag, 0);
    }
}
