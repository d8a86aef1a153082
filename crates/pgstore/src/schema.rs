//! The tables of a node's schema, and every statement on them. Those of the vault are in `vault_schema`. `docs/formats/database.md` describes them.

use crate::vault_schema::VaultStatements;

/// The version of the schema. Version 1 had no tables of the vault.
pub(crate) const VERSION: i32 = 2;

/// Rows in one statement of [`Statements::rows_after`].
pub(crate) const PAGE_ROWS: usize = 1_000;

/// The first key of the advisory lock of a session that waits for the lease. The second is the schema.
const WAITING: i32 = 0x7461_6c79;

/// The statements, with the schema's name in them.
pub(crate) struct Statements {
    /// Makes the tables. `{DATABASE}` stands for the database's id, `{NODE}` for the node's.
    pub(crate) create: String,
    /// Brings a schema of an older version to this one: `{FENCE}` stands for the fence.
    pub(crate) upgrade: String,
    /// Makes the schema.
    pub(crate) create_schema: String,
    /// Reads whether the schema is there.
    pub(crate) has_schema: String,
    /// Reads `version`, `database`, `node`, `head`, `fence`, the holder's name, and the milliseconds until the lease ends.
    pub(crate) look: String,
    /// Takes the lease: `$1` this process's id, `$2` its name, `$3` the milliseconds of the lease. Returns the fence and the head, or no row
    /// if another process holds the lease.
    pub(crate) take: String,
    /// Takes the lease to fill an empty schema, or one that an earlier call began to fill. No node takes it until [`Self::end_import`].
    pub(crate) take_import: String,
    /// Opens a schema that was filled, and ends the lease: `$1` the fence.
    pub(crate) end_import: String,
    /// Closes a schema for good, if it has not changed: `$1` the fence, `$2` the head, which the present rows include.
    pub(crate) close: String,
    /// Announces that this session waits for the lease, until the session ends.
    pub(crate) announce: String,
    /// Ends the announcement.
    pub(crate) withdraw: String,
    /// Renews the lease: `$1` the fence, `$2` the milliseconds. Returns the head, and whether another session waits for the lease. Its answer comes after every earlier commit is where the
    /// server's settings want it, standbys included: a mere reading could show a commit that no standby has.
    pub(crate) renew: String,
    /// Names another cache as the holder of the lease: `$1` the fence, `$2` its id.
    pub(crate) rename: String,
    /// Ends the lease: `$1` the fence.
    pub(crate) release: String,
    /// Adds a commit: `$1` its number, `$2` the fence, `$3` its rows. Adds nothing if the fence or the number before differs.
    pub(crate) commit: String,
    /// Moves the present rows forward: `$1` the number of the last commit they include, `$2` the fence, `$3` and `$4` tables and keys to
    /// delete, `$5` to `$7` tables, keys and values to write, `$8` the number that they include until then, `$9` the last commit that was
    /// confirmed. Returns no row and changes nothing if the fence or the number before differs, or if the head is lower.
    pub(crate) fold: String,
    /// Reads the number of the last commit that the present rows include.
    pub(crate) folded: String,
    /// Reads the present rows, in any order. An order could make the server sort a large table before it sends the first row.
    pub(crate) rows: String,
    /// Reads [`PAGE_ROWS`] present rows in their order, after the table `$1` and the key `$2`.
    pub(crate) rows_after: String,
    /// Reads how many commits there are after `$1`.
    pub(crate) count_after: String,
    /// Reads the fence of the commit `$1`.
    pub(crate) fence_of: String,
    /// Reads the commits after `$1`.
    pub(crate) commits: String,
    /// Deletes the commits that the present rows include and that are older than `$1` milliseconds, but for the last one: `$2` the fence. The
    /// server's clock may step back, so all that are deleted come before every one that stays.
    pub(crate) prune: String,
    /// Deletes all present rows: `$1` the fence.
    pub(crate) clear: String,
    /// Reads whether the tables are there.
    pub(crate) exists: String,
    /// The statements on the tables of the vault.
    pub(crate) vault: VaultStatements,
}

