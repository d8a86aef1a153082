//! `obligation.net`: reduces obligations between two or more parties along cycles, without moving cash.

use std::collections::BTreeSet;

use flow::library::{
    ANSWER_MS_MAX, Asked, NOTARY_ALLOWANCE_MS, build_and_sign, collect_signatures, finality,
    receive_proposal, sign_proposal, until_void, window_for_answers,
};
use flow::{Deadline, Flow, FlowContext, FlowError, Responder, Session};
use ledger::{LegalName, PartyId, SignedTransaction, StateRef, TransactionBuilder, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pass::{MoveObligation, MoveObligationArgs};
use crate::flows::agreed::{asks_only_for, await_final, parties, tell_final};
use crate::flows::arguments::party;
use crate::obligation::netting::{Debt, net};
use crate::obligation::{
    OBLIGATIONS_MAX, ObligationCommand, ObligationError, ObligationState, builder, obligation_name,
};

/// Arguments of `obligation.net`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetObligationsArgs {
    /// The newest states of the obligations: 2 to 256, of the same cash, due time and notary.
    pub obligations: Vec<StateRef>,
    /// The parties that hold those of the obligations that do not concern this node; none, if left out.
    #[serde(default)]
    pub parties: Vec<LegalName>,
}

impl Encode for NetObligationsArgs {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.obligations.encode(e);
        self.parties.encode(e);
    }
}

impl Decode for NetObligationsArgs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            obligations: d.vec_of(OBLIGATIONS_MAX)?,
            parties: d.vec_of(OBLIGATIONS_MAX)?,
        })
    }
}

/// The result of `obligation.net`. Encoded as `[transaction, netted, states]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetResult {
    /// The transaction.
    pub transaction: TxId,
    /// The total reduction of the obligations, in minor units; capped at 18446744073709551615.
    #[serde(with = "primitives::QuantityText")]
    pub netted: u64,
    /// The remaining versions of the reduced obligations. An obligation that is reduced to zero ends and has none.
    pub states: Vec<StateRef>,
}

primitives::record!(NetResult {
    transaction,
    netted,
    states
});

/// The states whose transactions the initiator lacks. Encoded as a list of states.
struct Wanted(Vec<StateRef>);

/// The requested transactions that a party has. Encoded as a list of transactions.
struct KnownTransactions(Vec<SignedTransaction>);

/// Maximum total size of the transactions that a party shares, in bytes. Transactions beyond it count as not shared. Otherwise
/// a party could issue obligations to this node in huge transactions, and fill this node's memory by asking for them.
const SHARED_BYTES_MAX: usize = 4 << 20;

/// Maximum time in which a party shares transactions of obligations and shows their back chains, in milliseconds.
const SHARING_MS_MAX: u64 = 600_000;

impl Encode for Wanted {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for Wanted {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(OBLIGATIONS_MAX).map(Self)
    }
}

impl Encode for KnownTransactions {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for KnownTransactions {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(OBLIGATIONS_MAX).map(Self)
    }
}

/// Reduces obligations of this node and others along cycles.
#[derive(Debug)]
pub struct NetObligations;

impl Flow for NetObligations {
    const NAME: &'static str = "obligation.net";
    const VERSION: u32 = 2;
    type Args = NetObligationsArgs;
    type Output = NetResult;
    const STEPS: &'static [&'static str] = &[
        "asking for obligations",
        "building",
        "collecting signatures",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: NetObligationsArgs) -> Result<NetResult, FlowError> {
        if !(2..=OBLIGATIONS_MAX).contains(&args.obligations.len()) {
            return Err(ObligationError::Count.into());
        }
        let asked = fetch(&ctx, &args).await?;
        let obligations = under_own_key(&ctx, args.obligations).await?;
        let netting = Netting::of(&ctx, obligations).await?;
        let me = ctx.me().key.clone();
        if !netting.keys.contains(&me) {
            return Err(ObligationError::NotTheParty("obligor or obligee").into());
        }
        let builder = netting.builder.time_window(window_for_answers(&ctx));
        let proposal = build_and_sign(&ctx, builder, &[me]).await?;
        // The obligations are locked. So all parties together have until the proposal is void, not each one for itself.
        let void = until_void(proposal.wire()).ok_or(ObligationError::Proposal)?;
        let concerned = parties(&ctx, &netting.keys).await?;
        let mut sessions = Vec::with_capacity(concerned.len());
        for party in concerned.iter().filter(|party| **party != ctx.my_id()) {
            match asked.iter().find(|session| session.peer() == *party) {
                Some(session) => sessions.push(session.clone()),
                None => sessions.push(invite(&ctx, party, void).await?),
            }
        }
        let idle = |session: &&Session| !concerned.contains(&session.peer());
        asked.iter().filter(idle).for_each(Session::close);
        let signed = collect_signatures(&ctx, proposal, &sessions).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &concerned).await?;
        tell_final(&ctx, &sessions, &transaction).await?;
        let left = (0..netting.left).map(|index| StateRef::new(transaction, index));
        Ok(NetResult {
            transaction,
            netted: netting.netted,
            states: left.collect(),
        })
    }
}

