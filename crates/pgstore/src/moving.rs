//! Moving a store to a server, and comparing the two. No node runs meanwhile.

use std::time::Duration;

use primitives::storage::{Reads, Row, TableSet, WriteBatch};
use store::{ChangedKey, POSITION_KEY, encode_commit};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::database::runtime;
use crate::error::DatabaseError;
use crate::fold::Part;
use crate::lease::{self, Lease, Moved, millis, signed};
use crate::row_pages::RowPages;
use crate::schema::{PAGE_ROWS, Statements, VERSION};
use crate::session::{self, PATIENT, within};
use crate::settings::{Settings, Target};

/// Bytes of keys and values in one statement.
const STATEMENT_BYTES: usize = 4 << 20;
/// The lease of a command, which renews it with every statement.
const LEASE: Duration = Duration::from_secs(120);

/// Calls `row` for each row of a store, tables and keys in ascending order, without the row that a cache has for itself.
///
/// # Errors
/// The store can't be read, or the call fails.
pub fn for_each_row<T: TableSet, E: From<DatabaseError>>(
    reads: &dyn Reads<T>,
    row: &mut dyn FnMut(T, Row) -> Result<(), E>,
) -> Result<(), E> {
    for table in T::ALL.iter().copied() {
        let mut from = Vec::new();
        loop {
            let page = reads.scan(table, &from, None, PAGE_ROWS);
            let page = page.map_err(DatabaseError::Store)?;
            let Some((last, _)) = page.last() else { break };
            from = [last.as_slice(), &[0]].concat();
            for found in page {
                if found.0 != POSITION_KEY {
                    row(table, found)?;
                }
            }
        }
    }
    Ok(())
}

/// Makes the tables of a schema if they are missing, and brings a schema of an older version to this one. The user needs the privilege to create a schema in the database.
///
/// # Errors
/// See [`DatabaseError`].
pub fn migrate(settings: &Settings) -> Result<(), DatabaseError> {
    let target = Target::of(settings)?;
    run(async {
        let statements = Statements::of(&target.schema);
        let client = session::connect(&target).await?;
        lease::prepare(&client, &target, &statements).await?;
        let found = lease::look(&client, &target, &statements).await?;
        if found.version == VERSION {
            return Ok(());
        }
        // No process of the older version may run.
        let id = b"migrate".as_slice();
        let Some(lease) = lease::take(&client, &target, &statements, id).await? else {
            let schema = target.schema.clone();
            return Err(match found.moved {
                Moved::No => DatabaseError::Held {
                    schema,
                    holder: found.holder,
                },
                Moved::Importing => DatabaseError::ImportCutShort { schema },
                Moved::Exported(fence) => DatabaseError::Moved { schema, fence },
            });
        };
        lease::upgrade(&client, &target, &statements, lease).await?;
        let values: [&(dyn ToSql + Sync); 1] = [&lease.fence];
        let released = client.execute(&statements.release, &values);
        within(PATIENT, &target, released).await.map(drop)
    })
}

/// Fills an empty schema with the rows of a store, compares all of them, and calls `kept`, which puts the store where no node starts on it. Then
/// nodes may use the schema. A call that is cut short is repeated. `told` gets the number of rows done.
///
/// Returns the first difference if there is one. Then the schema stays closed.
///
/// # Errors
/// See [`DatabaseError`].
pub fn import<T: TableSet>(
    settings: &Settings,
    source: &(dyn Reads<T> + Sync),
    told: &mut (dyn FnMut(u64) + Send),
    kept: impl FnOnce() -> Result<(), DatabaseError> + Send,
) -> Result<Option<String>, DatabaseError> {
    let target = Target::of(settings)?;
    run(async {
        let import = Import::begin(&target).await?;
        if import.lease.head == 0 {
            import.clear().await?;
            import.copy(source, told).await?;
            import.finish::<T>().await?;
        }
        let Import {
            client, statements, ..
        } = &import;
        let difference = compare(client, &target, statements, source, told).await?;
        if difference.is_none() {
            kept()?;
            import.end().await?;
        }
        Ok(difference)
    })
}

