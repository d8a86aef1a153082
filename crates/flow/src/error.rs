//! Flow errors: a stable code, a message and a hint, the same inside a flow, across a session and in a journal.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

use ledger::Rejection;
use ledger::limits::{HINT_BYTES_MAX, MESSAGE_BYTES_MAX};
use primitives::{Coded, ErrorInfo};

/// The part of a panic's text that is kept, in characters.
const PANIC_CHARS_MAX: usize = 500;

/// The failure of a flow or of one of its effects.
///
/// Every error with a stable code converts into it, so `?` works throughout a flow. It crosses a session with its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowError {
    /// Stable code, `domain.snake_case`.
    pub code: Cow<'static, str>,
    /// Description of the failure.
    pub message: String,
    /// Suggested action.
    pub hint: Cow<'static, str>,
    /// Whether the flow's code marked it as transient. The mark does not leave the flow.
    transient: bool,
}

impl FlowError {
    /// Converts a panic of the code that `what` names.
    pub(crate) fn panicked(what: &str, panic: &(dyn Any + Send)) -> FlowError {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no text");
        let text: String = text.chars().take(PANIC_CHARS_MAX).collect();
        FlowError::listed(&PANICKED, format!("{what} panicked: {text}"))
    }

    /// Creates an error with its own code, for flows that reject for reasons of their own.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> FlowError {
        FlowError {
            code: code.into(),
            message: message.into(),
            hint: hint.into(),
            transient: false,
        }
    }

    /// Marks the failure as transient. A flow that ends with it is retried from its last step, after a delay and a bounded
    /// number of times, before it is kept for an operator. The step gets its input again, and an effect is issued again.
    #[must_use]
    pub fn transient(mut self) -> FlowError {
        self.transient = true;
        self
    }

    /// Returns whether the flow's code marked the failure as transient.
    pub fn is_transient(&self) -> bool {
        self.transient
    }

    /// Creates an error with one of this crate's codes. The hint is the action on the code's error page.
    pub(crate) fn listed(info: &'static ErrorInfo, message: impl Into<String>) -> FlowError {
        FlowError::new(info.code, message, info.action)
    }

    /// Creates the error that a rejection carries.
    pub fn from_rejection(rejection: Rejection) -> FlowError {
        FlowError {
            code: Cow::Owned(rejection.code),
            message: rejection.message,
            hint: Cow::Owned(rejection.hint),
            transient: false,
        }
    }

    /// Returns the form that crosses sessions, journals and the API.
    pub fn to_rejection(&self) -> Rejection {
        Rejection::new(self.code.clone(), self.message.clone(), self.hint.clone())
    }

    /// Returns the error as a journal returns it: long texts are cut.
    pub(crate) fn journaled(self) -> FlowError {
        if self.message.len() <= MESSAGE_BYTES_MAX && self.hint.len() <= HINT_BYTES_MAX {
            return self;
        }
        FlowError {
            transient: self.transient,
            ..FlowError::from_rejection(self.to_rejection())
        }
    }

    /// Returns the failure as that of a flow that nobody here has killed. Its counterparty was killed, or says so.
    pub(crate) fn of_unkilled(self) -> FlowError {
        match self.code == KILLED.code {
            true => FlowError::listed(&COUNTERPARTY_KILLED, self.message),
            false => self,
        }
    }

    /// Returns the form that a counterparty may see, without the details of a bug.
    pub(crate) fn for_counterparty(&self) -> Rejection {
        if self.code == PANICKED.code {
            return FlowError::listed(&PANICKED, "the counterparty's flow failed").to_rejection();
        }
        self.to_rejection()
    }
}

impl fmt::Display for FlowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for FlowError {}

impl<E: Coded> From<E> for FlowError {
    fn from(error: E) -> FlowError {
        FlowError::new(error.code(), error.to_string(), error.hint())
    }
}

/// The code of a wait for a counterparty that has ended.
pub const COUNTERPARTY_SILENT_CODE: &str = COUNTERPARTY_SILENT.code;
/// The code of a flow that a client or an operator has ended.
pub const KILLED_CODE: &str = KILLED.code;
/// The code of a refusal because a peer is over its share.
pub const SHARE_EXCEEDED_CODE: &str = SHARE_EXCEEDED.code;

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $cause:literal, $action:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: ErrorInfo = ErrorInfo { code: $code, cause: $cause, action: $action };)*
        /// Every error code of this crate, with its cause and the suggested action.
        pub const ERRORS: &[ErrorInfo] = &[$($name),*];
    };
}

