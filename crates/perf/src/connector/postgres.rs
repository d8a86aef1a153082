//! A connector for plain PostgreSQL: a table of accounts and a table of transfers, as a user would build payments without a ledger. It starts a
//! private server with the same durability as our own stores: nothing is answered before it is on the disk.
//!
//! A unit is one transfer between two random accounts: a row in `transfers`, and both balances, in one statement and one commit. `[work]` takes
//! `accounts` (default 10000) and `connections` (default 32).

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pgserver::{PASSWORD, PgServer, ServerOptions, USER};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Statement};

use super::message::{Answer, AnswerError, Audited, Hello, HelloProcess, PROTOCOL, Request, Task};

use crate::workload::Boxed;

/// Default number of accounts and of connections.
const ACCOUNTS: u64 = 10_000;
const CONNECTIONS: u64 = 32;
/// Upper limits of both. PostgreSQL has 100 connections by default.
const ACCOUNTS_MAX: u64 = 100_000_000;
const CONNECTIONS_MAX: u64 = 90;
/// Tries of a transfer that ends in a deadlock with another one.
const TRIES: u32 = 20;
/// Answers that may wait to be written.
const ANSWERS_MAX: usize = 4_096;

const TABLES: &str = "drop table if exists transfers, accounts;
create table accounts (id bigint primary key, balance bigint not null);
create table transfers (unit bigint primary key, payer bigint not null, payee bigint not null, amount bigint not null);";
const END_OTHERS: &str = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid()";
/// Locks both accounts in the order of their ids, so that transfers in both directions cannot deadlock.
const TRANSFER: &str = "with locked as (select id from accounts where id in ($2::bigint, $3::bigint) order by id for update),
moved as (update accounts set balance = balance + case when accounts.id = $2::bigint then -$4::bigint else $4::bigint end
  from locked where accounts.id = locked.id returning 1)
insert into transfers select $1::bigint, $2::bigint, $3::bigint, $4::bigint where (select count(*) from moved) = 2";
const SUMS: &str = "select count(*)::bigint, (select coalesce(sum(balance), 0)::bigint from accounts) from transfers";
const WRONG: &str = "select a.id, a.balance, coalesce(t.sum, 0)::bigint from accounts a left join (
  select id, sum(amount) as sum from (
    select payee as id, amount from transfers union all select payer, -amount from transfers) as moves group by id) as t
on t.id = a.id where a.balance <> coalesce(t.sum, 0) limit 5";

/// The server and its connections.
struct Postgres {
    server: PgServer,
    work: tokio::sync::RwLock<Option<Arc<Ready>>>,
}

/// The tables of a preparation and the connections to them.
struct Ready {
    connections: Vec<(Client, Statement)>,
    next: AtomicUsize,
    accounts: u64,
    seed: u64,
}

/// Why a request failed.
struct Wrong {
    code: &'static str,
    message: String,
}

impl From<tokio_postgres::Error> for Wrong {
    fn from(error: tokio_postgres::Error) -> Self {
        let message = match error.as_db_error() {
            Some(db) => format!("{}: {}", db.code().code(), db.message()),
            None => error.to_string(),
        };
        Self {
            code: "pg.failed",
            message,
        }
    }
}

/// Starts a server, then answers requests from standard input until it is closed.
///
/// # Errors
/// PostgreSQL is not installed or does not start, or the pipes fail.
pub fn serve() -> Boxed<'static, Result<(), String>> {
    // Compiled here, and not in each crate that awaits it.
    Box::pin(serve_here())
}

