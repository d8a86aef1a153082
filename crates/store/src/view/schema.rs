//! The view's tables.
//!
//! A state's key is its place in the ledger, so that rows are appended; repeated things are numbers. There is no index by
//! transaction id: the ledger's own index gives the place (a random index here made a change ten times as dear). Coins
//! are indexed by quantity, then by place: the order in which coin selection asks for them.

/// Changes with every change of the tables: a view of another version is dropped and filled again.
pub(super) const VERSION: i64 = 2;
/// "taly": marks the file as ours.
pub(super) const APPLICATION_ID: i64 = 0x7461_6c79;

/// `state.id` is `sequence << 16 | output`.
pub(super) const OUTPUT_BITS: u32 = 16;

pub(super) const CREATE: &str = "
CREATE TABLE cursor (one INTEGER PRIMARY KEY CHECK (one = 1), upto INTEGER NOT NULL) STRICT;
INSERT INTO cursor VALUES (1, 0);

CREATE TABLE contract (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE key (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE token (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    symbol TEXT NOT NULL,
    issuer TEXT NOT NULL,
    quantity TEXT NOT NULL DEFAULT '0',  -- unconsumed, in minor units; text because it may exceed 64 bits
    states INTEGER NOT NULL DEFAULT 0    -- unconsumed
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
    magnitude INTEGER,                   -- the quantity, at most 2^63-1
    consumed_seq INTEGER,
    consumed_at INTEGER,
    linear_id BLOB
) STRICT;
CREATE INDEX state_coin ON state (token, magnitude, id) WHERE consumed_seq IS NULL AND token IS NOT NULL;
CREATE INDEX state_unconsumed ON state (id) WHERE consumed_seq IS NULL;
CREATE INDEX state_linear ON state (linear_id) WHERE linear_id IS NOT NULL;
CREATE INDEX state_consumed ON state (consumed_at) WHERE consumed_at IS NOT NULL;
CREATE INDEX state_recorded ON state (recorded_at);

-- Participants of states that have others than their owner; an owner alone is found by state.owner.
CREATE TABLE participant (key INTEGER NOT NULL, state INTEGER NOT NULL, PRIMARY KEY (key, state)) STRICT, WITHOUT ROWID;

CREATE VIEW states AS SELECT
    lower(hex(s.tx)) AS tx, s.id & 65535 AS output, s.id >> 16 AS sequence, c.name AS contract,
    t.symbol AS symbol, t.issuer AS issuer, lower(hex(t.hash)) AS token, s.quantity AS quantity,
    lower(hex(o.bytes)) AS owner, lower(hex(n.bytes)) AS notary,
    datetime(s.recorded_at / 1000, 'unixepoch') AS recorded_at,
    s.consumed_seq AS consumed_by_sequence, datetime(s.consumed_at / 1000, 'unixepoch') AS consumed_at
FROM state s JOIN contract c ON c.id = s.contract LEFT JOIN token t ON t.id = s.token
    LEFT JOIN key o ON o.id = s.owner JOIN key n ON n.id = s.notary;
";

/// What coins are ordered by: the quantity, clamped to what an SQLite integer holds.
pub(super) fn magnitude(quantity: u64) -> i64 {
    i64::try_from(quantity).unwrap_or(i64::MAX)
}

/// A state's key; `None` where the numbers do not fit it.
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