/// Opens a session with a party that is asked only for its signature. No signature has left this node yet, so its locked states may
/// be released at the deadline.
async fn invite(
    ctx: &FlowContext,
    party: &PartyId,
    deadline: Deadline,
) -> Result<Session, FlowError> {
    let session = ctx.open_session_offering(party, &[NetsObligations::VERSION])?;
    let wanted = Wanted(Vec::new());
    let shared = session.send_and_receive(&wanted);
    let _: KnownTransactions = ctx.within(deadline, "a party's consent", shared).await?;
    Ok(session)
}

/// Fetches, verifies and records the missing transactions of obligations from the parties named.
async fn fetch(ctx: &FlowContext, args: &NetObligationsArgs) -> Result<Vec<Session>, FlowError> {
    let mut missing = BTreeSet::new();
    for state in &args.obligations {
        if ctx.transaction(&state.tx).await?.is_none() {
            missing.insert(*state);
        }
    }
    let mut sessions: Vec<Session> = Vec::new();
    for name in &args.parties {
        let Some(first) = missing.first().copied() else {
            break;
        };
        let wanted = Wanted(missing.iter().copied().collect());
        let party = party(ctx, name)?.id();
        let again = sessions.iter().any(|session| session.peer() == party);
        if party == ctx.my_id() || again {
            continue;
        }
        ctx.progress("asking for obligations");
        let session = ctx.open_session_offering(&party, &[NetsObligations::VERSION])?;
        let shared = async {
            let KnownTransactions(transactions) = session.send_and_receive(&wanted).await?;
            for transaction in transactions {
                let id = transaction.id();
                if !missing.iter().any(|state| state.tx == id) {
                    return Err(ObligationError::NotShared(first).into());
                }
                missing.retain(|state| state.tx != id);
                ctx.verify(&transaction, Some(party), &[]).await?;
                ctx.record(transaction, Vec::new()).await?;
            }
            Ok(())
        };
        let wait = Deadline::AfterMs(SHARING_MS_MAX);
        ctx.within(wait, "the transactions of obligations", shared)
            .await?;
        sessions.push(session);
    }
    match missing.first() {
        Some(state) => Err(ObligationError::NotShared(*state).into()),
        None => Ok(sessions),
    }
}

/// Moves claims of this node's fresh keys to its own key, because debts cancel out key by key. That reveals their owner, which
/// is acceptable because the parties of a netting know each other.
async fn under_own_key(
    ctx: &FlowContext,
    mut states: Vec<StateRef>,
) -> Result<Vec<StateRef>, FlowError> {
    let inputs = ctx.states(states.clone()).await?;
    let opened = inputs.iter().map(builder::open);
    let opened = opened.collect::<Result<Vec<ObligationState>, _>>()?;
    let obligees: Vec<PublicKey> = opened.into_iter().map(|state| state.obligee).collect();
    let own = ctx.own_of(&obligees).await?;
    for (state, obligee) in states.iter_mut().zip(&obligees) {
        if *obligee == ctx.me().key || !own.contains(obligee) {
            continue;
        }
        let args = MoveObligationArgs {
            obligation: *state,
            to: ctx.me().name.clone(),
            anonymous: None,
        };
        let moved = ctx.sub_flow::<MoveObligation>(args).await?;
        *state = moved.state.ok_or(ObligationError::Count)?;
    }
    Ok(states)
}

/// A netting under construction.
struct Netting {
    builder: TransactionBuilder,
    /// The keys that sign.
    keys: Vec<PublicKey>,
    netted: u64,
    /// The number of reduced obligations that remain.
    left: u32,
}

