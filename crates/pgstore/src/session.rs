//! One connection to the server, with its checks.

use tokio_postgres::{Client, NoTls};

use crate::error::DatabaseError;
use crate::settings::Target;

/// Settings of the server without which it may lose confirmed commits.
const DURABLE: [&str; 2] = ["fsync", "full_page_writes"];

/// Connects, and checks that the server's confirmations are durable.
pub(crate) async fn connect(target: &Target) -> Result<Client, DatabaseError> {
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
    for setting in DURABLE {
        if show(&client, setting, target).await? != "on" {
            return Err(DatabaseError::NotDurable(format!("{setting} = off")));
        }
    }
    // A stricter value, for standbys, stays.
    let waits = show(&client, "synchronous_commit", target).await?;
    if ["off", "local"].contains(&waits.as_str()) {
        let set = client.batch_execute("set synchronous_commit = on");
        set.await.map_err(sort)?;
    }
    // A statement ends by itself. Its time is bounded on this side, where an unknown outcome is read back.
    let set = client.batch_execute("set statement_timeout = 0; set lock_timeout = 0");
    set.await.map_err(sort)?;
    Ok(client)
}

async fn show(client: &Client, setting: &str, target: &Target) -> Result<String, DatabaseError> {
    let row = client
        .query_one("select current_setting($1)", &[&setting])
        .await;
    let row = row.map_err(|error| DatabaseError::of(&error, &target.shown))?;
    Ok(row.get(0))
}
