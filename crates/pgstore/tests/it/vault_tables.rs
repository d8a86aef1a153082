//! The tables of the vault for SQL users: filled in the order of the ledger, by the holder of the lease only, and filled again after damage.

use std::sync::{Arc, Mutex, PoisonError};

use pgserver::{PgServer, ServerOptions};
use pgstore::{
    ConsumedVaultState, VaultBatch, VaultSource, VaultState, VaultToken, VaultTransaction,
};
use primitives::storage::StoreFailure;

use crate::rig::{Rig, server, settings, take_over, wait_for};

/// Transactions of one batch.
const BATCH: u64 = 10;

/// A ledger in memory: transaction `n` produces the states `n(0)` and `n(1)`, and consumes `(n - 1)(0)`.
#[derive(Default)]
struct Ledger {
    end: u64,
    quarantined: Vec<(u64, u32)>,
    form: u32,
}

#[derive(Clone, Default)]
struct Source {
    contract: &'static str,
    ledger: Arc<Mutex<Ledger>>,
}

impl Source {
    fn of(contract: &'static str, end: u64) -> Self {
        let source = Self {
            contract,
            ..Self::default()
        };
        source.set(|ledger| ledger.end = end);
        source
    }

    fn set(&self, change: impl FnOnce(&mut Ledger)) {
        change(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read<R>(&self, read: impl FnOnce(&Ledger) -> R) -> R {
        read(&self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn transaction(sequence: u64) -> VaultTransaction {
    let mut id = [0; 32];
    id[24..].copy_from_slice(&sequence.to_be_bytes());
    VaultTransaction {
        sequence,
        id,
        recorded_at: sequence * 1_000,
    }
}

impl VaultSource for Source {
    fn party(&self) -> String {
        "O=Bank A".into()
    }

    fn form(&self) -> String {
        self.read(|ledger| ledger.form.to_string())
    }

    fn end(&self) -> Result<u64, StoreFailure> {
        Ok(self.read(|ledger| ledger.end))
    }

    fn batch(&self, after: u64, end: u64) -> Result<Option<VaultBatch>, StoreFailure> {
        let upto = end.min(after + BATCH);
        let numbers = || after + 1..=upto;
        let state = |number: u64, output: u32| VaultState {
            transaction: transaction(number),
            output,
            contract: self.contract.into(),
            notary: "O=Notary".into(),
            owner: (output == 0).then(|| "O=Bank \0A".into()),
            owner_key: Some(vec![1, 2]),
            token: (output == 1).then(|| VaultToken {
                id: [7; 32],
                symbol: "GBP".into(),
                issuer: "O=Bank A".into(),
                quantity: u64::MAX,
            }),
            linear_id: None,
            fields: format!("{{\"face\": {}, \"name\": \"a\"}}", u64::MAX),
            participants: vec![(vec![1, 2], Some("O=Bank A".into())), (vec![3], None)],
        };
        Ok((upto > after).then(|| VaultBatch {
            after,
            upto,
            transactions: numbers().map(transaction).collect(),
            states: numbers()
                .flat_map(|number| [state(number, 0), state(number, 1)])
                .collect(),
            consumed: numbers()
                .filter(|number| *number > 1)
                .map(|number| ConsumedVaultState {
                    of_sequence: number - 1,
                    output: 0,
                    by: transaction(number),
                })
                .collect(),
        }))
    }

    fn quarantined(&self) -> Result<Vec<(u64, u32)>, StoreFailure> {
        Ok(self.read(|ledger| ledger.quarantined.clone()))
    }
}

fn open(
    server: &PgServer,
    folder: &tempfile::TempDir,
    source: &Source,
) -> Result<Rig, pgstore::DatabaseError> {
    let mut rig = Rig::open(&settings(server), folder.path())?;
    rig.database.write_vault_tables(Box::new(source.clone()))?;
    Ok(rig)
}

fn asked(server: &PgServer, sql: &str) -> String {
    server.query(sql).expect("readable")
}

/// Waits for a row, while the tables may be missing or locked.
fn wait_for_answer(server: &PgServer, sql: &str, expected: &str) {
    wait_for(&format!("{expected} of {sql}"), || {
        server.query(sql).is_ok_and(|answer| answer == expected)
    });
}

/// The tables are those of a ledger with `end` transactions.
fn assert_whole(server: &PgServer, end: u64) {
    for (sql, expected) in [
        (
            "select sequence, ledger_sequence, party, states, participants from bank_a.vault_position",
            format!("{end}|{end}|O=Bank A|{}|{}", 2 * end, 4 * end),
        ),
        (
            "select count(*), min(sequence), max(sequence) from bank_a.vault_transactions",
            format!("{end}|1|{end}"),
        ),
        (
            "select count(*), count(distinct owner), sum(quantity), sum((fields->>'face')::numeric) from bank_a.vault_states",
            format!(
                "{}|1|{}|{}",
                2 * end,
                u128::from(end) * u128::from(u64::MAX),
                2 * u128::from(end) * u128::from(u64::MAX)
            ),
        ),
        (
            "select count(*), count(party) from bank_a.vault_participants",
            format!("{}|{}", 4 * end, 2 * end),
        ),
        (
            "select count(*) from bank_a.vault_states s join bank_a.vault_transactions c on c.sequence = s.consumed_sequence
             where s.status = 'consumed' and s.output_index = 0 and c.sequence = s.sequence + 1 and s.consumed_by = c.transaction_id
               and s.consumed_at = c.recorded_at and s.recorded_at = c.recorded_at - interval '1 second'",
            (end - 1).to_string(),
        ),
        (
            "select count(*) from bank_a.vault_states where status = 'unconsumed'",
            (end + 1).to_string(),
        ),
    ] {
        assert_eq!(asked(server, sql), expected, "{sql}");
    }
}

fn wait_for_position(server: &PgServer, end: u64) {
    let position = "select sequence from bank_a.vault_position";
    wait_for_answer(server, position, &end.to_string());
}

#[test]
fn tables_follow_the_ledger_over_restarts() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 35);
    let rig = open(&server, &folder, &source).expect("opens");
    wait_for_position(&server, 35);
    assert_whole(&server, 35);
    source.set(|ledger| ledger.end = 36);
    wait_for_position(&server, 36);
    let figures = rig.database.figures();
    assert_eq!((figures.vault_upto, figures.vault_failures), (36, 0));
    drop(rig);
    source.set(|ledger| ledger.end = 50);
    let rig = open(&server, &folder, &source).expect("opens");
    wait_for_position(&server, 50);
    assert_whole(&server, 50);
    // Writes only the missing rows.
    let rows = 14 + 2 * 14 + 4 * 14 + 2;
    assert_eq!(rig.database.figures().vault_rows, rows);
}

#[test]
fn a_batch_and_its_position_are_written_together_or_not_at_all() {
    let mut server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 400);
    let rig = open(&server, &folder, &source).expect("opens");
    let whole = "select (select count(*) from bank_a.vault_states) = 2 * sequence and (select count(*) from bank_a.vault_participants) = 4 * sequence
        from bank_a.vault_position";
    for end in [800, 1_200, 1_600] {
        wait_for("some batches", || {
            rig.database.figures().vault_upto > end - 800
        });
        server.crash().expect("signalled");
        server.run().expect("runs again");
        source.set(|ledger| ledger.end = end);
        assert_eq!(asked(&server, whole), "t");
    }
    wait_for_position(&server, 1_600);
    assert_whole(&server, 1_600);
    let figures = rig.database.figures();
    assert!(figures.vault_failures > 0, "the server was away");
}

#[test]
fn a_deposed_process_writes_no_vault_tables() {
    let server = server();
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let sources = [Source::of("first", 20), Source::of("second", 20)];
    let first = open(&server, &folders[0], &sources[0]).expect("opens");
    wait_for_position(&server, 20);
    let mut second = take_over(&server, &settings(&server), folders[1].path());
    // Nothing has taken the position over yet.
    let written = first.database.figures().vault_rows;
    sources[0].set(|ledger| ledger.end = 500);
    wait_for("the first one's end", || first.database.failure().is_some());
    assert_eq!(first.database.figures().vault_rows, written);
    assert_eq!(
        asked(
            &server,
            "select max(sequence) from bank_a.vault_transactions"
        ),
        "20"
    );
    sources[1].set(|ledger| ledger.end = 60);
    second
        .database
        .write_vault_tables(Box::new(sources[1].clone()))
        .expect("a thread");
    wait_for_position(&server, 60);
    drop(first);
    assert_whole(&server, 60);
    let contracts = "select contract, count(*) from bank_a.vault_states group by 1 order by 1";
    assert_eq!(asked(&server, contracts), "first|40\nsecond|80");
}

#[test]
fn a_process_with_an_older_fence_writes_nothing() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 20);
    let mut settings = settings(&server);
    // The commits do not notice it in this time.
    settings.lease = std::time::Duration::from_secs(3_600);
    for refused in [
        "select 1",
        "update bank_a.vault_position set fence = fence + 2",
        "truncate bank_a.vault_position",
        "truncate bank_a.vault_states cascade",
    ] {
        let mut rig = Rig::open(&settings, folder.path()).expect("opens");
        let started = rig.database.write_vault_tables(Box::new(source.clone()));
        started.expect("a thread");
        wait_for_position(&server, 20);
        let content = "select (select count(*) from bank_a.vault_states), (select count(*) from bank_a.vault_position),
            (select max(sequence) from bank_a.vault_transactions)";
        let later = format!("{refused}; update bank_a.lease set fence = fence + 1; {content}");
        let before = asked(&server, &later);
        source.set(|ledger| ledger.end = 500);
        // The writer drops its source when it ends.
        wait_for("the end of the writer", || {
            Arc::strong_count(&source.ledger) == 1
        });
        assert_eq!(
            before.lines().last(),
            asked(&server, content).lines().last(),
            "{refused}"
        );
        assert!(
            rig.database.failure().is_none(),
            "the commits have not noticed it"
        );
        drop(rig);
        server
            .query("truncate bank_a.vault_position")
            .expect("emptied for the next case");
        source.set(|ledger| ledger.end = 20);
    }
}

