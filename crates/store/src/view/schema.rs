//! The view's tables.
//!
//! A state's key is its place in the ledger, so that rows are appended; repeated things are numbers. There is no index by
//! transaction id: the ledger's own index gives the place (a random index here made a change ten times as dear). Coins
//! are indexed by the magnitude of their quantity, four steps to a doubling, so that this index too grows at few places.

/// Changes with every change of the tables: a view of another version is dropped and filled again.
pub(super) const VERSION: i64 = 1;
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
    magnitude INTEGER,                   -- of quantity: four steps to a doubling
    consumed_seq INTEGER,
    consumed_at INTEGER
) STRICT;
CREATE INDEX state_coin ON state (token, magnitude, id) WHERE consumed_seq IS NULL AND token IS NOT NULL;
CREATE INDEX state_unconsumed ON state (id) WHERE consumed_seq IS NULL;

CREATE VIEW states AS SELECT
    lower(hex(s.tx)) AS tx, s.id & 65535 AS output, s.id >> 16 AS sequence, c.name AS contract,
    t.symbol AS symbol, t.issuer AS issuer, lower(hex(t.hash)) AS token, s.quantity AS quantity,
    lower(hex(o.bytes)) AS owner, lower(hex(n.bytes)) AS notary,
    datetime(s.recorded_at / 1000, 'unixepoch') AS recorded_at,
    s.consumed_seq AS consumed_by_sequence, datetime(s.consumed_at / 1000, 'unixepoch') AS consumed_at
FROM state s JOIN contract c ON c.id = s.contract LEFT JOIN token t ON t.id = s.token
    LEFT JOIN key o ON o.id = s.owner JOIN key n ON n.id = s.notary;
";

/// The step a quantity lies on: quantities of one step differ by less than a quarter of the smaller one.
pub(super) fn magnitude(quantity: u64) -> i64 {
    if quantity < 4 {
        return quantity as i64;
    }
    let top = i64::from(quantity.ilog2());
    let steps = (quantity >> (top - 2)) as i64 & 3;
    (top << 2) + steps
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
    fn magnitudes_grow_with_quantities_in_steps_below_a_quarter() {
        let mut smallest_of_step = 0u64;
        for quantity in (0..100_000u64).chain((17..64).map(|bit| 1 << bit)) {
            let last = magnitude(smallest_of_step);
            assert!(magnitude(quantity) >= last, "{quantity}");
            if magnitude(quantity) > last {
                smallest_of_step = quantity;
            }
            assert!(
                quantity - smallest_of_step < smallest_of_step.max(4) / 4 + 1,
                "{quantity}"
            );
        }
    }

    #[test]
    fn keys() {
        assert_eq!(state_id(1, 2), Some(1 << 16 | 2));
        assert_eq!(state_id(1, 1 << 16), None);
        assert_eq!(state_id(u64::MAX, 0), None);
    }
}
