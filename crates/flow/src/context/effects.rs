//! The effects: async functions whose results the journal keeps.

use ledger::{
    ContractName, PartyId, SelectionRequest, SignedTransaction, StateAndRef, StateRef, Transition,
    TransitionGoal, TransitionPlan, TxId,
};
use primitives::{Decode, Hash, PublicKey, Signature, SignatureContext, SignedMessage, Timestamp};

use super::FlowContext;
use super::effect_future::EffectFuture;
use crate::error::EFFECT_MISMATCHED;
use crate::{EffectKind, EffectRequest, EffectResult, Fetching, FlowError, Service, SleepClocks};

impl FlowContext {
    /// Waits for a time, in milliseconds. A restart waits for the rest of it. Setting the wall clock changes nothing.
    pub async fn sleep_ms(&self, ms: u64) -> Result<(), FlowError> {
        let issued = {
            let mut cell = self.shared.cell();
            // Clipped at the end of time, which never comes.
            let live = cell.now.as_ms().saturating_add(ms);
            cell.number(self.scope).and_then(|effect| {
                let until = Timestamp::from_ms(cell.fact(effect, live));
                let clocks = SleepClocks::Elapsed { most_ms: ms };
                cell.issue_as(effect, EffectRequest::Sleep { until, clocks })?;
                Ok(effect)
            })
        };
        self.wait(issued, EffectKind::Sleep).await.and_then(done)
    }

    /// Signs a hash with one of this node's keys.
    pub async fn sign(
        &self,
        key: &PublicKey,
        context: SignatureContext,
        message: Hash,
    ) -> Result<Signature, FlowError> {
        match self
            .effect(EffectRequest::Sign {
                key: key.clone(),
                context,
                message,
            })
            .await?
        {
            EffectResult::Signature(signature) => Ok(signature),
            _ => Err(FlowError::mismatched(EffectKind::Sign)),
        }
    }

    /// Selects states worth at least the quantity and locks them for this flow until it ends or consumes them.
    pub async fn select_states(
        &self,
        request: SelectionRequest,
    ) -> Result<Vec<StateAndRef>, FlowError> {
        match self.effect(EffectRequest::SelectStates(request)).await? {
            EffectResult::States(states) => Ok(states),
            _ => Err(FlowError::mismatched(EffectKind::SelectStates)),
        }
    }

    /// Resolves the transaction's back chain (from a peer, if parts of it are missing here) and verifies the transaction.
    /// Signatures of `missing_allowed` may be missing; those that are present are checked.
    pub async fn verify(
        &self,
        transaction: &SignedTransaction,
        from: Option<PartyId>,
        missing_allowed: &[PublicKey],
    ) -> Result<(), FlowError> {
        self.verify_fetching(transaction, from, missing_allowed, Fetching::InBulk)
            .await
    }

    /// Verifies like [`FlowContext::verify`], with a choice of how the back chain is fetched.
    pub async fn verify_fetching(
        &self,
        transaction: &SignedTransaction,
        from: Option<PartyId>,
        missing_allowed: &[PublicKey],
        fetching: Fetching,
    ) -> Result<(), FlowError> {
        let request = EffectRequest::Verify {
            transaction: transaction.clone(),
            from,
            missing_allowed: missing_allowed.to_vec(),
            fetching,
            keep: false,
        };
        self.effect(request).await.and_then(done)
    }

    /// Resolves a final transaction of other parties from a peer, verifies it and records it. Afterwards this flow can build on
    /// it, and the receivers of the flow's own transactions can fetch it from this node. It does not count as one of the flow's
    /// own transactions.
    pub async fn keep(
        &self,
        transaction: &SignedTransaction,
        from: PartyId,
        fetching: Fetching,
    ) -> Result<(), FlowError> {
        let request = EffectRequest::Verify {
            transaction: transaction.clone(),
            from: Some(from),
            missing_allowed: Vec::new(),
            fetching,
            keep: true,
        };
        self.effect(request).await.and_then(done)
    }

    /// Checks signatures, in one batch with those of other flows.
    pub async fn check_signatures(&self, messages: Vec<SignedMessage>) -> Result<(), FlowError> {
        self.effect(EffectRequest::CheckSignatures(messages))
            .await
            .and_then(done)
    }

    /// Records a verified transaction and owes it to `deliver_to`. It is finalised once the step's batch is durable.
    pub async fn record(
        &self,
        transaction: SignedTransaction,
        deliver_to: Vec<PartyId>,
    ) -> Result<(), FlowError> {
        self.effect(EffectRequest::Record {
            transaction,
            deliver_to,
        })
        .await
        .and_then(done)
    }

    /// Sends a request to a service of another node. Once an irrevocable request is durable, a kill waits for its answer.
    pub async fn request(
        &self,
        party: &PartyId,
        service: Service,
        body: Vec<u8>,
        irrevocable: bool,
    ) -> Result<Vec<u8>, FlowError> {
        let request = EffectRequest::Request {
            party: *party,
            service,
            body,
            irrevocable,
        };
        match self.effect(request).await? {
            EffectResult::Response(bytes) => Ok(bytes),
            _ => Err(FlowError::mismatched(EffectKind::Request)),
        }
    }

