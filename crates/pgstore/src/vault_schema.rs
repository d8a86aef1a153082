//! The tables of the vault for SQL users, with their comments. `docs/reference/vault-sql.md` describes them.
//!
//! They are made once and later only emptied and filled, so that grants and other users' views on them stay.

/// A table for SQL users.
struct Table {
    name: &'static str,
    comment: &'static str,
    columns: &'static [Column],
    /// Constraints of the table.
    constraints: &'static [&'static str],
    /// Names of indexes, and what they are on. `{S}` stands for the schema.
    indexes: &'static [(&'static str, &'static str)],
    /// Storage options. Rows that are updated leave room for their next version.
    options: &'static str,
}

/// A name, a type with constraints in which `{S}` stands for the schema, and a comment.
struct Column(&'static str, &'static str, &'static str);

const TABLES: &[Table] = &[
    Table {
        name: "vault_position",
        comment: "How far the vault tables are: one row, written together with the rows that it stands for.",
        columns: &[
            Column(
                "only_row",
                "boolean primary key default true check (only_row)",
                "Keeps the table to one row.",
            ),
            Column(
                "sequence",
                "bigint not null",
                "The tables hold every transaction of the ledger up to this sequence.",
            ),
            Column(
                "ledger_sequence",
                "bigint not null",
                "Last sequence of the ledger when this row was written. Minus sequence, it is the lag in transactions.",
            ),
            Column(
                "written_at",
                "timestamptz not null",
                "When this row was written, on the clock of the server. A running node writes it at least every 10 seconds.",
            ),
            Column("party", "text not null", "Name of the party of the node."),
            Column("states", "bigint not null", "Rows in vault_states."),
            Column(
                "participants",
                "bigint not null",
                "Rows in vault_participants.",
            ),
            Column(
                "fence",
                "bigint not null",
                "Fencing token of the process that writes the tables. For the node only.",
            ),
            Column(
                "form",
                "text not null",
                "Names the form of the rows. A node that writes another form fills the tables again. For the node only.",
            ),
        ],
        constraints: &[],
        indexes: &[],
        options: "fillfactor = 10",
    },
    Table {
        name: "vault_transactions",
        comment: "The transactions in the ledger of the node.",
        columns: &[
            Column(
                "sequence",
                "bigint primary key",
                "Place in the ledger of the node: 1, 2, 3 and so on.",
            ),
            Column(
                "transaction_id",
                "text not null unique",
                "The id as 64 hexadecimal digits, like in the API.",
            ),
            Column(
                "recorded_at",
                "timestamptz not null",
                "When the node recorded it, on the clock of the node.",
            ),
        ],
        constraints: &[],
        indexes: &[("vault_transactions_recorded_at", "(recorded_at)")],
        options: "",
    },
    Table {
        name: "vault_states",
        comment: "The states that are relevant to the node, consumed ones as well.",
        columns: &[
            Column(
                "sequence",
                "bigint not null references {S}.vault_transactions",
                "The transaction that produced the state.",
            ),
            Column(
                "output_index",
                "int not null",
                "Index of the output in that transaction.",
            ),
            Column(
                "transaction_id",
                "text not null",
                "Id of that transaction. To search by id, join vault_transactions, which has the index.",
            ),
            Column(
                "contract",
                "text not null",
                "Name of the contract, which is the type of the state.",
            ),
            Column(
                "notary",
                "text not null",
                "Name of the notary, or its party id if the network map lacks it.",
            ),
            Column(
                "owner",
                "text",
                "Name of the party that owns the state, if the node knows whose key it is.",
            ),
            Column("owner_key", "text", "Key of the owner, in hexadecimal."),
            Column(
                "token",
                "text",
                "Id of the token as 64 hexadecimal digits, if the state is fungible.",
            ),
            Column(
                "symbol",
                "text",
                "Symbol of the token, such as the currency GBP.",
            ),
            Column("issuer", "text", "Name of the party that issued the token."),
            Column(
                "quantity",
                "numeric(20, 0)",
                "Quantity in minor units, such as pence.",
            ),
            Column(
                "linear_id",
                "text",
                "Linear id as 64 hexadecimal digits, if the state is linear.",
            ),
            Column(
                "fields",
                "jsonb not null",
                "Columns that the contract declares: numbers, texts, and bytes in hexadecimal.",
            ),
            Column(
                "recorded_at",
                "timestamptz not null",
                "When the node recorded the transaction that produced it.",
            ),
            Column(
                "status",
                "text not null generated always as (case when consumed_sequence is null then 'unconsumed' else 'consumed' end) stored",
                "unconsumed or consumed.",
            ),
            Column(
                "quarantined",
                "boolean not null default false",
                "Whether a notary reports the unconsumed state as consumed elsewhere. It cannot be spent, and balances of the API leave it out.",
            ),
            Column(
                "consumed_sequence",
                "bigint references {S}.vault_transactions",
                "The transaction that consumed the state.",
            ),
            Column("consumed_by", "text", "Id of that transaction."),
            Column(
                "consumed_at",
                "timestamptz",
                "When the node recorded that transaction.",
            ),
        ],
        constraints: &[
            "primary key (sequence, output_index)",
            "check ((token is null) = (quantity is null))",
        ],
        indexes: &[
            (
                "vault_states_token",
                "(token, quantity) where status = 'unconsumed' and token is not null",
            ),
            (
                "vault_states_contract",
                "(contract) where status = 'unconsumed'",
            ),
            (
                "vault_states_linear_id",
                "(linear_id) where linear_id is not null",
            ),
            (
                "vault_states_consumed",
                "(consumed_sequence) where consumed_sequence is not null",
            ),
            (
                "vault_states_quarantined",
                "(sequence, output_index) where quarantined",
            ),
        ],
        options: "fillfactor = 70",
    },
    Table {
        name: "vault_participants",
        comment: "The participants of each state. An owner is one of them.",
        columns: &[
            Column(
                "sequence",
                "bigint not null",
                "The transaction that produced the state.",
            ),
            Column(
                "output_index",
                "int not null",
                "Index of the output in that transaction.",
            ),
            Column(
                "position",
                "int not null",
                "Place in the list of participants, from 0.",
            ),
            Column(
                "key",
                "text not null",
                "Key of the participant, in hexadecimal.",
            ),
            Column(
                "party",
                "text",
                "Name of the party, if the node knows whose key it is.",
            ),
        ],
        constraints: &[
            "primary key (sequence, output_index, position)",
            "foreign key (sequence, output_index) references {S}.vault_states",
        ],
        indexes: &[],
        options: "",
    },
];

/// The statements on the tables.
pub(crate) struct VaultStatements {
    /// Makes the tables, indexes and comments that are missing.
    pub(crate) create: String,
    /// Empties the tables if the lease has the fence `{FENCE}`.
    pub(crate) clear: String,
    /// Reads the position, the fence, the form, and whether no table was emptied since. No row if the position is missing.
    pub(crate) look: String,
    /// Takes the tables over, and makes the position if it is missing: `$1` the fence, `$2` the party, `$3` the form. Waits for a statement of
    /// the former process that is under way. Returns the position, or no row if the fence is not the lease's, or the tables have another form.
    pub(crate) claim: String,
    /// Writes a batch. Returns no row and writes nothing if the fence or the position differs. `BatchValues` lists the values.
    pub(crate) write: String,
    /// Writes the time and the ledger's end into the position: `$1` the fence, `$2` the position, `$3` the ledger's end.
    pub(crate) refresh: String,
    /// Makes exactly these unconsumed states quarantined: `$1` the fence, `$2` and `$3` sequences and output indexes.
    pub(crate) quarantine: String,
}

impl VaultStatements {
    /// `s` is the quoted name of the schema.
    pub(crate) fn of(s: &str) -> Self {
        let holds = |fence: &str| format!("exists (select from {s}.lease where fence = {fence})");
        let time = |ms: &str| format!("timestamptz 'epoch' + {ms} * interval '1 millisecond'");
        let names: Vec<_> = TABLES
            .iter()
            .map(|table| format!("{s}.{}", table.name))
            .collect();
        Self {
            create: TABLES.iter().map(|table| create(s, table)).collect(),
            clear: format!(
                // The wait for the locks comes first: the lease may be lost meanwhile.
                "do $clear$ begin lock table {names} in access exclusive mode;
                 if {} then truncate {names}; end if; end $clear$",
                holds("{FENCE}"),
                names = names.join(", ")
            ),
            look: format!(
                "select sequence, fence, form,
                   (sequence = 0 or exists (select from {s}.vault_transactions))
                   and (states = 0 or exists (select from {s}.vault_states))
                   and (participants = 0 or exists (select from {s}.vault_participants))
                 from {s}.vault_position"
            ),
            claim: format!(
                "insert into {s}.vault_position as old
                   (sequence, ledger_sequence, written_at, party, states, participants, fence, form)
                 select 0, 0, clock_timestamp(), $2::text, 0, 0, $1::bigint, $3::text where {}
                 on conflict (only_row) do update set fence = excluded.fence, party = excluded.party
                   where old.fence <= excluded.fence and old.form = excluded.form
                 returning sequence",
                holds("$1::bigint")
            ),
            write: format!(
                "with position as (
                   update {s}.vault_position set sequence = $1::bigint, ledger_sequence = $4::bigint,
                     written_at = clock_timestamp(), states = states + cardinality($8::bigint[]),
                     participants = participants + cardinality($25::bigint[])
                   where sequence = $2::bigint and fence = $3::bigint and {holds} returning 1),
                 transactions as (
                   insert into {s}.vault_transactions (sequence, transaction_id, recorded_at)
                   select sequence, id, {at} from unnest($5::bigint[], $6::text[], $7::bigint[]) as t (sequence, id, ms)
                   where exists (select from position)),
                 states as (
                   insert into {s}.vault_states (sequence, output_index, transaction_id, contract, notary, owner,
                     owner_key, token, symbol, issuer, quantity, linear_id, fields, recorded_at,
                     consumed_sequence, consumed_by, consumed_at)
                   select sequence, output_index, id, contract, notary, owner,
                     owner_key, token, symbol, issuer, quantity::numeric, linear_id, fields::jsonb, {at},
                     by_sequence, by_id, {by_at}
                   from unnest($8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[],
                     $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],
                     $21::bigint[], $22::bigint[], $23::text[], $24::bigint[])
                   as t (sequence, output_index, id, contract, notary, owner, owner_key, token, symbol, issuer,
                     quantity, linear_id, fields, ms, by_sequence, by_id, by_ms)
                   where exists (select from position)),
                 participants as (
                   insert into {s}.vault_participants (sequence, output_index, position, key, party)
                   select * from unnest($25::bigint[], $26::bigint[], $27::bigint[], $28::text[], $29::text[]) as t
                   where exists (select from position)),
                 consumed as (
                   update {s}.vault_states s set consumed_sequence = by_sequence, consumed_by = by_id,
                     consumed_at = {by_at}, quarantined = false
                   from unnest($30::bigint[], $31::bigint[], $32::bigint[], $33::text[], $34::bigint[])
                     as t (of_sequence, of_index, by_sequence, by_id, by_ms)
                   where s.sequence = of_sequence and s.output_index = of_index and s.consumed_sequence is null
                     and exists (select from position))
                 select 1 from position",
                holds = holds("$3::bigint"),
                at = time("ms"),
                by_at = time("by_ms"),
            ),
            refresh: format!(
                "update {s}.vault_position set written_at = clock_timestamp(), ledger_sequence = $3::bigint
                 where fence = $1::bigint and sequence = $2::bigint and {}",
                holds("$1::bigint")
            ),
            quarantine: format!(
                "with position as (
                   select from {s}.vault_position where fence = $1::bigint and {} for update),
                 listed as (
                   select * from unnest($2::bigint[], $3::bigint[]) as t (sequence, output_index)),
                 wrong as (
                   select s.sequence, s.output_index, false as wanted from {s}.vault_states s where s.quarantined and not exists (
                     select from listed l where l.sequence = s.sequence and l.output_index = s.output_index)
                   union all
                   select s.sequence, s.output_index, true from {s}.vault_states s
                     join listed l on l.sequence = s.sequence and l.output_index = s.output_index
                     where not s.quarantined and s.consumed_sequence is null)
                 update {s}.vault_states s set quarantined = wrong.wanted from wrong
                 where s.sequence = wrong.sequence and s.output_index = wrong.output_index
                   and exists (select from position)",
                holds("$1::bigint")
            ),
        }
    }
}

fn create(s: &str, table: &Table) -> String {
    let name = format!("{s}.{}", table.name);
    let columns = table.columns.iter();
    let columns = columns.map(|Column(name, kind, _)| format!("{name} {kind}"));
    let constraints = table.constraints.iter().map(|text| (*text).to_owned());
    let parts: Vec<_> = columns.chain(constraints).collect();
    let mut sql = format!("create table if not exists {name} ({})", parts.join(", "));
    if !table.options.is_empty() {
        sql = format!("{sql} with ({})", table.options);
    }
    sql = format!("{sql};\ncomment on table {name} is '{}';\n", table.comment);
    for Column(column, _, comment) in table.columns {
        sql = format!("{sql}comment on column {name}.{column} is '{comment}';\n");
    }
    for (index, on) in table.indexes {
        sql = format!("{sql}create index if not exists {index} on {name} {on};\n");
    }
    sql.replace("{S}", s)
}
