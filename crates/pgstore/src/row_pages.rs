//! The present rows on the server in the order of their keys, page by page.
//!
//! The server may sort a large table for a statement that reads all of it in order, and sends nothing before the sort ends. A page begins
//! at a key of the index, so it takes the same time however many rows there are.

use std::pin::Pin;

use futures_util::TryStreamExt;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, RowStream, Statement};

use crate::error::DatabaseError;
use crate::schema::{PAGE_ROWS, Statements};
use crate::session::{PATIENT, within};
use crate::settings::Target;

/// Begins a transaction that sees the rows as they are at one moment. The server then uses the index in place of a sort, whatever it assumes
/// about the number of rows.
const BEGIN: &str = "begin isolation level repeatable read read only; set local enable_sort = off";

/// Reads all present rows, as they were when it began. The client has no other work meanwhile.
pub(crate) struct RowPages<'a> {
    client: &'a Client,
    target: &'a Target,
    statement: Statement,
    /// The rest of the present page.
    page: Option<Pin<Box<RowStream>>>,
    /// Rows of the present page so far.
    rows: usize,
    /// The table and the key of the last row.
    last: (i16, Vec<u8>),
}

impl<'a> RowPages<'a> {
    /// Begins the transaction of the pages.
    pub(crate) async fn begin(
        client: &'a Client,
        target: &'a Target,
        statements: &Statements,
    ) -> Result<Self, DatabaseError> {
        within(PATIENT, target, client.batch_execute(BEGIN)).await?;
        let statement = client.prepare(&statements.rows_after);
        Ok(Self {
            client,
            target,
            statement: within(PATIENT, target, statement).await?,
            page: None,
            rows: 0,
            // Before every row: tables have the numbers 0 to 255.
            last: (-1, Vec::new()),
        })
    }

    /// Returns the next row: table, key and value. `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<Row>, DatabaseError> {
        loop {
            let mut page = match self.page.take() {
                Some(page) => page,
                None => self.ask().await?,
            };
            let row = within(PATIENT, self.target, page.try_next()).await?;
            if let Some(row) = row {
                self.page = Some(page);
                self.rows += 1;
                self.last = (row.get(0), row.get(1));
                return Ok(Some(row));
            }
            if self.rows < PAGE_ROWS {
                return Ok(None);
            }
        }
    }

    /// Ends the transaction.
    pub(crate) async fn end(mut self) -> Result<(), DatabaseError> {
        // The connection has no answer to a later statement while rows of a page wait to be read.
        self.page = None;
        within(PATIENT, self.target, self.client.batch_execute("commit")).await
    }

    /// Asks for the page after the last row.
    async fn ask(&mut self) -> Result<Pin<Box<RowStream>>, DatabaseError> {
        self.rows = 0;
        let (table, key) = &self.last;
        let values: [&(dyn ToSql + Sync); 2] = [table, key];
        let page = self.client.query_raw(&self.statement, values);
        Ok(Box::pin(within(PATIENT, self.target, page).await?))
    }
}
