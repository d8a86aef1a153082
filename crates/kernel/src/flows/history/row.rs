//! The rows of the history. Their layout is part of the stored format.

use flow::{FlowId, KILLED_CODE};
use ledger::{PartyId, Rejection, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Timestamp};

use crate::rows::OUTCOME_TRANSACTIONS_MAX;

/// Maximum size of an output that the history keeps, in bytes. If an output is larger, the row has its size.
pub const HISTORY_RESULT_BYTES_MAX: usize = 4 << 10;
/// Maximum length of the message and of the hint in the row of a failed responder, in characters. A counterparty chooses both.
pub const HISTORY_RESPONDER_TEXT_MAX: usize = 200;
/// Maximum number of parties that a row lists.
pub const HISTORY_PEERS_MAX: usize = 64;
/// The first byte of the key of a row that finds a flow's row. Numbers below it are those of [`HistoryKind`] and of later kinds.
const FLOW_PREFIX: u8 = 128;

/// The kind of an ended flow. The discriminant is part of the stored format: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum HistoryKind {
    /// A flow started on this node failed or was killed.
    Failed = 0,
    /// A flow started on this node succeeded.
    Succeeded = 1,
    /// A flow started by a counterparty failed or was killed.
    FailedResponder = 2,
}

impl HistoryKind {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 3] = [Self::Failed, Self::Succeeded, Self::FailedResponder];
}

/// The start of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryStart {
    /// The registered name.
    pub name: String,
    /// The version that ran. `None` if none ran, and the start named none.
    pub version: Option<u32>,
    /// The time of the start. `None` if the flow was cancelled before it ran.
    pub at: Option<Timestamp>,
    /// The user who started it. `None` if a counterparty did.
    pub user: Option<String>,
    /// The client id.
    pub client_id: Option<String>,
    /// The counterparty that started it.
    pub origin: Option<PartyId>,
}

primitives::record!(HistoryStart {
    name,
    version,
    at,
    user,
    client_id,
    origin
});

/// The end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEnd {
    /// It succeeded with this output, encoded.
    Output(Vec<u8>),
    /// It succeeded with an output of this many bytes, which is too large for the history.
    LargeOutput(u64),
    /// It failed or was killed.
    Failure(Rejection),
}

primitives::variants!(HistoryEnd {
    0 => Output(bytes),
    1 => LargeOutput(size),
    2 => Failure(rejection),
});

impl HistoryEnd {
    /// Returns the end with this result.
    pub(super) fn of(result: Result<&[u8], Rejection>) -> Self {
        match result {
            Ok(output) if output.len() > HISTORY_RESULT_BYTES_MAX => {
                Self::LargeOutput(output.len() as u64)
            }
            Ok(output) => Self::Output(output.to_vec()),
            Err(rejection) => Self::Failure(rejection),
        }
    }

    /// Shortens the texts of a failure.
    pub(super) fn shortened(self, characters_max: usize) -> Self {
        let cut = |text: &str| text.chars().take(characters_max).collect::<String>();
        match self {
            Self::Failure(rejection) => Self::Failure(Rejection::new(
                rejection.code,
                cut(&rejection.message),
                cut(&rejection.hint),
            )),
            end => end,
        }
    }

    /// Returns whether an operator or a client has ended the flow.
    pub(super) fn is_killed(&self) -> bool {
        matches!(self, Self::Failure(rejection) if rejection.code == KILLED_CODE)
    }
}

/// A flow that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// The flow.
    pub flow: FlowId,
    /// Its start. `None` if its journal could not be read.
    pub start: Option<HistoryStart>,
    /// The other parties of its sessions, at most [`HISTORY_PEERS_MAX`].
    pub peers: Vec<PartyId>,
    /// The time of its end by the clock of that moment.
    pub ended_at: Timestamp,
    /// The latest end among this flow and all that ended before it.
    pub latest: Timestamp,
    /// Its number among all ends that the history has noted, from 0.
    pub number: u64,
    /// Its output or failure.
    pub end: HistoryEnd,
    /// The transactions that it recorded, in order, at most [`OUTCOME_TRANSACTIONS_MAX`].
    pub transactions: Vec<TxId>,
}

impl Encode for HistoryRow {
    fn encode(&self, e: &mut Encoder) {
        e.array(8);
        self.flow.encode(e);
        self.start.encode(e);
        self.peers.encode(e);
        self.ended_at.encode(e);
        self.latest.encode(e);
        e.u64(self.number);
        self.end.encode(e);
        self.transactions.encode(e);
    }
}

impl Decode for HistoryRow {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(8)?;
        Ok(Self {
            flow: FlowId::decode(d)?,
            start: Option::decode(d)?,
            peers: d.vec_of(HISTORY_PEERS_MAX)?,
            ended_at: Timestamp::decode(d)?,
            latest: Timestamp::decode(d)?,
            number: d.u64()?,
            end: HistoryEnd::decode(d)?,
            transactions: d.vec_of(OUTCOME_TRANSACTIONS_MAX)?,
        })
    }
}