errors! {
    PANICKED = "flow.panicked",
        "The flow's code panicked. The panic is contained: a running flow stands still and is kept for an operator, and a start whose arguments cannot be decoded is refused.",
        "report the panic's text to the author of the flow; when the code is corrected, retry or start the flow, or kill it";
    KILLED = "flow.killed",
        "The flow was killed by an operator or a client.",
        "start it again if the work is still wanted";
    UNKNOWN_FLOW = "flow.unknown",
        "No flow of this name is registered on the node.",
        "check the spelling; 'tally flow describe' lists the flows that can be started";
    BAD_ARGUMENTS = "flow.bad_arguments",
        "The arguments do not fit the flow's argument type.",
        "compare the fields and their types with those that 'tally flow describe NAME' shows";
    BAD_OUTPUT = "flow.bad_output",
        "A stored result does not decode as the flow's output type.",
        "start the binary that the flow ran on";
    VERSION_UNSUPPORTED = "flow.version_unsupported",
        "The counterparty has no responder for any of the versions offered. Or this node has no flow of the version, or starts none of it any more.",
        "agree on a version of the flow that both nodes have; a start takes the newest version if it names none";
    NO_RESPONDER = "flow.no_responder",
        "The counterparty has no responder for this flow, or is a notary, which answers no sessions.",
        "install the application on the counterparty's node; for a notary that takes part in flows, set notary.answer_sessions";
    TOO_MANY_RESPONDERS = "flow.too_many_responders",
        "The node already runs as many responder flows as it admits.",
        "try again later, or raise limits.responders on the counterparty's node";
    SHARE_EXCEEDED = "flow.share_exceeded",
        "The counterparty's node already holds the maximum for this node: of responder flows, of bytes of their messages, or of their journals.",
        "finish or end the sessions that are open with that node, then try again; its operator finds the limits under limits.responders and limits.peer_bytes";
    SESSION_IDLE = "flow.session_idle",
        "The party that opened the session sent nothing for longer than its counterparty waits.",
        "start the flow again; if a person has to decide meanwhile, raise limits.responder_idle_s on the node that waits";
    SESSION_ENDED = "flow.session_ended",
        "The other side of the session ended, or this side closed it, before the message that was awaited or sent.",
        "check that both sides of the flow send and receive in matching order";
    SESSION_UNKNOWN = "flow.session_unknown",
        "The other side does not know this session, because its flow has ended.",
        "start the flow again";
    SESSION_OVERFLOW = "flow.session_overflow",
        "More messages arrived on a session than its flow was ready to take.",
        "let the flow receive its messages, or send fewer messages at a time";
    MESSAGE_TOO_LARGE = "flow.message_too_large",
        "A session message is larger than the limit.",
        "send less at a time, or send an attachment";
    MESSAGE_MALFORMED = "flow.message_malformed",
        "A session message or an answer does not decode as the type expected.",
        "check that both sides run the same version of the flow";
    LIMIT_EXCEEDED = "flow.limit_exceeded",
        "The flow exceeds a limit of the engine: effects, sub-flows, sessions or outstanding effects.",
        "split the work into several flows";
    EFFECT_MISMATCHED = "flow.effect_mismatched",
        "An effect was answered with a result of another kind.",
        "report it: the node and the flow engine disagree";
    REPLAY_MISMATCHED = "flow.replay_mismatched",
        "The flow's code no longer repeats the steps in its journal; the flow is parked.",
        "start the binary that the flow ran on, or kill the flow";
    JOURNAL_UNREADABLE = "flow.journal_unreadable",
        "A flow's journal does not decode; the flow is parked.",
        "start the binary that wrote it, restore the store from a backup, or kill the flow";
    JOURNAL_UNRESOLVED = "flow.journal_unresolved",
        "A flow's journal refers to a transaction or state that the ledger does not hold; the flow is parked.",
        "restore the store from a backup, or kill the flow";
    DUPLICATE_FLOW = "flow.duplicate_id",
        "A flow with this id is already live.",
        "start it under another id";
    NO_NOTARY = "flow.no_notary",
        "The network map names no notary.",
        "add a notary to the network, or name one in the flow's arguments";
    UNKNOWN_PARTY = "flow.unknown_party",
        "The network map does not list the party, or a state concerns a fresh key with an unknown owner.",
        "check the party's name and that its node has joined the network; have the owner of a fresh key tell this node with ledger.prove_key";
    NOT_A_NOTARY = "flow.not_a_notary",
        "The party named as the notary is not a notary of the network.",
        "name a notary of the network; GET /v1/network and 'tally network show' list them";
    NO_STATES = "flow.no_states",
        "The flow was asked to move no state at all, or a state that its transaction does not have.",
        "name each state by the id of the transaction that made it and its index";
    TIMED_OUT = "flow.timed_out",
        "The event that the flow waited for did not come in time.",
        "try again, or allow more time";
    COUNTERPARTY_KILLED = "flow.counterparty_killed",
        "The counterparty's flow was killed, so this flow has failed.",
        "ask the operator of the counterparty for the reason, then start the flow again";
    COUNTERPARTY_SILENT = "flow.counterparty_silent",
        "A counterparty did not do its part before the wait's deadline. A wait ends with the transaction's time window, or after the time that the flow allows for the step, such as 5 minutes for an answer. The flow has released its locks.",
        "ask the operator of the counterparty why its node is silent, then start the flow again";
    UNEXPECTED_SIGNER = "flow.unexpected_signer",
        "A counterparty signed with a key that the transaction does not ask of it.",
        "check the required signers of the transaction's commands";
    SIGNATURE_MISSING = "flow.signature_missing",
        "A required signature was not collected.",
        "open a session with each party that has to sign";
    PROPOSAL_REFUSED = "flow.proposal_refused",
        "The counterparty's check of a proposed transaction refused it.",
        "read the message: it says which term was not accepted";
    NOTARY_ANSWER_INVALID = "flow.notary_answer_invalid",
        "The notary's answer does not fit the request: another key, or a signature over something else.",
        "report it to the operator of the notary";
}
