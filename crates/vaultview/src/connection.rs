//! Settings of connections to the file of the view.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Makes SQLite keep the plan of a statement for all bound values. Otherwise it prepares some statements again for each new
/// value, such as that of a `LIMIT`, to find a better plan. That took several times as long as running them, a fifth of a busy
/// node's time.
pub(super) fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(drop)
}