/// Returns `kind u8 | number u64 BE`: the key of a row.
pub(crate) fn row_key(kind: HistoryKind, number: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(9);
    key.push(kind as u8);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Returns the number in the key of a row.
pub(super) fn number_of(key: &[u8]) -> Option<u64> {
    let number = key.get(1..)?.try_into().ok()?;
    Some(u64::from_be_bytes(number))
}

/// Returns `128 | flow id 16`: the key of the row that holds the key of a flow's row.
pub(crate) fn flow_key(flow: &FlowId) -> Vec<u8> {
    let mut key = Vec::with_capacity(17);
    key.push(FLOW_PREFIX);
    key.extend_from_slice(flow.as_bytes());
    key
}

#[cfg(test)]
mod tests {
    use primitives::hex;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn failed() -> HistoryRow {
        HistoryRow {
            flow: FlowId([0x11; 16]),
            start: Some(HistoryStart {
                name: "cash.pay".to_owned(),
                version: Some(1),
                at: Some(Timestamp::from_ms(1_000)),
                user: Some("ann".to_owned()),
                client_id: None,
                origin: None,
            }),
            peers: vec![PartyId::from_array([0x22; 32])],
            ended_at: Timestamp::from_ms(2_000),
            latest: Timestamp::from_ms(3_000),
            number: 7,
            end: HistoryEnd::Failure(Rejection::new("a.b", "no", "do")),
            transactions: vec![TxId::from_array([0x33; 32])],
        }
    }

    /// The encoding, checked by hand against RFC 8949.
    #[test]
    fn rows_have_their_documented_bytes() {
        let unread = HistoryRow {
            start: None,
            peers: Vec::new(),
            end: HistoryEnd::LargeOutput(5_000),
            transactions: Vec::new(),
            ..failed()
        };
        let (ones, twos, threes) = ("11".repeat(16), "22".repeat(32), "33".repeat(32));
        let start = "8668636173682e706179011903e863616e6ef6f6";
        let end = "820283".to_owned() + "63612e62" + "626e6f" + "62646f";
        let table = [
            (
                failed(),
                format!("8850{ones}{start}815820{twos}1907d0190bb807{end}815820{threes}"),
            ),
            (
                unread,
                format!("8850{ones}f6801907d0190bb8078201191388") + "80",
            ),
        ];
        for (row, expected) in table {
            assert_eq!(hex::encode(&row.to_bytes()), expected);
            assert_eq!(HistoryRow::from_bytes(&row.to_bytes()), Ok(row));
        }
        assert_eq!(
            hex::encode(&row_key(HistoryKind::FailedResponder, 258)),
            "020000000000000102"
        );
        assert_eq!(hex::encode(&flow_key(&failed().flow)), format!("80{ones}"));
    }

    #[test]
    fn an_output_is_kept_up_to_its_limit() {
        let limit = HISTORY_RESULT_BYTES_MAX;
        let table = [
            (0, HistoryEnd::Output(Vec::new())),
            (limit, HistoryEnd::Output(vec![7; limit])),
            (limit + 1, HistoryEnd::LargeOutput(limit as u64 + 1)),
        ];
        for (size, expected) in table {
            assert_eq!(HistoryEnd::of(Ok(&vec![7; size])), expected, "{size} bytes");
        }
    }

    fn start() -> impl Strategy<Value = HistoryStart> {
        let here = (
            "[a-z.]{0,20}",
            option::of(any::<u32>()),
            option::of(any::<u64>()),
        );
        let by = (
            option::of("\\PC{0,9}"),
            option::of("\\PC{0,9}"),
            option::of(any::<[u8; 32]>()),
        );
        (here, by).prop_map(
            |((name, version, at), (user, client_id, origin))| HistoryStart {
                name,
                version,
                at: at.map(Timestamp::from_ms),
                user,
                client_id,
                origin: origin.map(PartyId::from_array),
            },
        )
    }

    fn end() -> impl Strategy<Value = HistoryEnd> {
        prop_oneof![
            vec(any::<u8>(), 0..99).prop_map(HistoryEnd::Output),
            any::<u64>().prop_map(HistoryEnd::LargeOutput),
            ("[a-z.]{1,20}", "\\PC{0,30}", "\\PC{0,30}").prop_map(|(code, message, hint)| {
                HistoryEnd::Failure(Rejection::new(code, message, hint))
            }),
        ]
    }

    proptest! {
        #![proptest_config(properties::config!(256))]

        #[test]
        fn rows_round_trip(
            flow: [u8; 16],
            start in option::of(start()),
            peers in vec(any::<[u8; 32]>(), 0..4),
            times: [u64; 3],
            end in end(),
            transactions in vec(any::<[u8; 32]>(), 0..4),
        ) {
            let [ended_at, latest, number] = times;
            let row = HistoryRow {
                flow: FlowId(flow),
                start,
                peers: peers.into_iter().map(PartyId::from_array).collect(),
                ended_at: Timestamp::from_ms(ended_at),
                latest: Timestamp::from_ms(latest),
                number,
                end,
                transactions: transactions.into_iter().map(TxId::from_array).collect(),
            };
            prop_assert_eq!(HistoryRow::from_bytes(&row.to_bytes()), Ok(row));
        }
    }
}