impl Netting {
    async fn of(ctx: &FlowContext, states: Vec<StateRef>) -> Result<Self, FlowError> {
        let inputs = ctx.lock_states(states).await?;
        let opened = inputs.iter().map(builder::open);
        let opened = opened.collect::<Result<Vec<ObligationState>, _>>()?;
        let (Some(input), Some(first)) = (inputs.first(), opened.first()) else {
            return Err(ObligationError::Count.into());
        };
        let notary = input.state.notary.clone();
        if inputs.iter().any(|input| input.state.notary != notary) {
            return Err(ObligationError::NotariesDiffer.into());
        }
        if !opened.iter().all(|state| state.is_of_the_terms_of(first)) {
            return Err(ObligationError::TermsDiffer.into());
        }
        if opened.iter().any(|state| state.defaulted) {
            return Err(ObligationError::InDefault.into());
        }
        let debt = |state: &ObligationState| -> Debt {
            let (obligor, obligee) = (state.obligor.key.clone(), state.obligee.clone());
            (obligor, obligee, state.quantity)
        };
        let debts: Vec<Debt> = opened.iter().map(debt).collect();
        let mut netting = Self {
            builder: TransactionBuilder::new(notary),
            keys: Vec::new(),
            netted: 0,
            left: 0,
        };
        let mut ids = Vec::new();
        for ((input, before), left) in inputs.iter().zip(opened).zip(net(&debts)) {
            if left == before.quantity {
                continue;
            }
            let netted = netting.netted.checked_add(before.quantity - left);
            netting.netted = netted.ok_or(ObligationError::Overflow)?;
            ids.push(before.id);
            for key in [&before.obligor.key, &before.obligee] {
                if !netting.keys.contains(key) {
                    netting.keys.push(key.clone());
                }
            }
            let after = (left > 0).then_some(ObligationState {
                quantity: left,
                ..before
            });
            netting.left += u32::from(left > 0);
            netting.builder = builder::change(netting.builder, input, after.as_ref());
        }
        if ids.is_empty() {
            return Err(ObligationError::NothingToNet.into());
        }
        // Every key must belong to a known party that can be asked to sign.
        parties(ctx, &netting.keys).await?;
        let command = ObligationCommand::Net(ids);
        netting.builder = builder::command(netting.builder, &command, netting.keys.clone());
        Ok(netting)
    }
}

/// Another party's side of `obligation.net`: shares the obligations that it owes or is owed, and signs a netting. It signs
/// nothing else. By the contract a netting only reduces debts: it gives no claim another debtor, and net positions stay the
/// same.
#[derive(Debug)]
pub struct NetsObligations;

impl Responder for NetsObligations {
    const NAME: &'static str = NetObligations::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let wait = Deadline::AfterMs(ANSWER_MS_MAX);
        let asked = session.receive();
        let Wanted(wanted) = ctx.within(wait, "a question", asked).await?;
        let mut shared: Vec<SignedTransaction> = Vec::new();
        let mut room = SHARED_BYTES_MAX;
        for state in wanted {
            if shared.iter().any(|shared| shared.id() == state.tx) {
                continue;
            }
            if let Some(transaction) = ctx.transaction(&state.tx).await?
                && is_ours(&ctx, &transaction, state)
                && let Some(left) = room.checked_sub(transaction.to_bytes().len())
            {
                room = left;
                shared.push(transaction);
            }
        }
        session.send(&KnownTransactions(shared)).await?;
        let proposal = match receive_proposal(&ctx, &session).await {
            // The initiator did not need this party.
            Err(error) if error.code == "flow.session_ended" => return Ok(()),
            proposal => proposal?,
        };
        let asked = Asked::of(&ctx, &proposal).await?;
        let netting = |command| matches!(command, ObligationCommand::Net(_));
        if !asks_only_for(&asked, &proposal, obligation_name(), netting) {
            return Err(ObligationError::Proposal.into());
        }
        let id = sign_proposal(&ctx, &session, &proposal, &asked).await?;
        // This node has locked nothing, so only its own time limit bounds the wait, not the initiator's window.
        let wait = Deadline::AfterMs(ANSWER_MS_MAX + NOTARY_ALLOWANCE_MS);
        await_final(&ctx, &session, &id, wait).await
    }
}

/// Returns whether a state is an obligation that this node owes or is owed, under the key that the network map lists. Fresh keys
/// are left out, because an answer would reveal their owner to the asking party.
fn is_ours(ctx: &FlowContext, transaction: &SignedTransaction, state: StateRef) -> bool {
    let me = &ctx.me().key;
    let output = usize::try_from(state.index)
        .ok()
        .and_then(|index| transaction.wire().output(index));
    output.is_some_and(|output| {
        output.contract == *obligation_name()
            && ObligationState::from_bytes(&output.data)
                .is_ok_and(|state| state.obligor.key == *me || state.obligee == *me)
    })
}
