//! Settings of the servers that would change the outcome of statements. A worker sets its own.

use notary::{Entry, UniquenessOutcome, UniquenessRecord};

use crate::backends::{Backend, check, entry};

/// The first transaction. Its states are twice as high.
const FIRST: u64 = 40_000_000;
/// Transactions of a batch, with two states each.
const TRANSACTIONS: u64 = 3;

/// Global settings of MariaDB, with the values that they get back.
const MARIA: &[(&str, &str, &str)] = &[
    ("sql_select_limit", "1", "18446744073709551615"),
    ("sql_safe_updates", "1", "0"),
    (
        "sql_mode",
        "'ANSI_QUOTES,EMPTY_STRING_IS_NULL'",
        "'STRICT_TRANS_TABLES'",
    ),
    ("unique_checks", "0", "1"),
    ("tx_isolation", "'SERIALIZABLE'", "'REPEATABLE-READ'"),
    ("autocommit", "0", "1"),
];

/// Settings of the user on PostgreSQL.
const POSTGRES: &[(&str, &str)] = &[
    ("standard_conforming_strings", "off"),
    ("default_transaction_isolation", "serializable"),
    ("synchronous_commit", "off"),
    ("search_path", "public"),
];

/// Enters a batch on a new connection, and reads the whole of it.
fn all_is_entered_and_found(backend: &Backend, first: u64, setting: &str) {
    let mut record = backend.shared(0);
    let numbers = first..first + TRANSACTIONS;
    let entries: Vec<Entry> = numbers
        .map(|number| entry(number, &[2 * number, 2 * number + 1], &[]))
        .collect();
    let settled = record.settle(&check(entries.clone(), &[]));
    assert!(
        matches!(settled, Ok(UniquenessOutcome::Found(ref found)) if found.accepted.is_empty()),
        "{setting}: {settled:?}"
    );
    let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
    let states: Vec<_> = entries
        .iter()
        .flat_map(|entry| entry.inputs.clone())
        .collect();
    let found = record.look_up(&ids, &states).expect("the database is up");
    assert_eq!(
        (found.accepted.len(), found.consumers.len()),
        (ids.len(), states.len()),
        "{setting}"
    );
    let page = record.states_after(None, 5).expect("the database is up");
    assert_eq!(page.len(), 5, "{setting}");
    let page = record
        .transactions_after(None, 5)
        .expect("the database is up");
    assert_eq!(page.len(), 5, "{setting}");
    record
        .finish_move()
        .unwrap_or_else(|error| panic!("{setting}: {error}"));
}

pub fn of_cluster(backend: &Backend) {
    for (at, (setting, hostile, usual)) in (0..).zip(MARIA) {
        backend.administer(&format!("set global {setting} = {hostile}"));
        all_is_entered_and_found(backend, FIRST + at * TRANSACTIONS, setting);
        backend.administer(&format!("set global {setting} = {usual}"));
    }
}

pub fn of_server(backend: &Backend) {
    for (at, (setting, hostile)) in (0..).zip(POSTGRES) {
        backend.administer(&format!("alter role ledger set {setting} = {hostile}"));
        all_is_entered_and_found(backend, FIRST + at * TRANSACTIONS, setting);
        backend.administer(&format!("alter role ledger reset {setting}"));
    }
}
