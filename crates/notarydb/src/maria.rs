//! The statements for MariaDB, alone or as a Galera cluster.
//!
//! A batch is one `insert` into one table, which commits by itself. It must not become a transaction of several statements in one message: if
//! the cluster undoes such a transaction between two of them, MariaDB 10.11 reports no error. It carries out the statements that are
//! left, each as a transaction of its own, and confirms the commit of nothing.

use std::fmt::Write;
use std::time::Duration;

use ledger::{StateRef, TxId};
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Error, OptsBuilder, Row, SslOpts};
use notary::{RequestRecord, UniquenessAnswer};
use primitives::{Encode, hex};

use crate::blocking::{ANSWER, Blocking, LOCK_S};
use crate::error::RecordError;
use crate::session::{
    Rows, Session, Trouble, VERSION, add_found, damaged, id_of, index_of, record_of,
};
use crate::settings::{MariaUrl, Settings};

/// Time to connect to one server.
const CONNECT: Duration = Duration::from_secs(1);

/// Error codes of the server.
mod codes {
    pub(super) const ACCESS_DENIED: u16 = 1045;
    pub(super) const DATABASE_DENIED: u16 = 1044;
    pub(super) const NO_DATABASE: u16 = 1049;
    pub(super) const DUPLICATE: u16 = 1062;
    pub(super) const LOCK_WAIT: u16 = 1205;
    pub(super) const DEADLOCK: u16 = 1213;
    /// The server does not belong to the majority of its cluster, or lost it during a commit, shuts down, or ends the connection.
    pub(super) const NOT_READY: [u16; 8] = [1047, 1053, 1040, 1159, 1161, 1180, 1927, 1290];
    /// The connection of a transaction that the cluster undid was ended.
    pub(super) const INTERRUPTED: u16 = 1317;
}

const TABLES: &str = "
create table if not exists notary_record (
    one tinyint not null primary key, version bigint not null, service blob not null,
    moved tinyint not null default 0
) engine = innodb;
create table if not exists notary_rows (
    kind tinyint unsigned not null, tx binary(32) not null, output int unsigned not null,
    consumer binary(32), requester binary(32), at_ms bigint unsigned, record blob, primary key (kind, tx, output)
) engine = innodb;";
/// The kind of a row that is a consumed state: output `output` of `tx`, and its consumer.
const STATE: u8 = 0;
/// The kind of a row that is an accepted transaction: `tx`, with its first request. The output is 0.
const TRANSACTION: u8 = 1;

pub(crate) struct Maria {
    url: MariaUrl,
    options: OptsBuilder,
    /// The server of the connection, or of the last attempt.
    at: usize,
    connection: Option<Conn>,
    blocking: Blocking,
}

impl Maria {
    pub(crate) fn new(settings: &Settings) -> Result<Self, RecordError> {
        let url = MariaUrl::parse(&settings.url).map_err(RecordError::Settings)?;
        let mut options = OptsBuilder::default()
            .user(Some(url.user.clone()))
            .pass(settings.password()?)
            .db_name(Some(url.database.clone()))
            .prefer_socket(false)
            .stmt_cache_size(0);
        if let Some(ca) = &settings.ca {
            let roots = vec![ca.clone().into()];
            let tls = SslOpts::default()
                .with_root_certs(roots)
                .with_disable_built_in_roots(true);
            options = options.ssl_opts(tls);
        }
        // The first attempt goes to the next one.
        let at = (settings.place + url.hosts.len() - 1) % url.hosts.len();
        Ok(Self {
            url,
            options,
            at,
            connection: None,
            blocking: Blocking::new()?,
        })
    }

    /// Connects to the server whose turn it is, and checks it.
    fn try_connect(&self) -> Result<Conn, RecordError> {
        let (host, port) = &self.url.hosts[self.at];
        let options = self.options.clone();
        let options = options.ip_or_hostname(host).tcp_port(*port);
        let connected = self.blocking.answer(CONNECT, Conn::new(options))?;
        let mut connection = connected.map_err(connect_error)?;
        let server = format!("{host}:{port}");
        let greeted = self.blocking.answer(
            ANSWER,
            greet(&mut connection, &server, self.url.hosts.len() > 1),
        )?;
        greeted.map(|()| connection)
    }

    /// Carries out statements up to the first that fails. Returns their rows.
    fn run<T>(&mut self, statements: &str) -> Result<Vec<T>, Trouble>
    where
        T: FromRow + Send + 'static,
    {
        let Some(connection) = &mut self.connection else {
            let error = RecordError::Unreachable("there is no connection".into());
            return Err(Trouble::Lost(error));
        };
        let answer = self
            .blocking
            .answer(ANSWER, all_rows(connection, statements));
        let rows = answer.map_err(Trouble::Lost)?.map_err(sort)?;
        let rows = rows.into_iter().map(mysql_async::from_row_opt);
        let rows: Result<Vec<T>, _> = rows.collect();
        rows.map_err(|_| damaged("a row has another form"))
    }
}