#[test]
fn emptied_dropped_and_foreign_tables_are_filled_again() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 25);
    let rig = open(&server, &folder, &source).expect("opens");
    for damage in [
        "truncate bank_a.vault_states cascade",
        "truncate bank_a.vault_participants",
        "truncate bank_a.vault_transactions cascade",
        "delete from bank_a.vault_position",
        "update bank_a.vault_position set sequence = 1000",
        "drop table bank_a.vault_states cascade",
        "drop table bank_a.vault_position",
        "drop table bank_a.vault_position, bank_a.vault_states, bank_a.vault_participants, bank_a.vault_transactions",
        // Another program's form.
        "update bank_a.vault_position set form = 'older'",
    ] {
        wait_for_position(&server, 25);
        assert_whole(&server, 25);
        let rows = rig.database.figures().vault_rows;
        server.query(damage).expect("damaged");
        wait_for(damage, || {
            rig.database.figures().vault_rows == rows + 25 * 7 + 2
        });
    }
    wait_for_position(&server, 25);
    assert_whole(&server, 25);
    // A row that the ledger contradicts.
    source.set(|ledger| ledger.end = 30);
    wait_for_position(&server, 30);
    let foreign = "insert into bank_a.vault_transactions values (31, 'foreign', now())";
    server.query(foreign).expect("inserted");
    source.set(|ledger| ledger.end = 40);
    wait_for_position(&server, 40);
    assert_whole(&server, 40);
    drop(rig);
    source.set(|ledger| ledger.form = 1);
    let _rig = open(&server, &folder, &source).expect("opens");
    let form = "select form, sequence from bank_a.vault_position";
    wait_for_answer(&server, form, "1|40");
    assert_whole(&server, 40);
}

