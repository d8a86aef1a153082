//! One connection to the server, with its checks.

use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use crate::error::DatabaseError;
use crate::settings::{CONNECT, Target};

/// Settings of the server without which it may lose confirmed commits.
const DURABLE: [&str; 2] = ["fsync", "full_page_writes"];

/// Time for log-in and the checks of a new connection.
const GREET: Duration = Duration::from_secs(10);
/// Addresses of one host that may be tried: of both versions of the internet protocol.
const ADDRESSES_PER_HOST: u32 = 2;
/// Time after which the server gives up waiting for a lock that another statement holds. It bounds the number of connections that wait on the
/// server at the same time: the pipeline of commits sends again after half of it.
const LOCK_MS: u32 = 20_000;
/// Time for an answer while nothing else depends on it, or for the next row of many.
pub(crate) const PATIENT: Duration = Duration::from_secs(60);

/// Connects, and checks that the server's confirmations are durable.
///
/// # Errors
/// The server can't be reached in time, refuses the log-in, or may lose confirmed commits.
pub async fn connect(target: &Target) -> Result<Client, DatabaseError> {
    // No server has as many hosts as do not fit.
    let hosts = u32::try_from(target.config.get_hosts().len()).unwrap_or(u32::MAX);
    let limit = GREET + CONNECT.saturating_mul(hosts.saturating_mul(ADDRESSES_PER_HOST));
    within(limit, target, async { Ok(greet(target).await) }).await?
}

/// Waits for an answer of the server. A late one counts as lost.
///
/// # Errors
/// The statement failed, or its outcome is unknown.
pub async fn within<T>(
    limit: Duration,
    target: &Target,
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, DatabaseError> {
    match tokio::time::timeout(limit, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(DatabaseError::of(&error, &target.shown)),
        Err(_) => Err(DatabaseError::Unreachable {
            database: target.shown.clone(),
            reason: format!("no answer within {} s", limit.as_secs()),
        }),
    }
}

async fn greet(target: &Target) -> Result<Client, DatabaseError> {
    let sort = |error| DatabaseError::of(&error, &target.shown);
    let sort_start = |error| match sort(error) {
        DatabaseError::Server(reason) if target.config.get_password().is_none() => {
            DatabaseError::LogIn {
                database: target.shown.clone(),
                reason,
            }
        }
        error => error,
    };
    let client = match &target.tls {
        Some(tls) => {
            let (client, connection) = target
                .config
                .connect(tls.clone())
                .await
                .map_err(sort_start)?;
            // Every statement reports the end of the connection.
            tokio::spawn(async move { drop(connection.await) });
            client
        }
        None => {
            let (client, connection) = target.config.connect(NoTls).await.map_err(sort_start)?;
            tokio::spawn(async move { drop(connection.await) });
            client
        }
    };
    let settings = session_settings();
    client.batch_execute(&settings).await.map_err(sort)?;
    for setting in DURABLE {
        if show(&client, setting, target).await? != "on" {
            return Err(DatabaseError::NotDurable(format!("{setting} = off")));
        }
    }
    // Standbys too must have written a commit to their disks. A stricter value stays. It is set even if the server has it: only a value that
    // the session has set outlives a change of the server's configuration.
    let waits = match show(&client, "synchronous_commit", target).await?.as_str() {
        "remote_apply" => "remote_apply",
        _ => "on",
    };
    let set = format!("set synchronous_commit = {waits}");
    client.batch_execute(&set).await.map_err(sort)?;
    Ok(client)
}

/// Returns the statements for the settings that would change outcomes if the server, the database or the role set other values.
///
/// - Times: the time of an answer is bounded on this side, where an unknown outcome is read back. Not every version has each of the last three.
/// - `search_path`: another role may own a schema that the server would search first, with functions and operators of its own. They would run
///   as this role. All tables are named with their schema.
/// - The isolation level: at a stricter one, a statement fails where it has to see the row that another one has just changed.
///
/// A read-only default stays. It fails every write with an error, and operators use it to keep writers away.
fn session_settings() -> String {
    format!(
        "set statement_timeout = 0;
         set search_path = pg_catalog, pg_temp;
         set lock_timeout = {LOCK_MS};
         set default_transaction_isolation = 'read committed';
         select set_config(name, '0', false) from pg_settings
           where name in ('idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')"
    )
}

async fn show(client: &Client, setting: &str, target: &Target) -> Result<String, DatabaseError> {
    let row = client
        .query_one("select current_setting($1)", &[&setting])
        .await;
    let row = row.map_err(|error| DatabaseError::of(&error, &target.shown))?;
    Ok(row.get(0))
}
