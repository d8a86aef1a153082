//! Answers of a notary.

use primitives::{Coded, Decode, DecodeError, Decoder, Encode, Encoder, Hash, Timestamp};
use thiserror::Error;

use crate::limits::{CODE_BYTES_MAX, CONFLICTS_MAX, MESSAGE_BYTES_MAX};
use crate::{Party, StateRef, TimeWindow, TransactionSignature, errors};

/// A notary's answer. Encoded as `[0, transaction signature]` or `[1, notary error]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotaryResponse {
    /// The transaction is unique and in time: the notary's signature.
    Signed(TransactionSignature),
    /// The transaction is refused.
    Refused(NotaryError),
}

/// A state that a transaction can't consume or read, because another transaction consumed it. Encoded as `[state ref, consuming
/// hash, is reference]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateConflict {
    /// The state.
    pub input: StateRef,
    /// `Hash::of(ConsumingTx, [id of the transaction that consumed it])`.
    pub consumed_by: Hash,
    /// Whether the refused transaction only reads the state.
    pub is_reference: bool,
}

primitives::record!(StateConflict {
    input,
    consumed_by,
    is_reference
});

/// Reasons why a notary refuses. Encoded as `[number, fields...]`, the numbers as listed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotaryError {
    /// 0: states are consumed already.
    #[error("{}", describe_conflicts(.conflicts))]
    Conflict {
        /// The conflicts, at most 100 of them.
        conflicts: Vec<StateConflict>,
    },
    /// 1: the time window is not open.
    #[error("the time window {window} is not open at {} ms, when the request arrived", .now.as_ms())]
    TimeWindowInvalid {
        /// When the request arrived, on the notary's clock.
        now: Timestamp,
        /// The window.
        window: TimeWindow,
    },
    /// 2: the request itself is wrong: a tear-off that proves nothing, a bad signature.
    #[error("the request is not valid: {code}: {message}")]
    InvalidRequest {
        /// The rejection's code.
        code: String,
        /// Description of the fault.
        message: String,
    },
    /// 3: the queue is long.
    #[error("the notary is busy; about {eta_ms} ms of work wait")]
    Busy {
        /// How long until a new request would be served, in milliseconds.
        eta_ms: u64,
    },
    /// 4: too many states in one request.
    #[error("the transaction consumes and reads {count} states, the notary takes {max}")]
    TooManyStates {
        /// How many.
        count: u64,
        /// How many are allowed.
        max: u64,
    },
    /// 5: the transaction names another notary.
    #[error("the transaction belongs to the notary {0}")]
    WrongNotary(Party),
    /// 6: a validating notary finds the transaction, or its back chain, not valid.
    #[error("the transaction is not valid: {code}: {message}")]
    TransactionInvalid {
        /// The rejection's code.
        code: String,
        /// Description of the fault.
        message: String,
    },
}

