//! The lease of a schema: the process that may write, and the last commit.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::error::DatabaseError;
use crate::schema::{Statements, VERSION};
use crate::session::within;
use crate::settings::Target;

/// Time for an answer about the lease. A take waits for the commits and folds of the former process that are under way.
const ANSWER: Duration = Duration::from_secs(30);
/// Times to try again if another process makes the schema at the same moment.
const CREATE_TRIES: u32 = 3;

/// The state of the row `lease`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    pub(crate) version: i32,
    pub(crate) database: [u8; 16],
    pub(crate) node: String,
    pub(crate) head: u64,
    pub(crate) fence: i64,
    pub(crate) holder: String,
    /// Time until the lease ends; 0 after its end.
    pub(crate) left: Duration,
    /// Where the data is moved to or from.
    pub(crate) moved: Moved,
}

/// Whether the data of a schema is being moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The schema is in use.
    No,
    /// A store is being moved to the schema.
    Importing,
    /// The data was moved to a node's folder under this fence.
    Exported(i64),
}

/// A lease that this process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) fence: i64,
    pub(crate) head: u64,
}

/// Announces that this session waits for the lease. A holder that cannot renew its lease then ends with it.
pub(crate) async fn announce(
    client: &Client,
    target: &Target,
    statements: &Statements,
) -> Result<(), DatabaseError> {
    // Shared by all that wait, so it is not refused.
    let announced = client.query_one(&statements.announce, &[]);
    within(ANSWER, target, announced).await.map(drop)
}

/// Ends the announcement.
pub(crate) async fn withdraw(
    client: &Client,
    target: &Target,
    statements: &Statements,
) -> Result<(), DatabaseError> {
    let withdrawn = client.query_one(&statements.withdraw, &[]);
    within(ANSWER, target, withdrawn).await.map(drop)
}

/// Makes the tables if they are missing.
pub(crate) async fn prepare(
    client: &Client,
    target: &Target,
    statements: &Statements,
) -> Result<(), DatabaseError> {
    let sort = |error| DatabaseError::of(&error, &target.shown);
    for attempt in 1.. {
        let exists = client.query_one(&statements.exists, &[]);
        if within(ANSWER, target, exists).await?.get(0) {
            break;
        }
        // Making a schema needs a privilege even if it is there.
        let has_schema = client.query_one(&statements.has_schema, &[]);
        let has_schema = within(ANSWER, target, has_schema).await?;
        if !has_schema.get::<_, bool>(0) {
            let made = client.batch_execute(&statements.create_schema).await;
            if let Err(error) = made
                && !(attempt < CREATE_TRIES && is_there(&error))
            {
                return Err(sort(error));
            }
        }
        let mut database = [0; 16];
        getrandom::fill(&mut database)
            .map_err(|error| DatabaseError::System(format!("no random bytes: {error}")))?;
        let create = statements
            .create
            .replace("{DATABASE}", &primitives::hex::encode(&database))
            .replace("{NODE}", &target.node);
        // The statements of one simple query are one transaction.
        match client.batch_execute(&create).await {
            Ok(()) => tracing::info!(schema = target.schema, "made the schema"),
            // Another process may have made it in the meantime.
            Err(error) if attempt < CREATE_TRIES && is_there(&error) => {}
            Err(error) => return Err(sort(error)),
        }
    }
    Ok(())
}

fn is_there(error: &tokio_postgres::Error) -> bool {
    // Unique violation, duplicate schema, duplicate table.
    let codes = ["23505", "42P06", "42P07"];
    error
        .code()
        .is_some_and(|state| codes.contains(&state.code()))
}

/// Reads the row, and refuses a schema of a newer program.
pub(crate) async fn look(
    client: &Client,
    target: &Target,
    statements: &Statements,
) -> Result<LeaseRow, DatabaseError> {
    let row = client.query_one(&statements.look, &[]);
    let row = within(ANSWER, target, row).await?;
    let found: i32 = row.get(0);
    if found > VERSION {
        return Err(DatabaseError::NewerSchema {
            schema: target.schema.clone(),
            found,
            known: VERSION,
        });
    }
    let database: &[u8] = row.get(1);
    let database = database
        .try_into()
        .map_err(|_| DatabaseError::Server("the row lease holds a malformed id".into()))?;
    Ok(LeaseRow {
        version: found,
        database,
        node: row.get(2),
        head: unsigned(row.get(3))?,
        fence: row.get(4),
        holder: row.get(5),
        // Clipped at 0: the lease has ended.
        left: Duration::from_millis(u64::try_from(row.get::<_, i64>(6)).unwrap_or(0)),
        moved: match row.get::<_, Option<i64>>(7) {
            None => Moved::No,
            Some(0) => Moved::Importing,
            Some(fence) => Moved::Exported(fence),
        },
    })
}

/// Brings a schema of an older version to this program's. The caller holds the lease.
pub(crate) async fn upgrade(
    client: &Client,
    target: &Target,
    statements: &Statements,
    lease: Lease,
) -> Result<(), DatabaseError> {
    let version = look(client, target, statements).await?.version;
    if version < VERSION {
        let fence = lease.fence.to_string();
        // The statements of one simple query are one transaction.
        let upgrade = statements.upgrade.replace("{FENCE}", &fence);
        within(ANSWER, target, client.batch_execute(&upgrade)).await?;
        let schema = target.schema.as_str();
        tracing::info!(schema, version, "upgraded the schema to version {VERSION}");
    }
    Ok(())
}

/// Takes the lease for the process `id`, unless another process has it.
pub(crate) async fn take(
    client: &Client,
    target: &Target,
    statements: &Statements,
    id: &[u8],
) -> Result<Option<Lease>, DatabaseError> {
    take_by(&statements.take, client, target, id).await
}

/// Takes the lease to fill the schema, unless another process has it or it is in use.
pub(crate) async fn take_import(
    client: &Client,
    target: &Target,
    statements: &Statements,
    id: &[u8],
) -> Result<Option<Lease>, DatabaseError> {
    take_by(&statements.take_import, client, target, id).await
}

async fn take_by(
    statement: &str,
    client: &Client,
    target: &Target,
    id: &[u8],
) -> Result<Option<Lease>, DatabaseError> {
    let lease_ms = millis(target.lease);
    let values: [&(dyn ToSql + Sync); 3] = [&id, &target.holder, &lease_ms];
    let row = client.query_opt(statement, &values);
    let row = within(ANSWER, target, row).await?;
    let lease = row.map(|row| {
        Ok(Lease {
            fence: row.get(0),
            head: unsigned(row.get(1))?,
        })
    });
    lease.transpose()
}

/// Returns a duration in milliseconds, as the server takes it.
pub(crate) fn millis(duration: Duration) -> i64 {
    // Clipped at 292 million years.
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a number of the server, which is never negative.
pub(crate) fn unsigned(number: i64) -> Result<u64, DatabaseError> {
    u64::try_from(number)
        .map_err(|_| DatabaseError::Server(format!("a commit has the number {number}")))
}

/// Returns a number as the server stores it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("2^63 commits are never reached")
}