impl Statements {
    /// `schema` has been checked: see [`crate::check_schema_name`].
    pub(crate) fn of(schema: &str) -> Self {
        let s = format!("\"{schema}\"");
        let vault = VaultStatements::of(&s);
        Self {
            create: format!(
                "create table {s}.lease (
                   only_row boolean primary key default true check (only_row),
                   version int not null, database bytea not null, node text not null,
                   head bigint not null, fence bigint not null,
                   holder bytea, holder_name text, expires timestamptz not null,
                   moved bigint
                 ) with (fillfactor = 10);
                 create table {s}.folded (
                   only_row boolean primary key default true check (only_row),
                   number bigint not null, fence bigint not null
                 ) with (fillfactor = 10);
                 create table {s}.commits (
                   number bigint primary key, fence bigint not null,
                   at timestamptz not null default now(), rows bytea not null
                 );
                 alter table {s}.commits alter column rows set storage external;
                 create table {s}.rows (
                   tab smallint not null, key bytea not null, value bytea not null, primary key (tab, key)
                 );
                 alter table {s}.rows alter column value set storage external;
                 insert into {s}.lease values (true, {VERSION}, decode('{{DATABASE}}', 'hex'), '{{NODE}}', 0, 0, null, null, now(), null);
                 insert into {s}.folded values (true, 0, 0);
                 {}",
                vault.create
            ),
            upgrade: format!(
                "{} update {s}.lease set version = {VERSION} where fence = {{FENCE}} and version < {VERSION}",
                vault.create
            ),
            create_schema: format!("create schema if not exists {s}"),
            has_schema: format!("select to_regnamespace('{schema}') is not null"),
            look: format!(
                "select version, database, node, head, fence, coalesce(holder_name, 'no process'),
                   (extract(epoch from expires - clock_timestamp()) * 1000)::bigint, moved from {s}.lease"
            ),
            take: format!(
                "with lease as (
                   update {s}.lease set fence = fence + 1, holder = $1, holder_name = $2,
                     expires = clock_timestamp() + $3::bigint * interval '1 millisecond'
                   where moved is null and (holder is null or holder = $1 or expires < clock_timestamp())
                   returning fence, head),
                 folded as (update {s}.folded set fence = lease.fence from lease returning 1)
                 select fence, head from lease, folded"
            ),
            take_import: format!(
                "with lease as (
                   update {s}.lease set fence = fence + 1, holder = $1, holder_name = $2, moved = 0,
                     expires = clock_timestamp() + $3::bigint * interval '1 millisecond'
                   where (moved = 0 or (moved is null and head = 0))
                     and (holder is null or holder = $1 or expires < clock_timestamp())
                   returning fence, head),
                 folded as (update {s}.folded set fence = lease.fence from lease returning 1)
                 select fence, head from lease, folded"
            ),
            end_import: format!(
                "update {s}.lease set moved = null, holder = null where fence = $1 and moved = 0"
            ),
            close: format!(
                "update {s}.lease set moved = $1 where fence = $1 and head = $2
                   and exists (select from {s}.folded where number = $2)"
            ),
            // A lock of the session needs no row, and ends with the process.
            announce: format!(
                "select pg_try_advisory_lock_shared({WAITING}, '{s}'::regnamespace::oid::int)"
            ),
            withdraw: format!(
                "select pg_advisory_unlock_shared({WAITING}, '{s}'::regnamespace::oid::int)"
            ),
            renew: format!(
                "update {s}.lease set expires = clock_timestamp() + $2::bigint * interval '1 millisecond'
                 where fence = $1 returning head, exists (
                   select from pg_locks where locktype = 'advisory' and classid = {WAITING} and objsubid = 2
                     and objid = '{s}'::regnamespace::oid and pid <> pg_backend_pid()
                     and database = (select oid from pg_database where datname = current_database()))"
            ),
            rename: format!("update {s}.lease set holder = $2 where fence = $1"),
            release: format!("update {s}.lease set holder = null, expires = now() where fence = $1"),
            commit: format!(
                "with head as (
                   update {s}.lease set head = $1::bigint where fence = $2::bigint and head = $1::bigint - 1 returning 1)
                 insert into {s}.commits (number, fence, rows) select $1::bigint, $2::bigint, $3::bytea from head"
            ),
            fold: format!(
                "with folded as (
                   update {s}.folded set number = $1 where fence = $2 and number = $8::bigint
                     and exists (select from {s}.lease where head >= $9::bigint) returning 1),
                 gone as (
                   delete from {s}.rows using unnest($3::smallint[], $4::bytea[]) as g (tab, key)
                   where rows.tab = g.tab and rows.key = g.key and exists (select from folded)),
                 put as (
                   insert into {s}.rows (tab, key, value)
                   select * from unnest($5::smallint[], $6::bytea[], $7::bytea[])
                   where exists (select from folded)
                   on conflict (tab, key) do update set value = excluded.value)
                 select 1 from folded"
            ),
            folded: format!("select number from {s}.folded"),
            rows: format!("select tab, key, value from {s}.rows"),
            rows_after: format!(
                "select tab, key, value from {s}.rows where (tab, key) > ($1::smallint, $2::bytea)
                 order by tab, key limit {PAGE_ROWS}"
            ),
            count_after: format!("select count(*) from {s}.commits where number > $1"),
            fence_of: format!("select fence from {s}.commits where number = $1"),
            commits: format!("select number, rows, fence from {s}.commits where number > $1 order by number"),
            prune: format!(
                "delete from {s}.commits where number <= (select number from {s}.folded where fence = $2)
                   and number < (select head from {s}.lease)
                   and number < (select coalesce(min(number), 9223372036854775807) from {s}.commits
                     where at >= now() - $1::bigint * interval '1 millisecond')"
            ),
            clear: format!(
                "delete from {s}.rows where exists (select from {s}.folded where fence = $1 and number = 0)"
            ),
            exists: format!("select to_regclass('{schema}.lease') is not null"),
            vault,
        }
    }
}