/// Sets every setting of the connection on which an outcome depends, and checks a server that accepts connections. One of several servers must
/// belong to a cluster: alone it would be a record of its own.
async fn greet(
    connection: &mut Conn,
    server: &str,
    is_one_of_several: bool,
) -> Result<(), RecordError> {
    let done = all_rows(connection, &session_settings()).await;
    done.map(drop).map_err(connect_error)?;
    let checks = "select @@innodb_flush_log_at_trx_commit, @@wsrep_on, coalesce(@@wsrep_provider_options, '')";
    let checked: Option<(i64, i64, String)> = connection
        .query_first(checks)
        .await
        .map_err(connect_error)?;
    let Some((flush, in_cluster, options)) = checked else {
        return Err(RecordError::Unreachable("an empty answer".into()));
    };
    if flush != 1 {
        let text = format!("innodb_flush_log_at_trx_commit is {flush}, not 1, on {server}");
        return Err(RecordError::NotDurable(text));
    }
    for unsafe_option in ["pc.ignore_sb = true", "pc.ignore_quorum = true"] {
        if options.contains(unsafe_option) {
            let text = format!("{unsafe_option} on {server}");
            return Err(RecordError::NotDurable(text));
        }
    }
    if in_cluster == 0 && is_one_of_several {
        let text = format!("{server} belongs to no cluster, and the URL names several servers");
        return Err(RecordError::NotDurable(text));
    }
    if in_cluster == 1 {
        let standing = "select variable_name, variable_value from information_schema.global_status \
            where variable_name in ('wsrep_ready', 'wsrep_cluster_status') order by 1";
        let standing: Vec<(String, String)> =
            connection.query(standing).await.map_err(connect_error)?;
        let values: Vec<&str> = standing.iter().map(|(_, value)| value.as_str()).collect();
        if values != ["Primary", "ON"] {
            let text = format!("{server} does not belong to the cluster's majority");
            return Err(RecordError::Unreachable(text));
        }
    }
    Ok(())
}

/// Returns the statements for the settings that would change outcomes if the server had other values. With a `sql_select_limit`, a look-up
/// would lack rows without an error, and its states would count as free. Without these modes, a value that does not fit would be cut, and
/// a table could get an engine without transactions.
fn session_settings() -> String {
    format!(
        "set session autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
         sql_select_limit = {}, sql_big_selects = 1, sql_safe_updates = 0, max_statement_time = 0, \
         unique_checks = 1, innodb_lock_wait_timeout = {LOCK_S}; \
         set session transaction isolation level repeatable read",
        u64::MAX
    )
}

/// Carries out statements up to the first that fails. Returns their rows.
async fn all_rows(connection: &mut Conn, statements: &str) -> Result<Vec<Row>, Error> {
    let mut result = connection.query_iter(statements).await?;
    let mut rows = Vec::new();
    loop {
        let is_last = result.is_empty();
        rows.extend(result.collect::<Row>().await?);
        if is_last {
            // The library keeps the failure of a later statement until it is asked for rows once more.
            return Ok(rows);
        }
    }
}

impl Session for Maria {
    fn connect(&mut self) -> Result<(), RecordError> {
        // Closes the old connection without a word to a server that may not answer.
        self.connection = None;
        let mut last = None;
        for _ in 0..self.url.hosts.len() {
            self.at = (self.at + 1) % self.url.hosts.len();
            match self.try_connect() {
                Ok(connection) => {
                    self.connection = Some(connection);
                    return Ok(());
                }
                // Another server may be in order. The more telling error is kept.
                Err(error @ RecordError::Unreachable(_)) if last.is_some() => drop(error),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| RecordError::Unreachable("no server is named".into())))
    }

    fn prepare(&mut self, service: &[u8]) -> Result<(u64, Vec<u8>, bool), Trouble> {
        let service = literal(service);
        let statements = format!(
            "{TABLES} insert ignore into notary_record (one, version, service) values (1, {VERSION}, {service});"
        );
        self.run::<Row>(&statements)?;
        let wanted = "select version, service, moved from notary_record where one = 1";
        let rows: Vec<(u64, Vec<u8>, bool)> = self.run(wanted)?;
        rows.into_iter()
            .next()
            .ok_or_else(|| damaged("the row of the notary is missing"))
    }

    fn finish_move(&mut self) -> Result<(), Trouble> {
        // With `sql_safe_updates`, a server refuses an update without a key.
        self.run::<Row>("update notary_record set moved = 1 where one = 1")
            .map(drop)
    }