fn describe_conflicts(conflicts: &[StateConflict]) -> String {
    let Some(first) = conflicts.first() else {
        return "a state is consumed already".into();
    };
    let more = match conflicts.len() {
        1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    format!(
        "{} was consumed by the transaction with hash {}{more}",
        first.input, first.consumed_by
    )
}

impl NotaryError {
    /// Makes a [`NotaryError::Conflict`]. If there are more than 100 conflicts, only the first 100 are listed.
    pub fn conflict(mut conflicts: Vec<StateConflict>) -> Self {
        conflicts.truncate(CONFLICTS_MAX);
        NotaryError::Conflict { conflicts }
    }

    /// Makes the refusal of a request that an error makes invalid.
    pub fn invalid(error: &(impl Coded + ?Sized)) -> Self {
        let rejection = crate::Rejection::of(error);
        NotaryError::InvalidRequest {
            code: rejection.code,
            message: rejection.message,
        }
    }

    /// Makes a validating notary's refusal of a transaction. Texts longer than the limits are cut.
    pub fn transaction_invalid(rejection: &crate::Rejection) -> Self {
        let rejection = crate::Rejection::new(&rejection.code, &rejection.message, "");
        NotaryError::TransactionInvalid {
            code: rejection.code,
            message: rejection.message,
        }
    }

    /// Tells whether asking again later can help.
    pub fn is_transient(&self) -> bool {
        matches!(self, NotaryError::Busy { .. })
    }
}

impl Coded for NotaryError {
    fn code(&self) -> &'static str {
        match self {
            NotaryError::Conflict { .. } => "notary.conflict",
            NotaryError::TimeWindowInvalid { .. } => "notary.time_window_invalid",
            NotaryError::InvalidRequest { .. } => "notary.invalid_request",
            NotaryError::Busy { .. } => "notary.busy",
            NotaryError::TooManyStates { .. } => "notary.too_many_states",
            NotaryError::WrongNotary(_) => "notary.wrong_notary",
            NotaryError::TransactionInvalid { .. } => "notary.transaction_invalid",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl Encode for NotaryError {
    fn encode(&self, e: &mut Encoder) {
        match self {
            NotaryError::Conflict { conflicts } => {
                e.array(2);
                e.u64(0);
                conflicts.encode(e);
            }
            NotaryError::TimeWindowInvalid { now, window } => {
                e.array(3);
                e.u64(1);
                now.encode(e);
                window.encode(e);
            }
            NotaryError::InvalidRequest { code, message } => {
                e.array(3);
                e.u64(2);
                e.text(code);
                e.text(message);
            }
            NotaryError::Busy { eta_ms } => {
                e.array(2);
                e.u64(3);
                e.u64(*eta_ms);
            }
            NotaryError::TooManyStates { count, max } => {
                e.array(3);
                e.u64(4);
                e.u64(*count);
                e.u64(*max);
            }
            NotaryError::WrongNotary(party) => {
                e.array(2);
                e.u64(5);
                party.encode(e);
            }
            NotaryError::TransactionInvalid { code, message } => {
                e.array(3);
                e.u64(6);
                e.text(code);
                e.text(message);
            }
        }
    }
}

impl Decode for NotaryError {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let fields = d.array()?;
        match (d.u8()?, fields) {
            (0, 2) => Ok(NotaryError::Conflict {
                conflicts: d.vec_of(CONFLICTS_MAX)?,
            }),
            (1, 3) => Ok(NotaryError::TimeWindowInvalid {
                now: Timestamp::decode(d)?,
                window: TimeWindow::decode(d)?,
            }),
            (2, 3) => Ok(NotaryError::InvalidRequest {
                code: d.text_within(CODE_BYTES_MAX)?.to_owned(),
                message: d.text_within(MESSAGE_BYTES_MAX)?.to_owned(),
            }),
            (3, 2) => Ok(NotaryError::Busy { eta_ms: d.u64()? }),
            (4, 3) => Ok(NotaryError::TooManyStates {
                count: d.u64()?,
                max: d.u64()?,
            }),
            (5, 2) => Ok(NotaryError::WrongNotary(Party::decode(d)?)),
            (6, 3) => Ok(NotaryError::TransactionInvalid {
                code: d.text_within(CODE_BYTES_MAX)?.to_owned(),
                message: d.text_within(MESSAGE_BYTES_MAX)?.to_owned(),
            }),
            _ => Err(d.invalid("an unknown kind of notary error")),
        }
    }
}

impl Encode for NotaryResponse {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        match self {
            Self::Signed(signature) => {
                e.u64(0);
                signature.encode(e);
            }
            Self::Refused(error) => {
                e.u64(1);
                error.encode(e);
            }
        }
    }
}

impl Decode for NotaryResponse {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        match d.u8()? {
            0 => Ok(Self::Signed(Decode::decode(d)?)),
            1 => Ok(Self::Refused(Decode::decode(d)?)),
            _ => Err(d.invalid("a notary signs or refuses")),
        }
    }
}
