//! The context: everything a flow can ask of the world.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ledger::{
    NetworkMap, Party, PartyId, SelectionRequest, SignedTransaction, StateAndRef, StateRef, TxId,
};
use primitives::{
    Decode, Domain, Encode, Hash, PublicKey, Signature, SignatureContext, SignedMessage, Timestamp,
};

use crate::cell::SubFlowStart;
use crate::digest::Digest;
use crate::error::{BAD_OUTPUT, EFFECT_MISMATCHED, NO_NOTARY, TIMED_OUT, UNKNOWN_PARTY};
use crate::shared::Shared;
use crate::{EffectKind, EffectRequest, EffectResult, Flow, FlowError, FlowId, Service, Session};

/// A flow's view of the world; cheap to clone.
///
/// Every `async` function is an effect: its result goes to the journal, and after a restart the flow finds the same
/// result in the same place.
#[derive(Clone)]
pub struct FlowContext {
    shared: Arc<Shared>,
    scope: u16,
    name: &'static str,
    version: u32,
}

impl FlowContext {
    pub(crate) fn new(shared: Arc<Shared>, name: &'static str, version: u32) -> FlowContext {
        FlowContext {
            shared,
            scope: 0,
            name,
            version,
        }
    }

    /// This node's party.
    pub fn me(&self) -> &Party {
        &self.shared.environment.me
    }

    /// This node's party id.
    pub fn my_id(&self) -> PartyId {
        self.shared.environment.my_id
    }

    /// This run's id.
    pub fn flow_id(&self) -> FlowId {
        self.shared.flow
    }

    /// The version this run is on.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The network map as of the flow's start (or the node's, if that came later).
    pub fn network(&self) -> &NetworkMap {
        &self.shared.environment.network
    }

    /// The network's first notary; `flow.no_notary` if there is none.
    pub fn notary(&self) -> Result<&Party, FlowError> {
        self.network()
            .notary()
            .ok_or_else(|| FlowError::listed(&NO_NOTARY, "the network map names no notary"))
    }

    /// A party of the network; `flow.unknown_party` if it is not listed.
    pub fn party(&self, id: &PartyId) -> Result<&Party, FlowError> {
        self.network().party(id).ok_or_else(|| {
            FlowError::listed(
                &UNKNOWN_PARTY,
                format!("the network map does not list party {id}"),
            )
        })
    }

    // ---- values fixed by the journal ----

    /// The time, the same on replay.
    pub fn now(&self) -> Timestamp {
        let mut cell = self.shared.cell();
        let live = cell.now;
        match cell.number(self.scope) {
            Ok(effect) => Timestamp::from_ms(cell.fact(effect, live.as_ms())),
            Err(_) => live,
        }
    }

    /// 32 random bytes, derived from the seed in the start record; the same on replay.
    pub fn random32(&self) -> Result<[u8; 32], FlowError> {
        let effect = self.shared.cell().number(self.scope)?;
        let parts: [&[u8]; 3] = [b"random", &self.shared.seed, &effect.to_be_bytes()];
        Ok(*Hash::of(Domain::Derive, &parts).as_bytes())
    }

    /// Says where the flow is, for those who watch it.
    pub fn progress(&self, step: &'static str) {
        self.shared.cell().progress(step);
    }

    // ---- effects ----

    /// Waits for a time, in milliseconds; a restart waits for the rest of it.
    pub async fn sleep_ms(&self, ms: u64) -> Result<(), FlowError> {
        let issued = {
            let mut cell = self.shared.cell();
            let live = cell.now.as_ms().saturating_add(ms);
            cell.number(self.scope).and_then(|effect| {
                let until = Timestamp::from_ms(cell.fact(effect, live));
                cell.issue_as(effect, EffectRequest::Sleep { until })?;
                Ok(effect)
            })
        };
        self.wait(issued, EffectKind::Sleep).await.and_then(done)
    }