async fn serve_here() -> Result<(), String> {
    let options = ServerOptions {
        settings: vec!["max_connections = 200".to_owned()],
        ..ServerOptions::default()
    };
    let started = tokio::task::spawn_blocking(move || PgServer::start(&options));
    let server = started.await.map_err(|error| error.to_string())?;
    let server = server.map_err(|error| error.to_string())?;
    let version = server.query("show server_version");
    let version = version.map_err(|error| error.to_string())?;
    let hello = Hello {
        protocol: PROTOCOL,
        name: format!("PostgreSQL {version}"),
        processes: vec![HelloProcess {
            name: "postgres".to_owned(),
            pid: server.process().unwrap_or_default(),
            folder: Some(server.data()),
        }],
    };
    let postgres = Arc::new(Postgres {
        server,
        work: tokio::sync::RwLock::new(None),
    });
    let (answers, queued) = mpsc::channel(ANSWERS_MAX);
    // The pipes get threads of their own, which end with the process.
    std::thread::spawn(move || write(&hello, queued));
    let (lines, mut read) = mpsc::channel(ANSWERS_MAX);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = read.recv().await {
        let request: Request =
            serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
        let (postgres, answers) = (Arc::clone(&postgres), answers.clone());
        tokio::spawn(async move {
            let answer = postgres.answer(request).await;
            // The laboratory has stopped reading.
            let _ = answers.send(answer).await;
        });
    }
    // Requests that still run need no answer any more. They and the server end with the runtime.
    Ok(())
}

/// Writes the hello and the answers.
fn write(hello: &Hello, mut answers: mpsc::Receiver<Answer>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut lines = serde_json::to_string(hello)?;
    lines.push('\n');
    let mut taken = Vec::new();
    loop {
        out.write_all(lines.as_bytes())?;
        out.flush()?;
        lines.clear();
        if answers.blocking_recv_many(&mut taken, ANSWERS_MAX) == 0 {
            return Ok(());
        }
        for answer in taken.drain(..) {
            lines.push_str(&serde_json::to_string(&answer)?);
            lines.push('\n');
        }
    }
}

impl Postgres {
    async fn answer(&self, request: Request) -> Answer {
        let result = match request.task {
            Task::Prepare { work, seed, .. } => self.prepare(&work, seed).await,
            Task::Start { unit } => self.transfer(unit).await,
            Task::Audit { .. } => self.audit().await,
            Task::Metrics => self.metrics().await,
        };
        let (ok, error) = match result {
            Ok(value) => (Some(value), None),
            Err(Wrong { code, message }) => {
                let code = code.to_owned();
                (None, Some(AnswerError { code, message }))
            }
        };
        Answer {
            id: request.id,
            ok,
            error,
        }
    }

