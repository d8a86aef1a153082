//! The view's tables.
//!
//! A state's key is its position in the ledger, so that rows are appended. Values that many rows share are stored in
//! dictionaries, and the rows hold their numbers. There is no index by transaction id, because the ledger's own index has the
//! position; an index with random keys here made a change ten times as expensive. Coins are indexed by quantity, then by
//! position, which is the order that coin selection asks for. Totals are updated with every change, so that sums do not read
//! the states.

/// Changes with every change of the tables: a view of another version is dropped and filled again.
pub(super) const VERSION: i64 = 6;
/// "taly": marks the file as ours.
pub(super) const APPLICATION_ID: i64 = 0x7461_6c79;

/// `state.id` is `sequence << 16 | output`.
pub(super) const OUTPUT_BITS: u32 = 16;

pub(super) const CREATE: &str = "
CREATE TABLE cursor (one INTEGER PRIMARY KEY CHECK (one = 1), upto INTEGER NOT NULL) STRICT;
INSERT INTO cursor VALUES (1, 0);

CREATE TABLE contract (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
-- The party is the key's owner, as far as the node knew when the key came up first: one may have many keys.
CREATE TABLE key (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL UNIQUE, party BLOB) STRICT;
CREATE INDEX key_party ON key (party) WHERE party IS NOT NULL;
CREATE TABLE token (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    symbol TEXT NOT NULL,
    issuer TEXT NOT NULL
) STRICT;

CREATE TABLE state (
    id INTEGER PRIMARY KEY,              -- ledger sequence << 16 | output index
    tx BLOB NOT NULL,
    contract INTEGER NOT NULL,
    token INTEGER,
    quantity ANY,                        -- integer; above 2^63-1 eight bytes, big endian, which sort after integers
    owner INTEGER,                       -- key
    notary INTEGER NOT NULL,             -- key: the party id
    recorded_at INTEGER NOT NULL,        -- ms since the Unix epoch
    participants BLOB,
    data BLOB NOT NULL,
    consumed_seq INTEGER,
    consumed_at INTEGER,
    linear_id BLOB
) STRICT;
CREATE INDEX state_coin ON state (token, quantity, id) WHERE consumed_seq IS NULL AND token IS NOT NULL;
CREATE INDEX state_unconsumed ON state (id) WHERE consumed_seq IS NULL;
CREATE INDEX state_contract ON state (contract, id) WHERE consumed_seq IS NULL;
CREATE INDEX state_owner ON state (owner, id) WHERE consumed_seq IS NULL AND owner IS NOT NULL;
CREATE INDEX state_linear ON state (linear_id) WHERE linear_id IS NOT NULL;
CREATE INDEX state_consumed ON state (consumed_at) WHERE consumed_at IS NOT NULL;
CREATE INDEX state_recorded ON state (recorded_at);

-- Participants of states that have others than their owner; an owner alone is found by state.owner.
CREATE TABLE participant (key INTEGER NOT NULL, state INTEGER NOT NULL, PRIMARY KEY (key, state)) STRICT, WITHOUT ROWID;

-- Keys that were some state's only participant, as its owner: of others, the table above knows every state.
CREATE TABLE sole_owner (key INTEGER PRIMARY KEY) STRICT;

-- Unconsumed states in quarantine: a notary says that they are consumed elsewhere. Few, or none.
CREATE TABLE quarantined (state INTEGER PRIMARY KEY) STRICT;

-- How many states there are and what their quantities sum up to: high * 2^32 + low. 0 stands for no token, no owner.
CREATE TABLE total (
    token INTEGER NOT NULL, contract INTEGER NOT NULL, notary INTEGER NOT NULL, consumed INTEGER NOT NULL,
    quarantined INTEGER NOT NULL,
    states INTEGER NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL,
    PRIMARY KEY (token, contract, notary, consumed, quarantined)
) STRICT, WITHOUT ROWID;
-- The same of unconsumed states, by owner as well.
CREATE TABLE holding (
    owner INTEGER NOT NULL, token INTEGER NOT NULL, contract INTEGER NOT NULL, notary INTEGER NOT NULL,
    quarantined INTEGER NOT NULL,
    states INTEGER NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL,
    PRIMARY KEY (owner, token, contract, notary, quarantined)
) STRICT, WITHOUT ROWID;

-- Columns that contracts declare, and their values.
CREATE TABLE custom (id INTEGER PRIMARY KEY, contract TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL) STRICT;
CREATE TABLE extra (state INTEGER NOT NULL, column INTEGER NOT NULL, value ANY NOT NULL, PRIMARY KEY (state, column))
    STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX extra_value ON extra (column, value, state);

CREATE VIEW states AS SELECT
    lower(hex(s.tx)) AS tx, s.id & 65535 AS output, s.id >> 16 AS sequence, c.name AS contract,
    t.symbol AS symbol, t.issuer AS issuer, lower(hex(t.hash)) AS token, s.quantity AS quantity,
    lower(hex(o.bytes)) AS owner, lower(hex(n.bytes)) AS notary, lower(hex(s.linear_id)) AS linear_id,
    datetime(s.recorded_at / 1000, 'unixepoch') AS recorded_at,
    s.consumed_seq AS consumed_by_sequence, datetime(s.consumed_at / 1000, 'unixepoch') AS consumed_at,
    s.id IN (SELECT state FROM quarantined) AS quarantined
FROM state s JOIN contract c ON c.id = s.contract LEFT JOIN token t ON t.id = s.token
    LEFT JOIN key o ON o.id = s.owner JOIN key n ON n.id = s.notary;
CREATE VIEW balances AS SELECT
    t.symbol AS symbol, t.issuer AS issuer, lower(hex(t.hash)) AS token, sum(a.states) AS states,
    (sum(a.high) << 32) + sum(a.low) AS quantity
FROM total a JOIN token t ON t.id = a.token WHERE a.consumed = 0 AND a.quarantined = 0 GROUP BY a.token HAVING sum(a.states) > 0;
CREATE VIEW contract_columns AS SELECT
    lower(hex(s.tx)) AS tx, s.id & 65535 AS output, k.contract AS contract, k.name AS column, k.kind AS kind,
    e.value AS value, s.consumed_seq AS consumed_by_sequence
FROM extra e JOIN custom k ON k.id = e.column JOIN state s ON s.id = e.state;
";

/// Clamps a number to the largest SQLite integer. No stored sequence, time or size comes near it, so a clamped bound of a query is
/// above all of them.
pub(super) fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a state's key, or `None` if the numbers do not fit it.
pub(super) fn state_id(seq: u64, output: u32) -> Option<i64> {
    let seq = i64::try_from(seq)
        .ok()
        .filter(|seq| *seq < i64::MAX >> OUTPUT_BITS)?;
    (output < 1 << OUTPUT_BITS).then_some(seq << OUTPUT_BITS | i64::from(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        assert_eq!(state_id(1, 2), Some(1 << 16 | 2));
        assert_eq!(state_id(1, 1 << 16), None);
        assert_eq!(state_id(u64::MAX, 0), None);
    }
}