/// Closes the schema of an open database for good, after its rows were copied elsewhere. `fence` and `head` are those of
/// [`store::BehindServer`]. Fails if another process has changed the schema.
///
/// # Errors
/// See [`DatabaseError`].
pub fn close(settings: &Settings, fence: u64, head: u64) -> Result<(), DatabaseError> {
    let target = Target::of(settings)?;
    run(async {
        let statements = Statements::of(&target.schema);
        let client = session::connect(&target).await?;
        let (fence, head) = (signed(fence), signed(head));
        let values: [&(dyn ToSql + Sync); 2] = [&fence, &head];
        let closed = client.execute(&statements.close, &values);
        match within(PATIENT, &target, closed).await? {
            1 => Ok(()),
            _ => Err(DatabaseError::Deposed {
                schema: target.schema.clone(),
                holder: "a process that has a newer lease".into(),
            }),
        }
    })
}

/// The first difference between the present rows on the server and those of a store, if there is one.
///
/// The server must have folded all commits ([`crate::DatabaseFigures::folded`]).
///
/// # Errors
/// See [`DatabaseError`].
pub fn difference<T: TableSet>(
    settings: &Settings,
    store: &(dyn Reads<T> + Sync),
    told: &mut (dyn FnMut(u64) + Send),
) -> Result<Option<String>, DatabaseError> {
    let target = Target::of(settings)?;
    run(async {
        let statements = Statements::of(&target.schema);
        let client = session::connect(&target).await?;
        compare(&client, &target, &statements, store, told).await
    })
}

/// Compares the rows on the server, as they are at one moment, with those of a store.
async fn compare<T: TableSet>(
    client: &Client,
    target: &Target,
    statements: &Statements,
    store: &(dyn Reads<T> + Sync),
    told: &mut (dyn FnMut(u64) + Send),
) -> Result<Option<String>, DatabaseError> {
    let mut rows = RowPages::begin(client, target, statements).await?;
    let difference = first_difference(&mut rows, store, told).await?;
    rows.end().await?;
    Ok(difference)
}

async fn first_difference<T: TableSet>(
    rows: &mut RowPages<'_>,
    store: &(dyn Reads<T> + Sync),
    told: &mut (dyn FnMut(u64) + Send),
) -> Result<Option<String>, DatabaseError> {
    let mut own = OwnRows::new(store);
    let mut done = 0;
    while let Some(row) = rows.next().await? {
        let (number, key, value): (i16, &[u8], &[u8]) = (row.get(0), row.get(1), row.get(2));
        let named = |what: &str, number: i16, key: &[u8]| {
            let key = primitives::hex::encode(key);
            format!("{what}: table {number}, key {key}")
        };
        match own.next()? {
            Some((table, (own_key, own_value))) => {
                let own_number = i16::from(table.number());
                if (own_number, own_key.as_slice()) < (number, key) {
                    return Ok(Some(named("only in the store", own_number, &own_key)));
                }
                if (own_number, own_key.as_slice()) > (number, key) {
                    return Ok(Some(named("only on the server", number, key)));
                }
                if own_value != value {
                    return Ok(Some(named("different values", number, key)));
                }
            }
            None => return Ok(Some(named("only on the server", number, key))),
        }
        done += 1;
        if done % PAGE_ROWS as u64 == 0 {
            told(done);
        }
    }
    let more = own.next()?.map(|(table, (key, _))| {
        let key = primitives::hex::encode(&key);
        format!("only in the store: table {}, key {key}", table.number())
    });
    Ok(more)
}

/// Runs work on a runtime of its own. The caller may be on a thread of another one.
fn run<R: Send>(
    work: impl Future<Output = Result<R, DatabaseError>> + Send,
) -> Result<R, DatabaseError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| runtime()?.block_on(work));
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(DatabaseError::System("a command panicked".into())))
    })
}

/// The rows of a store in order, page by page.
struct OwnRows<'a, T> {
    reads: &'a (dyn Reads<T> + Sync),
    table: usize,
    from: Vec<u8>,
    page: std::vec::IntoIter<Row>,
}

impl<'a, T: TableSet> OwnRows<'a, T> {
    fn new(reads: &'a (dyn Reads<T> + Sync)) -> Self {
        Self {
            reads,
            table: 0,
            from: Vec::new(),
            page: Vec::new().into_iter(),
        }
    }

