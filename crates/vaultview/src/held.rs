//! The number of unconsumed states of each contract in a view, read before the view is opened: opening may drop it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::numbers::unsigned;
use super::schema::{APPLICATION_ID, VERSION};

/// Maximum number of contracts that are returned.
const CONTRACTS_MAX: usize = 1_000;

/// Returns the contracts of the unconsumed states in the view in the file `path`, with the number of states of each. Returns
/// nothing if there is no view of this version that can be read; this is no error.
pub fn contracts_held(path: &Path) -> Vec<(String, u64)> {
    if !path.exists() {
        return Vec::new();
    }
    read(path).unwrap_or_default()
}

fn read(path: &Path) -> Result<Vec<(String, u64)>, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id")? != APPLICATION_ID || number("user_version")? != VERSION {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(
        "SELECT c.name, sum(t.states) FROM total t JOIN contract c ON c.id = t.contract
         WHERE t.consumed = 0 GROUP BY c.id HAVING sum(t.states) > 0 ORDER BY c.name",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, unsigned(row, 1)?)))?;
    rows.take(CONTRACTS_MAX).collect()
}