    fn enter(&mut self, rows: &Rows<'_>) -> Result<(), Trouble> {
        match enter_statement(rows) {
            Some(statement) => self.run::<Row>(&statement).map(drop),
            None => Ok(()),
        }
    }

    fn look_up(&mut self, ids: &[TxId], states: &[StateRef]) -> Result<UniquenessAnswer, Trouble> {
        let mut answer = UniquenessAnswer::default();
        let statements = look_up_statements(ids, states);
        let rows: Vec<(i64, Vec<u8>, i64, Vec<u8>)> = self.run(&statements)?;
        for (kind, key, index, value) in rows {
            add_found(&mut answer, kind, &key, index, &value)?;
        }
        Ok(answer)
    }

    fn states_after(
        &mut self,
        after: Option<&StateRef>,
        limit: usize,
    ) -> Result<Vec<(StateRef, TxId)>, Trouble> {
        let place = after.map_or(String::new(), |state| {
            let tx = literal(state.tx.as_bytes());
            let index = state.index;
            // The first condition lets the server begin at that key.
            format!("and tx >= {tx} and (tx > {tx} or output > {index})")
        });
        let wanted = format!(
            "select tx, output, consumer from notary_rows where kind = {STATE} {place} order by tx, output limit {limit}"
        );
        let rows: Vec<(Vec<u8>, i64, Vec<u8>)> = self.run(&wanted)?;
        let states = rows.into_iter().map(|(tx, index, consumer)| {
            let state = StateRef::new(id_of(&tx)?, index_of(index)?);
            Ok((state, id_of(&consumer)?))
        });
        states.collect()
    }

    fn transactions_after(
        &mut self,
        after: Option<&TxId>,
        limit: usize,
    ) -> Result<Vec<(TxId, RequestRecord)>, Trouble> {
        let place = after.map_or(String::new(), |id| {
            format!("and tx > {}", literal(id.as_bytes()))
        });
        let wanted = format!(
            "select tx, record from notary_rows where kind = {TRANSACTION} {place} order by tx limit {limit}"
        );
        let rows: Vec<(Vec<u8>, Vec<u8>)> = self.run(&wanted)?;
        let rows = rows.into_iter();
        rows.map(|(id, record)| Ok((id_of(&id)?, record_of(&record)?)))
            .collect()
    }

    fn standing(&mut self) -> Result<Vec<(String, String)>, Trouble> {
        let wanted = "show status where variable_name in ('wsrep_cluster_size', 'wsrep_cluster_status', \
                      'wsrep_local_state_comment', 'wsrep_flow_control_paused', 'wsrep_incoming_addresses')";
        self.run(wanted)
    }

    fn server(&self) -> String {
        let (host, port) = &self.url.hosts[self.at];
        format!("{host}:{port}")
    }
}

/// Returns the statements that look up transactions and consumed states. Each sees the rows of its own moment.
///
/// The states come first. A batch may be entered between the two, such as one whose answer was lost. With the transactions first, the answer
/// would then show what the batch consumed and lack what it accepted: a transaction that reads a state which a later one of the same batch
/// consumes would be refused for good, although it was accepted. In this order the answer lacks a consumer at most. An entry that seems
/// free then finds its key, and is looked up again.
fn look_up_statements(ids: &[TxId], states: &[StateRef]) -> String {
    let mut text = String::from("set session wsrep_sync_wait = 1;");
    if !states.is_empty() {
        push_rows(&mut text, "b(tx, output)", states, |text, state| {
            push_literal(text, state.tx.as_bytes());
            let _ = write!(text, ",{}", state.index);
        });
        let _ = write!(
            text,
            "select 1, s.tx, s.output, s.consumer from b straight_join notary_rows s \
             on s.kind = {STATE} and s.tx = b.tx and s.output = b.output;"
        );
    }
    if !ids.is_empty() {
        push_rows(&mut text, "b(id)", ids, |text, id| {
            push_literal(text, id.as_bytes());
        });
        let _ = write!(
            text,
            "select 0, t.tx, 0, t.tx from b straight_join notary_rows t \
             on t.kind = {TRANSACTION} and t.tx = b.id and t.output = 0;"
        );
    }
    text.push_str("set session wsrep_sync_wait = 0");
    text
}