    fn next(&mut self) -> Result<Option<(T, Row)>, DatabaseError> {
        loop {
            let Some(table) = T::ALL.get(self.table).copied() else {
                return Ok(None);
            };
            match self.page.next() {
                Some((key, _)) if key == POSITION_KEY => {}
                Some(row) => return Ok(Some((table, row))),
                None => {
                    let page = self.reads.scan(table, &self.from, None, PAGE_ROWS);
                    let page = page.map_err(DatabaseError::Store)?;
                    match page.last() {
                        Some((last, _)) => self.from = [last.as_slice(), &[0]].concat(),
                        None => (self.table, self.from) = (self.table + 1, Vec::new()),
                    }
                    self.page = page.into_iter();
                }
            }
        }
    }
}

/// A connection that fills a schema.
struct Import<'a> {
    target: &'a Target,
    statements: Statements,
    client: Client,
    lease: Lease,
}

impl<'a> Import<'a> {
    async fn begin(target: &'a Target) -> Result<Self, DatabaseError> {
        let statements = Statements::of(&target.schema);
        let client = session::connect(target).await?;
        lease::prepare(&client, target, &statements).await?;
        let found = lease::look(&client, target, &statements).await?;
        if found.node != target.node {
            return Err(DatabaseError::ForeignSchema {
                schema: target.schema.clone(),
            });
        }
        let mut own = target.clone();
        own.lease = LEASE;
        let id = b"import".as_slice();
        let Some(lease) = lease::take_import(&client, &own, &statements, id).await? else {
            let schema = target.schema.clone();
            return Err(match found.moved {
                Moved::No if found.head > 0 => DatabaseError::NotEmpty { schema },
                Moved::Exported(fence) => DatabaseError::Moved { schema, fence },
                Moved::No | Moved::Importing => DatabaseError::Held {
                    schema,
                    holder: found.holder,
                },
            });
        };
        lease::upgrade(&client, target, &statements, lease).await?;
        Ok(Self {
            target,
            statements,
            client,
            lease,
        })
    }

    /// Deletes the rows of a call that was cut short.
    async fn clear(&self) -> Result<(), DatabaseError> {
        self.execute(&self.statements.clear, &[&self.lease.fence])
            .await
            .map(drop)
    }

    async fn copy<T: TableSet>(
        &self,
        source: &(dyn Reads<T> + Sync),
        told: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), DatabaseError> {
        let mut rows = OwnRows::new(source);
        let (mut part, mut done) = (Part::default(), 0);
        while let Some((table, (key, value))) = rows.next()? {
            let table = table.number();
            part.add(&ChangedKey { table, key }, Some(value));
            done += 1;
            if part.bytes >= STATEMENT_BYTES {
                self.send(0, &std::mem::take(&mut part)).await?;
                told(done);
            }
        }
        self.send(0, &part).await?;
        told(done);
        Ok(())
    }

    /// Makes the first commit, an empty one. From then on the schema counts as filled.
    async fn finish<T: TableSet>(&self) -> Result<(), DatabaseError> {
        let rows = encode_commit::<T>(1, &[WriteBatch::default()]);
        let rows = rows.as_slice();
        let done = self
            .execute(&self.statements.commit, &[&1_i64, &self.lease.fence, &rows])
            .await?;
        match done {
            1 => self.send(1, &Part::default()).await,
            _ => Err(self.deposed()),
        }
    }

    async fn send(&self, number: i64, part: &Part) -> Result<(), DatabaseError> {
        let lease_ms = millis(LEASE);
        self.execute(&self.statements.renew, &[&self.lease.fence, &lease_ms])
            .await?;
        // The present rows include no commit before, and the head is that of the last commit.
        let values = part.values_of([&number, &self.lease.fence, &0, &number]);
        let sent = self.client.query_opt(&self.statements.fold, &values);
        let sent = within(PATIENT, self.target, sent).await?;
        sent.map(drop).ok_or_else(|| self.deposed())
    }

    async fn execute(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, DatabaseError> {
        within(PATIENT, self.target, self.client.execute(statement, values)).await
    }

    /// Lets nodes use the schema, and frees the lease.
    async fn end(&self) -> Result<(), DatabaseError> {
        let ended = self
            .execute(&self.statements.end_import, &[&self.lease.fence])
            .await?;
        match ended {
            1 => Ok(()),
            _ => Err(self.deposed()),
        }
    }

    fn deposed(&self) -> DatabaseError {
        DatabaseError::Deposed {
            schema: self.target.schema.clone(),
            holder: "a process that has a newer lease".into(),
        }
    }
}