    /// Declares that an irrevocable request was refused, so nothing remains to be recorded.
    pub fn settled(&self) {
        self.shared.cell().settled();
    }

    /// Waits until the transaction is recorded here.
    pub async fn await_transaction(&self, id: &TxId) -> Result<SignedTransaction, FlowError> {
        match self.effect(EffectRequest::AwaitTransaction(*id)).await? {
            EffectResult::Transaction(Some(transaction)) => Ok(transaction),
            _ => Err(FlowError::mismatched(EffectKind::AwaitTransaction)),
        }
    }

    /// Looks up a recorded transaction.
    pub async fn transaction(&self, id: &TxId) -> Result<Option<SignedTransaction>, FlowError> {
        match self.effect(EffectRequest::Transaction(*id)).await? {
            EffectResult::Transaction(found) => Ok(found),
            _ => Err(FlowError::mismatched(EffectKind::Transaction)),
        }
    }

    /// Looks up states in recorded transactions; returns them in the order asked.
    pub async fn states(&self, refs: Vec<StateRef>) -> Result<Vec<StateAndRef>, FlowError> {
        match self.effect(EffectRequest::States(refs)).await? {
            EffectResult::States(states) => Ok(states),
            _ => Err(FlowError::mismatched(EffectKind::States)),
        }
    }

    /// Locks states for this flow until it ends or consumes them, all or none, and returns them in the order asked. It never
    /// waits: a state locked by another flow fails the effect with `vault.state_locked`, and a state that is consumed or about to
    /// be fails it with `vault.state_consumed`. States that this flow already holds may be in the list.
    pub async fn lock_states(&self, refs: Vec<StateRef>) -> Result<Vec<StateAndRef>, FlowError> {
        match self.effect(EffectRequest::LockStates(refs)).await? {
            EffectResult::States(states) => Ok(states),
            _ => Err(FlowError::mismatched(EffectKind::LockStates)),
        }
    }

    /// Plans a transition of states that are recorded here: the new states, the code to attach and the signers.
    pub async fn plan_transition(
        &self,
        states: Vec<StateRef>,
        goal: TransitionGoal,
    ) -> Result<TransitionPlan, FlowError> {
        let request = EffectRequest::PlanTransition { states, goal };
        match self.effect(request).await? {
            EffectResult::External(bytes) => TransitionPlan::from_bytes(&bytes)
                .map_err(|_| FlowError::mismatched(EffectKind::PlanTransition)),
            _ => Err(FlowError::mismatched(EffectKind::PlanTransition)),
        }
    }

    /// Asks whether this node agrees to a transition that another party proposes. The node agrees only by its operator's rules,
    /// and only if each of the states concerns the proposer.
    pub async fn consent(
        &self,
        transition: Transition,
        states: Vec<StateRef>,
        from: PartyId,
    ) -> Result<(), FlowError> {
        let request = EffectRequest::Consent {
            transition,
            states,
            from,
        };
        self.effect(request).await.and_then(done)
    }

    /// Returns the unconsumed versions of a linear state of a contract in this node's vault, newest first, among the 64 recorded
    /// last. The result is empty if the state has ended or is unknown here. It has more than one entry only if a party created a
    /// state under an id that was already in use; the flow then decides which one to trust.
    pub async fn linear(
        &self,
        contract: &ContractName,
        id: &Hash,
    ) -> Result<Vec<StateAndRef>, FlowError> {
        let (contract, id) = (contract.clone(), *id);
        match self.effect(EffectRequest::Linear { contract, id }).await? {
            EffectResult::States(states) => Ok(states),
            _ => Err(FlowError::mismatched(EffectKind::Linear)),
        }
    }

    /// Runs an external operation by its registered name, at least once.
    pub async fn external(&self, name: &str, body: Vec<u8>) -> Result<Vec<u8>, FlowError> {
        let request = EffectRequest::External {
            name: name.to_owned(),
            body,
        };
        match self.effect(request).await? {
            EffectResult::External(bytes) => Ok(bytes),
            _ => Err(FlowError::mismatched(EffectKind::External)),
        }
    }

    pub(super) fn effect(&self, request: EffectRequest) -> EffectFuture<'_> {
        let kind = request.kind();
        let issued = self.shared.cell().issue(self.scope, request);
        self.wait(issued, kind)
    }

    pub(super) fn wait(
        &self,
        issued: Result<u32, FlowError>,
        kind: EffectKind,
    ) -> EffectFuture<'_> {
        EffectFuture::new(&self.shared, issued, kind)
    }
}

pub(super) fn done(result: EffectResult) -> Result<(), FlowError> {
    match result {
        EffectResult::Done => Ok(()),
        EffectResult::Failed(error) => Err(error),
        _ => Err(FlowError::listed(
            &EFFECT_MISMATCHED,
            "an effect was answered with another kind of result",
        )),
    }
}

impl FlowError {
    pub(crate) fn mismatched(kind: EffectKind) -> FlowError {
        let text = format!(
            "the effect '{}' was answered with another kind of result",
            kind.name()
        );
        FlowError::listed(&EFFECT_MISMATCHED, text)
    }
}