#[test]
fn quarantine_is_shown() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 5);
    let _rig = open(&server, &folder, &source).expect("opens");
    let shown =
        "select sequence, output_index from bank_a.vault_states where quarantined order by 1, 2";
    // A consumed state is not in quarantine, and one that the tables lack is passed over.
    source.set(|ledger| ledger.quarantined = vec![(1, 0), (3, 1), (5, 0), (99, 0)]);
    wait_for_answer(&server, shown, "3|1\n5|0");
    // Its consumption ends it.
    source.set(|ledger| ledger.end = 6);
    wait_for_answer(&server, shown, "3|1");
    source.set(|ledger| ledger.quarantined = Vec::new());
    wait_for_answer(&server, shown, "");
}

#[test]
fn readers_read_only_these_tables_and_keep_their_grants() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 5);
    let rig = open(&server, &folder, &source).expect("opens");
    wait_for_position(&server, 5);
    server.administer("create role reports").expect("made");
    server
        .query(
            "grant usage on schema bank_a to reports;
             grant select on bank_a.vault_position, bank_a.vault_transactions, bank_a.vault_states, bank_a.vault_participants to reports",
        )
        .expect("granted");
    let as_reader = |sql: &str| server.administer(&format!("set role reports; {sql}"));
    let count = "select count(*) from bank_a.vault_states";
    assert_eq!(as_reader(count).expect("granted"), "10");
    for refused in [
        "select count(*) from bank_a.rows",
        "select count(*) from bank_a.commits",
        "select count(*) from bank_a.lease",
        "delete from bank_a.vault_states",
        "update bank_a.vault_position set sequence = 0",
        "insert into bank_a.vault_transactions values (9, '', now())",
        "truncate bank_a.vault_participants",
        "create table bank_a.own (id int)",
    ] {
        let error = as_reader(refused).expect_err(refused).to_string();
        assert!(error.contains("permission denied"), "{error}");
    }
    server
        .query("truncate bank_a.vault_position")
        .expect("emptied");
    let rows = rig.database.figures().vault_rows;
    wait_for("the refill", || rig.database.figures().vault_rows > rows);
    assert_eq!(as_reader(count).expect("still granted"), "10");
}