    async fn prepare(&self, work: &BTreeMap<String, Value>, seed: u64) -> Result<Value, Wrong> {
        let number = |key: &str, default: u64, most: u64| match work.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_u64()
                .filter(|value| (2..=most).contains(value))
                .ok_or_else(|| {
                    bad_work(format!(
                        "{key} is {value}; a number from 2 to {most} is allowed"
                    ))
                }),
        };
        let accounts = number("accounts", ACCOUNTS, ACCOUNTS_MAX)?;
        let wanted = number("connections", CONNECTIONS, CONNECTIONS_MAX)?;
        if let Some(key) = work
            .keys()
            .find(|key| !["accounts", "connections"].contains(&key.as_str()))
        {
            return Err(bad_work(format!(
                "no such key {key}; there are accounts and connections"
            )));
        }
        let mut work = self.work.write().await;
        *work = None;
        let first = self.connect().await?;
        // Late units of the last preparation must not find their way into the new tables.
        first.batch_execute(END_OTHERS).await?;
        first.batch_execute(TABLES).await?;
        let rows = "insert into accounts select generate_series(0, $1::bigint - 1), 0";
        first.execute(rows, &[&signed(accounts)]).await?;
        first.batch_execute("vacuum analyze accounts").await?;
        let mut connections = Vec::new();
        for _ in 0..wanted {
            let client = self.connect().await?;
            let statement = client.prepare(TRANSFER).await?;
            connections.push((client, statement));
        }
        *work = Some(Arc::new(Ready {
            connections,
            next: AtomicUsize::new(0),
            accounts,
            seed,
        }));
        Ok(json!({}))
    }

    async fn connect(&self) -> Result<Client, Wrong> {
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(self.server.port())
            .user(USER)
            .password(PASSWORD)
            .dbname(USER);
        let (client, mut connection) = config.connect(NoTls).await?;
        tokio::spawn(async move {
            // Ends with the connection. Its requests tell of an error.
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message {
                    eprintln!("{notice}");
                }
            }
        });
        Ok(client)
    }

    async fn ready(&self) -> Result<Arc<Ready>, Wrong> {
        let ready = self.work.read().await.clone();
        ready.ok_or_else(|| bad_work("nothing was prepared".to_owned()))
    }

    async fn transfer(&self, unit: u64) -> Result<Value, Wrong> {
        let ready = self.ready().await?;
        // Statements of one connection follow each other; the client queues them.
        let at = ready.next.fetch_add(1, Ordering::Relaxed) % ready.connections.len();
        let (client, statement) = &ready.connections[at];
        let (payer, payee) = ready.accounts_of(unit);
        for tries in 1.. {
            let done = client
                .execute(statement, &[&signed(unit), &payer, &payee, &1_i64])
                .await;
            match done {
                Ok(1) => break,
                Ok(_) => {
                    return Err(bad_work(format!(
                        "accounts {payer} and {payee} are not both there"
                    )));
                }
                Err(error)
                    if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) && tries < TRIES => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(json!({}))
    }

    async fn audit(&self) -> Result<Value, Wrong> {
        let ready = self.ready().await?;
        let (client, _) = &ready.connections[0];
        let sums = client.query_one(SUMS, &[]).await?;
        let (recorded, total): (i64, i64) = (sums.get(0), sums.get(1));
        let mut findings = Vec::new();
        if total != 0 {
            findings.push(format!("the balances add up to {total} instead of 0"));
        }
        for row in client.query(WRONG, &[]).await? {
            let (id, balance, sum): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
            findings.push(format!(
                "account {id} has {balance}, but its transfers add up to {sum}"
            ));
        }
        let recorded = u64::try_from(recorded).unwrap_or_default();
        serde_json::to_value(Audited { recorded, findings })
            .map_err(|error| bad_work(error.to_string()))
    }

    async fn metrics(&self) -> Result<Value, Wrong> {
        let ready = self.ready().await?;
        let (client, _) = &ready.connections[0];
        let sql = "select xact_commit, xact_rollback, deadlocks from pg_stat_database where datname = current_database()";
        let row = client.query_one(sql, &[]).await?;
        let (commits, rollbacks, deadlocks): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        Ok(json!({ "pg_commits": commits, "pg_rollbacks": rollbacks, "pg_deadlocks": deadlocks }))
    }
}

impl Ready {
    /// Returns payer and payee of a unit: two different accounts, spread evenly by the seed.
    fn accounts_of(&self, unit: u64) -> (i64, i64) {
        let mut mixed = unit
            .wrapping_add(self.seed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^= mixed >> 29;
        let payer = mixed % self.accounts;
        let step = 1 + (mixed >> 32) % (self.accounts - 1);
        (signed(payer), signed((payer + step) % self.accounts))
    }
}

fn bad_work(message: String) -> Wrong {
    Wrong {
        code: "pg.bad_work",
        message,
    }
}

/// Converts a number that a limit keeps small, or a unit, of which there are never so many.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the arguments with which this program is a shipped connector.
#[must_use]
pub fn command(program: &Path) -> Vec<String> {
    let words = ["lab", "connector", "postgres"];
    let mut command = vec![program.to_string_lossy().into_owned()];
    command.extend(words.map(str::to_owned));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payer_and_payee_differ() {
        for accounts in [2, 3, 10_000] {
            let ready = Ready {
                connections: Vec::new(),
                next: AtomicUsize::new(0),
                accounts,
                seed: 1,
            };
            for unit in 0..1_000 {
                let (payer, payee) = ready.accounts_of(unit);
                assert!(
                    payer != payee && payer.max(payee) < signed(accounts),
                    "{unit}"
                );
            }
        }
    }
}
