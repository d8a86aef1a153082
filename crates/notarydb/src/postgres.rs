//! The statements for PostgreSQL.

use std::future::Future;
use std::time::Duration;

use ledger::{StateRef, TxId};
use notary::{RequestRecord, UniquenessAnswer};
use pgstore::{DatabaseError, Target};
use primitives::Encode;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::blocking::{ANSWER, Blocking, LOCK_S};
use crate::error::RecordError;
use crate::session::{
    Rows, Session, Trouble, VERSION, add_found, damaged, id_of, index_of, record_of,
};
use crate::settings::Settings;

/// The schema of the tables.
const SCHEMA: &str = "tally_notary";

/// Making a schema needs a privilege even if it is there.
const SCHEMA_IF_MISSING: &str = "do $$ begin
    if to_regnamespace('tally_notary') is null then create schema tally_notary; end if;
end $$;";

/// The key of the advisory lock of a worker that makes the tables.
const MAKING: i64 = 7_021_993_618_441;

const TABLES: &str = "
create table if not exists tally_notary.notary_record (
    one smallint not null primary key, version bigint not null, service bytea not null,
    moved boolean not null default false
);
create table if not exists tally_notary.notary_states (
    tx bytea not null, output bigint not null, consumer bytea not null, primary key (tx, output)
);
create table if not exists tally_notary.notary_transactions (
    id bytea not null primary key, requester bytea not null, at_ms bigint not null, record bytea not null
)";

pub(crate) struct Postgres {
    target: Target,
    client: Option<Client>,
    blocking: Blocking,
}

impl Postgres {
    pub(crate) fn new(settings: &Settings) -> Result<Self, RecordError> {
        let target = Target::of(&pgstore::Settings {
            url: settings.url.clone(),
            password_file: settings.password_file.clone(),
            ca: settings.ca.clone(),
            schema: SCHEMA.to_owned(),
            node: settings.service.id().to_string(),
            holder: String::new(),
            standby: false,
            lease: Duration::ZERO,
            give_up: settings.give_up,
        })?;
        Ok(Self {
            client: None,
            blocking: Blocking::new()?,
            target,
        })
    }

    /// Waits for the answer to a statement.
    fn run<'a, T, F>(&'a self, statement: impl FnOnce(&'a Client) -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>> + 'a,
    {
        let Some(client) = &self.client else {
            let error = RecordError::Unreachable("there is no connection".into());
            return Err(Trouble::Lost(error));
        };
        let answer = self.blocking.answer(ANSWER, statement(client));
        answer
            .map_err(Trouble::Lost)?
            .map_err(|error| self.sort(&error))
    }

    fn sort(&self, error: &tokio_postgres::Error) -> Trouble {
        let state = error.code();
        if state == Some(&SqlState::UNIQUE_VIOLATION) {
            return Trouble::Duplicate;
        }
        if state == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return Trouble::RowHeld(error.to_string());
        }
        if state.is_some_and(|state| state.code().starts_with("40")) {
            return Trouble::Undone(error.to_string());
        }
        let error = DatabaseError::of(error, self.target.shown());
        match error {
            DatabaseError::Unreachable { .. } | DatabaseError::NotReady(_) => {
                Trouble::Lost(error.into())
            }
            error => Trouble::Refused(error.into()),
        }
    }
}

impl Session for Postgres {
    fn connect(&mut self) -> Result<(), RecordError> {
        self.client = None;
        let target = &self.target;
        let connected = async {
            let client = pgstore::connect(target).await?;
            let set = format!("set lock_timeout = '{LOCK_S}s'");
            pgstore::within(ANSWER, target, client.batch_execute(&set)).await?;
            Ok::<_, DatabaseError>(client)
        };
        self.client = Some(self.blocking.wait(connected)?);
        Ok(())
    }

    fn prepare(&mut self, service: &[u8]) -> Result<(u64, Vec<u8>, bool), Trouble> {
        // One transaction, and one worker at a time: even with "if not exists", two that make the same at once fail.
        let statements =
            format!("select pg_advisory_xact_lock({MAKING}); {SCHEMA_IF_MISSING} {TABLES}");
        self.run(|client| async move { client.batch_execute(&statements).await })?;
        let version = VERSION as i64;
        let insert = "insert into tally_notary.notary_record (one, version, service) values (1, $1, $2) on conflict do nothing";
        self.run(|client| async move { client.execute(insert, &[&version, &service]).await })?;
        let wanted = "select version, service, moved from tally_notary.notary_record where one = 1";
        let row = self.run(|client| client.query_one(wanted, &[]))?;
        let version: i64 = row.try_get(0).map_err(|_| damaged("the version"))?;
        let service = row.try_get(1).map_err(|_| damaged("the service"))?;
        let is_moved = row.try_get(2).map_err(|_| damaged("a flag"))?;
        let version = u64::try_from(version).map_err(|_| damaged("the version"))?;
        Ok((version, service, is_moved))
    }

    fn finish_move(&mut self) -> Result<(), Trouble> {
        let update = "update tally_notary.notary_record set moved = true";
        self.run(|client| client.execute(update, &[])).map(drop)
    }