/// Returns the one statement that enters rows, or `None` if there are none.
fn enter_statement(rows: &Rows<'_>) -> Option<String> {
    if rows.states.is_empty() && rows.transactions.is_empty() {
        return None;
    }
    let mut text = String::from("insert into notary_rows values ");
    for (state, consumer) in &rows.states {
        let _ = write!(text, "({STATE},");
        push_literal(&mut text, state.tx.as_bytes());
        let _ = write!(text, ",{},", state.index);
        push_literal(&mut text, consumer.as_bytes());
        text.push_str(",null,null,null),");
    }
    for (id, record) in &rows.transactions {
        let _ = write!(text, "({TRANSACTION},");
        push_literal(&mut text, id.as_bytes());
        text.push_str(",0,null,");
        push_literal(&mut text, record.requester.as_bytes());
        let _ = write!(text, ",{},", record.at.as_ms());
        push_literal(&mut text, &record.to_bytes());
        text.push_str("),");
    }
    // The comma after the last row.
    text.pop();
    Some(text)
}

/// Adds the beginning of a statement that has these rows as a table. `table` is its name with the columns.
fn push_rows<T>(text: &mut String, table: &str, rows: &[T], push: impl Fn(&mut String, &T)) {
    let _ = write!(text, "with {table} as (values ");
    for (at, row) in rows.iter().enumerate() {
        text.push_str(if at == 0 { "(" } else { ",(" });
        push(text, row);
        text.push(')');
    }
    text.push_str(") ");
}

fn literal(bytes: &[u8]) -> String {
    let mut text = String::new();
    push_literal(&mut text, bytes);
    text
}

fn push_literal(text: &mut String, bytes: &[u8]) {
    text.push_str("x'");
    text.push_str(&hex::encode(bytes));
    text.push('\'');
}

/// Sorts the error of a connection that is made.
fn connect_error(error: Error) -> RecordError {
    match &error {
        Error::Server(answer) => match answer.code {
            codes::ACCESS_DENIED | codes::DATABASE_DENIED | codes::NO_DATABASE => {
                RecordError::LogIn(answer.message.clone())
            }
            code if codes::NOT_READY.contains(&code) => {
                RecordError::Unreachable(answer.message.clone())
            }
            code => RecordError::Server(format!("{} ({code})", answer.message)),
        },
        _ => RecordError::Unreachable(error.to_string()),
    }
}

/// Sorts the error of a statement.
fn sort(error: Error) -> Trouble {
    match &error {
        Error::Server(answer) => match answer.code {
            codes::DUPLICATE => Trouble::Duplicate,
            codes::DEADLOCK => Trouble::Undone(answer.message.clone()),
            codes::LOCK_WAIT => Trouble::RowHeld(answer.message.clone()),
            codes::INTERRUPTED => Trouble::Lost(RecordError::Unreachable(answer.message.clone())),
            code if codes::NOT_READY.contains(&code) => {
                Trouble::Lost(RecordError::Unreachable(answer.message.clone()))
            }
            code => Trouble::Refused(RecordError::Server(format!("{} ({code})", answer.message))),
        },
        _ => Trouble::Lost(RecordError::Unreachable(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_async::ServerError;
    use primitives::Coded;

    #[test]
    fn a_look_up_reads_consumers_before_accepted_transactions() {
        let (id, state) = (
            TxId::from_array([1; 32]),
            StateRef::new(TxId::from_array([2; 32]), 3),
        );
        // (transactions, states, kinds of the rows in the order of the statements)
        let table: &[(&[TxId], &[StateRef], &[&str])] = &[
            (&[id], &[state], &["1", "0"]),
            (&[id], &[], &["0"]),
            (&[], &[state], &["1"]),
            (&[], &[], &[]),
        ];
        for (ids, states, expected) in table {
            let text = look_up_statements(ids, states);
            let kinds = text.split("select ").skip(1);
            let kinds: Vec<&str> = kinds.filter_map(|one| one.split(',').next()).collect();
            assert_eq!(kinds, *expected, "{text}");
        }
    }

    #[test]
    fn errors_of_statements_are_sorted_by_their_number_whatever_they_say() {
        for message in ["", "Lock wait timeout exceeded; try restarting transaction"] {
            for (code, wanted) in [
                (codes::DUPLICATE, "duplicate"),
                (codes::DEADLOCK, "undone"),
                (codes::LOCK_WAIT, "row held"),
                (codes::INTERRUPTED, "lost record.unreachable"),
                (codes::NOT_READY[0], "lost record.unreachable"),
                (1146, "refused record.server"),
            ] {
                let error = Error::Server(ServerError {
                    code,
                    message: message.to_owned(),
                    state: "HY000".to_owned(),
                });
                let found = match sort(error) {
                    Trouble::Duplicate => "duplicate".to_owned(),
                    Trouble::Undone(_) => "undone".to_owned(),
                    Trouble::RowHeld(_) => "row held".to_owned(),
                    Trouble::Lost(error) => format!("lost {}", error.code()),
                    Trouble::Refused(error) => format!("refused {}", error.code()),
                };
                assert_eq!(found, wanted, "{code} {message}");
            }
        }
    }
}