    /// Waits for a future at most so many milliseconds; `flow.timed_out` after that.
    pub async fn timeout_ms<T>(
        &self,
        ms: u64,
        future: impl Future<Output = Result<T, FlowError>> + Send,
    ) -> Result<T, FlowError> {
        let mut future = Box::pin(future);
        let mut sleep = Box::pin(self.sleep_ms(ms));
        poll_fn(move |task| {
            if let Poll::Ready(result) = future.as_mut().poll(task) {
                return Poll::Ready(result);
            }
            match sleep.as_mut().poll(task) {
                Poll::Ready(Ok(())) => {
                    let text = format!("no result within {ms} ms");
                    Poll::Ready(Err(FlowError::listed(&TIMED_OUT, text)))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
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

    /// Resolves the transaction's back chain (from a peer, if it is not all here) and verifies it. Signatures of
    /// `missing_allowed` may be missing; those that are there are checked.
    pub async fn verify(
        &self,
        transaction: &SignedTransaction,
        from: Option<PartyId>,
        missing_allowed: &[PublicKey],
    ) -> Result<(), FlowError> {
        let request = EffectRequest::Verify {
            transaction: transaction.clone(),
            from,
            missing_allowed: missing_allowed.to_vec(),
        };
        self.effect(request).await.and_then(done)
    }

    /// Checks signatures, gathered with those of other flows.
    pub async fn check_signatures(&self, messages: Vec<SignedMessage>) -> Result<(), FlowError> {
        self.effect(EffectRequest::CheckSignatures(messages))
            .await
            .and_then(done)
    }

    /// Records a verified transaction and owes it to `deliver_to`: finalised once the step's batch is durable.
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

    /// Asks another node's service. Once an irrevocable request is durable, a kill waits for its answer.
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

    /// Says that an irrevocable request was refused, so that nothing is left to be recorded.
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

    /// Looks a recorded transaction up.
    pub async fn transaction(&self, id: &TxId) -> Result<Option<SignedTransaction>, FlowError> {
        match self.effect(EffectRequest::Transaction(*id)).await? {
            EffectResult::Transaction(found) => Ok(found),
            _ => Err(FlowError::mismatched(EffectKind::Transaction)),
        }
    }

    /// Looks states up in recorded transactions, in the order asked.
    pub async fn states(&self, refs: Vec<StateRef>) -> Result<Vec<StateAndRef>, FlowError> {
        match self.effect(EffectRequest::States(refs)).await? {
            EffectResult::States(states) => Ok(states),
            _ => Err(FlowError::mismatched(EffectKind::States)),
        }
    }

    /// Something outside the ledger, by its registered name; happens at least once.
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

    fn effect(&self, request: EffectRequest) -> EffectFuture<'_> {
        let kind = request.kind();
        let issued = self.shared.cell().issue(self.scope, request);
        self.wait(issued, kind)
    }

    fn wait(&self, issued: Result<u32, FlowError>, kind: EffectKind) -> EffectFuture<'_> {
        let state = match issued {
            Ok(effect) => Waiting::For(effect),
            Err(error) => Waiting::Failed(error),
        };
        EffectFuture {
            shared: &self.shared,
            kind,
            state,
        }
    }

    // ---- sub-flows and sessions ----

    /// Runs another flow as a part of this one. Once it has ended, its result stands for all its journal entries.
    pub async fn sub_flow<F: Flow>(&self, args: F::Args) -> Result<F::Output, FlowError> {
        let digest = Digest::new(EffectKind::SubFlow as u64)
            .bytes(F::NAME.as_bytes())
            .word(F::VERSION.into())
            .bytes(&args.to_bytes())
            .value();
        let started = self.shared.cell().start_sub_flow(self.scope, digest)?;
        match started {
            SubFlowStart::Skip { effect } => {
                let result = poll_fn(|_| match self.shared.cell().take_sub_flow(effect) {
                    Some(result) => Poll::Ready(result),
                    None => Poll::Pending,
                });
                F::Output::from_bytes(&result.await?)
                    .map_err(|error| FlowError::listed(&BAD_OUTPUT, error.to_string()))
            }
            SubFlowStart::Run {
                effect,
                scope,
                digest,
            } => {
                let mut guard = ScopeGuard {
                    shared: &self.shared,
                    effect,
                    scope,
                    digest,
                    running: true,
                };
                let ctx = FlowContext {
                    shared: self.shared.clone(),
                    scope,
                    name: F::NAME,
                    version: F::VERSION,
                };
                let result = Box::pin(F::run(ctx, args))
                    .await
                    .map_err(FlowError::as_journaled);
                guard.end(&result);
                result
            }
        }
    }

    /// Opens a session with the responder of this flow (or of the sub-flow this context belongs to) at another party.
    pub fn open_session(&self, party: &PartyId) -> Result<Session, FlowError> {
        self.open_session_offering(party, &[self.version])
    }

    /// Opens a session and offers several versions of the conversation; [`Session::version`] says which was picked.
    pub fn open_session_offering(
        &self,
        party: &PartyId,
        versions: &[u32],
    ) -> Result<Session, FlowError> {
        let number = self
            .shared
            .cell()
            .open_session(self.scope, *party, self.name, versions)?;
        Ok(Session::new(self.shared.clone(), number, *party))
    }

    /// Sends one message on each of several sessions.
    pub async fn send_all<T: Encode>(
        &self,
        sessions: &[Session],
        message: &T,
    ) -> Result<(), FlowError> {
        let bytes = message.to_bytes();
        sessions
            .iter()
            .try_for_each(|session| session.send_bytes(bytes.clone()))
    }

    /// Receives one message on each of several sessions, in the order of the sessions; fails with the first failure.
    pub async fn receive_all<T: Decode>(&self, sessions: &[Session]) -> Result<Vec<T>, FlowError> {
        let mut received: Vec<Option<T>> = sessions.iter().map(|_| None).collect();
        poll_fn(move |_| {
            let mut missing = false;
            for (slot, session) in received.iter_mut().zip(sessions) {
                if slot.is_none() {
                    match session.poll_receive::<T>() {
                        Poll::Ready(message) => *slot = Some(message?),
                        Poll::Pending => missing = true,
                    }
                }
            }
            if missing {
                return Poll::Pending;
            }
            Poll::Ready(Ok(received.iter_mut().filter_map(Option::take).collect()))
        })
        .await
    }

    /// Runs futures side by side; their results in the order given, or the first failure. Their effects are numbered in
    /// the order in which the futures come to them, which replay repeats.
    pub async fn join_all<T: Send, F>(&self, futures: Vec<F>) -> Result<Vec<T>, FlowError>
    where
        F: Future<Output = Result<T, FlowError>> + Send,
    {
        let mut running: Vec<_> = futures.into_iter().map(|f| Some(Box::pin(f))).collect();
        let mut results: Vec<Option<T>> = running.iter().map(|_| None).collect();
        poll_fn(move |task| {
            let mut missing = false;
            for (future, result) in running.iter_mut().zip(&mut results) {
                if let Some(f) = future {
                    match f.as_mut().poll(task) {
                        Poll::Ready(value) => {
                            *result = Some(value?);
                            *future = None;
                        }
                        Poll::Pending => missing = true,
                    }
                }
            }
            if missing {
                return Poll::Pending;
            }
            Poll::Ready(Ok(results.iter_mut().filter_map(Option::take).collect()))
        })
        .await
    }
}

fn done(result: EffectResult) -> Result<(), FlowError> {
    match result {
        EffectResult::Done => Ok(()),
        EffectResult::Failed(error) => Err(error),
        _ => Err(FlowError::listed(
            &EFFECT_MISMATCHED,
            "an effect was answered with another kind",
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

/// Waits for the result of one effect; a failed effect is the error.
struct EffectFuture<'a> {
    shared: &'a Shared,
    kind: EffectKind,
    state: Waiting,
}

enum Waiting {
    For(u32),
    Failed(FlowError),
    Over,
}

impl Future for EffectFuture<'_> {
    type Output = Result<EffectResult, FlowError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.state, Waiting::Over) {
            Waiting::For(effect) => match self.shared.cell().take(effect) {
                Some(EffectResult::Failed(error)) => Poll::Ready(Err(error)),
                Some(result) => Poll::Ready(Ok(result)),
                None => {
                    self.state = Waiting::For(effect);
                    Poll::Pending
                }
            },
            Waiting::Failed(error) => Poll::Ready(Err(error)),
            Waiting::Over => Poll::Ready(Err(FlowError::mismatched(self.kind))),
        }
    }
}

impl Drop for EffectFuture<'_> {
    fn drop(&mut self) {
        if let Waiting::For(effect) = self.state {
            self.shared.cell().abandon(effect);
        }
    }
}

/// Ends a sub-flow's scope, also when its future is dropped.
struct ScopeGuard<'a> {
    shared: &'a Shared,
    effect: u32,
    scope: u16,
    digest: u64,
    running: bool,
}

impl ScopeGuard<'_> {
    fn end<T: Encode>(&mut self, result: &Result<T, FlowError>) {
        self.running = false;
        let bytes = result.as_ref().map(Encode::to_bytes);
        let journaled = bytes.as_ref().map(Vec::as_slice).map_err(|error| *error);
        self.shared
            .cell()
            .end_sub_flow(self.effect, self.scope, self.digest, Some(journaled));
    }
}

impl Drop for ScopeGuard<'_> {
    fn drop(&mut self) {
        if self.running {
            self.shared
                .cell()
                .end_sub_flow(self.effect, self.scope, self.digest, None);
        }
    }
}