    fn enter(&mut self, rows: &Rows<'_>) -> Result<(), Trouble> {
        let Rows {
            states,
            transactions,
        } = rows;
        let txs = states.iter().map(|(state, _)| &state.tx.as_bytes()[..]);
        let txs: Vec<&[u8]> = txs.collect();
        let outputs: Vec<i64> = states.iter().map(|(state, _)| state.index.into()).collect();
        let consumers = states.iter().map(|(_, id)| &id.as_bytes()[..]);
        let consumers: Vec<&[u8]> = consumers.collect();
        let ids = transactions.iter().map(|(id, _)| &id.as_bytes()[..]);
        let ids: Vec<&[u8]> = ids.collect();
        let records = || transactions.iter().map(|(_, record)| record);
        let requesters = records().map(|record| &record.requester.as_bytes()[..]);
        let requesters: Vec<&[u8]> = requesters.collect();
        // A time beyond the largest number is clipped; the record itself has it whole.
        let times = records().map(|record| i64::try_from(record.at.as_ms()).unwrap_or(i64::MAX));
        let times: Vec<i64> = times.collect();
        let records: Vec<Vec<u8>> = records().map(|record| record.to_bytes()).collect();
        let statement = "with entered as (insert into tally_notary.notary_states \
            select * from unnest($1::bytea[], $2::bigint[], $3::bytea[])) \
            insert into tally_notary.notary_transactions \
            select * from unnest($4::bytea[], $5::bytea[], $6::bigint[], $7::bytea[])";
        self.run(|client| async move {
            client
                .execute(
                    statement,
                    &[
                        &txs,
                        &outputs,
                        &consumers,
                        &ids,
                        &requesters,
                        &times,
                        &records,
                    ],
                )
                .await
        })
        .map(drop)
    }

    fn look_up(&mut self, ids: &[TxId], states: &[StateRef]) -> Result<UniquenessAnswer, Trouble> {
        let ids: Vec<&[u8]> = ids.iter().map(|id| &id.as_bytes()[..]).collect();
        let txs: Vec<&[u8]> = states
            .iter()
            .map(|state| &state.tx.as_bytes()[..])
            .collect();
        let outputs: Vec<i64> = states.iter().map(|state| state.index.into()).collect();
        // A row may be visible before a synchronous standby has it. The update waits for the standby, and so for every row that the
        // look-up has seen. It fails on a server that is itself a standby.
        let statement = "with barrier as (update tally_notary.notary_record set version = version where one = 1) \
            select 0, t.id, 0::bigint, t.id from unnest($1::bytea[]) b(id) \
            join tally_notary.notary_transactions t on t.id = b.id \
            union all select 1, s.tx, s.output, s.consumer from unnest($2::bytea[], $3::bigint[]) b(tx, output) \
            join tally_notary.notary_states s on s.tx = b.tx and s.output = b.output";
        let rows = self
            .run(|client| async move { client.query(statement, &[&ids, &txs, &outputs]).await })?;
        let mut answer = UniquenessAnswer::default();
        for row in rows {
            let kind: i32 = row.try_get(0).map_err(|_| damaged("a row"))?;
            let key = row.try_get(1).map_err(|_| damaged("a row"))?;
            let index = row.try_get(2).map_err(|_| damaged("a row"))?;
            let value = row.try_get(3).map_err(|_| damaged("a row"))?;
            add_found(&mut answer, kind.into(), key, index, value)?;
        }
        Ok(answer)
    }

    fn states_after(
        &mut self,
        after: Option<&StateRef>,
        limit: usize,
    ) -> Result<Vec<(StateRef, TxId)>, Trouble> {
        let (tx, index) = match after {
            Some(state) => (&state.tx.as_bytes()[..], i64::from(state.index)),
            None => (&[][..], -1),
        };
        // Few enough for a page.
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let wanted = "select tx, output, consumer from tally_notary.notary_states \
            where (tx, output) > ($1::bytea, $2::bigint) order by tx, output limit $3";
        let rows =
            self.run(|client| async move { client.query(wanted, &[&tx, &index, &limit]).await })?;
        let rows = rows.into_iter().map(|row| {
            let tx = id_of(row.try_get(0).map_err(|_| damaged("a row"))?)?;
            let index = index_of(row.try_get(1).map_err(|_| damaged("a row"))?)?;
            let consumer = id_of(row.try_get(2).map_err(|_| damaged("a row"))?)?;
            Ok((StateRef::new(tx, index), consumer))
        });
        rows.collect()
    }

    fn transactions_after(
        &mut self,
        after: Option<&TxId>,
        limit: usize,
    ) -> Result<Vec<(TxId, RequestRecord)>, Trouble> {
        let after = after.map_or(&[][..], |id| &id.as_bytes()[..]);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let wanted = "select id, record from tally_notary.notary_transactions where id > $1 order by id limit $2";
        let rows =
            self.run(|client| async move { client.query(wanted, &[&after, &limit]).await })?;
        let rows = rows.into_iter().map(|row| {
            let id = id_of(row.try_get(0).map_err(|_| damaged("a row"))?)?;
            let record = record_of(row.try_get(1).map_err(|_| damaged("a row"))?)?;
            Ok((id, record))
        });
        rows.collect()
    }

    fn standing(&mut self) -> Result<Vec<(String, String)>, Trouble> {
        let wanted = "select name, setting from pg_settings \
            where name in ('synchronous_standby_names', 'synchronous_commit', 'server_version') \
            union all select 'standby ' || coalesce(nullif(application_name, ''), host(client_addr)), sync_state \
            from pg_stat_replication";
        let rows = self.run(|client| client.query(wanted, &[]))?;
        let rows = rows.into_iter().map(|row| {
            let name = row.try_get(0).map_err(|_| damaged("a setting"))?;
            Ok((name, row.try_get(1).map_err(|_| damaged("a setting"))?))
        });
        rows.collect()
    }

    fn server(&self) -> String {
        self.target.shown().to_owned()
    }
}
