//! The flows that clients start, with their predicted results.

use finance::IssuedToken;
use finance::flows::{PayArgs, Payment};
use kernel::Wait;
use primitives::{Encode, Hash};

use crate::membership::Membership;

/// Time over which clients start their flows, in microseconds.
pub const WORK_US: u64 = 2_000_000;

/// A change of a node's balance.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub token: usize,
    pub node: usize,
    pub by: i64,
}

/// The predicted result of a flow.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A number of transactions that move cash, with the changes of balances.
    Cash {
        transactions: usize,
        moves: Vec<Move>,
    },
    /// An answer.
    Answer(u64),
    /// Any end without a transaction. Flows of an adversary have this effect.
    Nothing,
    /// Transactions that depend on a silent counterparty, or a failure that it may cause.
    Perhaps,
}

/// A flow that a client starts.
#[derive(Clone, Debug)]
pub struct PlannedFlow {
    pub node: usize,
    /// Start time after the beginning of its phase, in microseconds.
    pub at_us: u64,
    pub name: &'static str,
    pub args: Vec<u8>,
    pub effect: Effect,
    /// The client's waits in order. The last one is `Delivered`.
    pub waits: Vec<Wait>,
    /// Time from the flow's acceptance until the client cancels it, in microseconds. The flow may be done by then.
    pub cancelled_after_us: Option<u64>,
    /// The file that the client uploads before each start, with its size.
    pub upload: Option<(Hash, u64)>,
    /// Whether the client starts the flow again if its coins stay locked. Flows of several nodes may lock coins that they need from
    /// each other, and the first deadline ends the deadlock. The flow with the first deadline need not be one of those that caused the deadlock.
    pub is_repeatable: bool,
    /// The effect on balances of its first transaction, for a flow that fails afterwards because its coins are locked.
    pub stays: Vec<Move>,
}

/// Returns a payment of a node's whole balance of a token to another node. It fails if a part of the balance stays locked.
pub fn sweep(
    membership: &Membership,
    tokens: &[IssuedToken],
    token: usize,
    from: usize,
    to: usize,
    quantity: u64,
) -> PlannedFlow {
    let payment = Payment {
        to: membership.parties[to].name.clone(),
        quantity,
        states: None,
    };
    PlannedFlow {
        node: from,
        at_us: 0,
        name: "cash.pay",
        args: pay_args(&tokens[token], vec![payment], false).to_bytes(),
        effect: Effect::Cash {
            transactions: 1,
            moves: vec![loses(token, from, quantity), gains(token, to, quantity)],
        },
        waits: vec![Wait::Delivered],
        cancelled_after_us: None,
        upload: None,
        // No other flow locks coins any more.
        is_repeatable: false,
        stays: Vec::new(),
    }
}

pub fn pay_args(token: &IssuedToken, payments: Vec<Payment>, anonymous: bool) -> PayArgs {
    PayArgs {
        token: Some(token.id()),
        currency: None,
        issuer: None,
        reference: None,
        payments,
        notary: None,
        deadline_ms: Some(600_000),
        anonymous: Some(anonymous),
        window_ms: None,
    }
}

pub fn gains(token: usize, node: usize, quantity: u64) -> Move {
    Move {
        token,
        node,
        by: quantity as i64,
    }
}

pub fn loses(token: usize, node: usize, quantity: u64) -> Move {
    Move {
        token,
        node,
        by: -(quantity as i64),
    }
}

/// Marks a flow as one whose end depends on the silence.
pub(crate) fn perhaps(flow: PlannedFlow) -> PlannedFlow {
    PlannedFlow {
        effect: Effect::Perhaps,
        // A silent participant acknowledges no delivery.
        waits: vec![Wait::Finalised, Wait::Delivered],
        is_repeatable: false,
        ..flow
    }
}