#[test]
fn a_schema_of_version_1_gets_the_tables() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 5);
    for by_command in [true, false] {
        let mut rig = Rig::open(&settings(&server), folder.path()).expect("opens");
        rig.commit(1, 1, 5);
        drop(rig);
        server
            .query(
                "drop table bank_a.vault_position, bank_a.vault_participants, bank_a.vault_states, bank_a.vault_transactions;
                 update bank_a.lease set version = 1",
            )
            .expect("made older");
        if by_command {
            pgstore::migrate(&settings(&server)).expect("upgraded");
            let version = "select version, holder is null from bank_a.lease";
            assert_eq!(asked(&server, version), "2|t");
            assert_eq!(
                asked(&server, "select count(*) from bank_a.vault_states"),
                "0"
            );
        }
        rig = open(&server, &folder, &source).expect("opens");
        wait_for_position(&server, 5);
        assert_whole(&server, 5);
        assert_eq!(asked(&server, "select version from bank_a.lease"), "2");
        drop(rig);
    }
    let described = "select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relname like 'vault%' and c.relkind = 'r' and a.attnum > 0 and col_description(c.oid, a.attnum) is null";
    assert_eq!(asked(&server, described), "0", "columns without a comment");
}

#[test]
fn a_failing_statement_does_no_harm() {
    let server = server();
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 5);
    let rig = open(&server, &folder, &source).expect("opens");
    wait_for_position(&server, 5);
    // As an operator may do; the node repairs nothing that it did not make.
    server
        .query("alter table bank_a.vault_states rename column notary to other")
        .expect("renamed");
    source.set(|ledger| ledger.end = 10);
    wait_for("a failure", || rig.database.figures().vault_failures > 1);
    rig.commit(1, 1, 50);
    assert!(rig.database.failure().is_none(), "the node goes on");
    server
        .query("alter table bank_a.vault_states rename column other to notary")
        .expect("renamed");
    wait_for_position(&server, 10);
    assert_whole(&server, 10);
}

#[test]
fn a_locked_table_delays_neither_commits_nor_a_takeover() {
    let options = ServerOptions {
        settings: vec!["max_prepared_transactions = 1".into()],
        ..ServerOptions::default()
    };
    let server = PgServer::start(&options).expect("PostgreSQL starts");
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let source = Source::of("cash", 5);
    let first = open(&server, &folders[0], &source).expect("opens");
    wait_for_position(&server, 5);
    // It keeps its locks without a connection.
    server
        .query(
            "begin; lock table bank_a.vault_states, bank_a.vault_position in access exclusive mode;
             prepare transaction 'held'",
        )
        .expect("locked");
    source.set(|ledger| ledger.end = 10);
    wait_for("a failure", || first.database.figures().vault_failures > 0);
    first.commit(1, 1, 50);
    drop(first);
    let second = open(&server, &folders[1], &source).expect("takes over");
    wait_for("a failure", || second.database.figures().vault_failures > 0);
    second.commit(1, 51, 60);
    server.query("rollback prepared 'held'").expect("unlocked");
    wait_for_position(&server, 10);
    assert_whole(&server, 10);
}

#[test]
fn code_of_another_role_never_runs() {
    let server = server();
    // PostgreSQL searches a schema with the name of the user first, and this operator fits better than its own.
    let planted = "create schema ledger;
        create function ledger.planted(bigint, interval) returns interval language plpgsql
          as $$ begin raise exception 'code of another role'; end $$;
        create operator ledger.* (leftarg = bigint, rightarg = interval, function = ledger.planted);
        grant usage on schema ledger to public";
    server.administer(planted).expect("an administrator may");
    let runs = "select 2::bigint * interval '1 millisecond'";
    let error = server.query(runs).expect_err("it is found first");
    assert!(
        error.to_string().contains("code of another role"),
        "{error}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let source = Source::of("cash", 20);
    let _rig = open(&server, &folder, &source).expect("opens");
    wait_for_position(&server, 20);
    assert_whole(&server, 20);
}
