//! How a transaction is settled: signatures in the round's batch, dependencies, contracts, then recorded or refused.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use flow::{EffectResult, FlowError, Service};
use ledger::{LedgerTransaction, PartyId, Rejection, SignedTransaction, TxId};
use primitives::{Decode, Domain, Encode, Hash, PublicKey, SignedMessage};

use crate::errors;
use crate::event::{Action, Priority};
use crate::fetch::dependencies;
use crate::intake::{Goal, ItemId};
use crate::kernel::{CheckOwner, Kernel, Work};
use crate::message::{Answer, FetchResponse, PeerMessage};
use crate::peers::resolution_request;
use crate::port::{Reads, StoreFailure};
use crate::resolution::ResolutionError;

/// What a known-good signature costs in the cache.
const KNOWN_BYTES: usize = 64;

/// What stands for a signed message in the cache of good ones.
pub(crate) fn digest(signed: &SignedMessage) -> Hash {
    let key: &[u8] = match &signed.key {
        PublicKey::Ed25519(bytes) => bytes,
        PublicKey::EcdsaP256(bytes) => bytes,
        PublicKey::Composite(_) => &[],
    };
    let head = [signed.context as u8, signed.signature.scheme() as u8];
    let message = signed.message.as_bytes();
    Hash::of(
        Domain::Derive,
        &[b"good", &head, message, signed.signature.bytes(), key],
    )
}

impl Kernel {
    /// Begins with a transaction.
    pub(crate) fn take_in(
        &mut self,
        transaction: Arc<SignedTransaction>,
        goal: Goal,
        from: Option<PartyId>,
    ) {
        let allowed = match &goal {
            Goal::Verify {
                missing_allowed, ..
            } => missing_allowed.clone(),
            _ => Vec::new(),
        };
        let Some(item) = self.intake.add(Arc::clone(&transaction), goal, from) else {
            return;
        };
        match transaction.check_signatures(&allowed) {
            Ok(pending) => {
                let owner = CheckOwner::Item(item);
                let before = self.round.checks.len();
                for message in pending.messages() {
                    if !self.known_good.contains(&digest(message)) {
                        self.round.checks.push((owner, message.clone()));
                    }
                }
                if self.round.checks.len() == before {
                    self.push_work(Work::Signed(item));
                }
            }
            Err(error) => self.refuse(item, Rejection::of(&error)),
        }
    }

    /// Checks what the round has gathered, as one batch.
    pub(crate) fn check_signatures(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let checks = std::mem::take(&mut self.round.checks);
        let messages = checks.iter().map(|(_, message)| message);
        let verdicts = self.check_messages(messages);
        let mut at = 0;
        while let Some((owner, _)) = checks.get(at) {
            let mut good = true;
            while checks.get(at).is_some_and(|(o, _)| o == owner) {
                good &= verdicts[at];
                at += 1;
            }
            self.on_checked(*owner, good);
        }
        self.settle(reads)
    }

    /// One verdict a message; equal ones are checked once, known ones not at all.
    fn check_messages<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a SignedMessage>,
    ) -> Vec<bool> {
        let mut places: HashMap<Hash, usize> = HashMap::new();
        let mut batch: Vec<SignedMessage> = Vec::new();
        let mut digests: Vec<Hash> = Vec::new();
        let mut which: Vec<Option<usize>> = Vec::new();
        for message in messages {
            let digest = digest(message);
            if self.known_good.contains(&digest) {
                which.push(None);
                continue;
            }
            let place = *places.entry(digest).or_insert_with(|| {
                batch.push(message.clone());
                digests.push(digest);
                batch.len() - 1
            });
            which.push(Some(place));
        }
        let verdicts = self.checker.check_batch(&batch);
        self.figures.signatures_checked += batch.len() as u64;
        self.figures.signature_batches += 1;
        for (digest, good) in digests.into_iter().zip(&verdicts) {
            if *good {
                self.known_good.insert(digest, (), KNOWN_BYTES);
            } else {
                self.figures.signatures_bad += 1;
            }
        }
        which
            .into_iter()
            .map(|place| place.is_none_or(|p| verdicts[p]))
            .collect()
    }

    fn on_checked(&mut self, owner: CheckOwner, good: bool) {
        match owner {
            CheckOwner::Item(item) if good => self.push_work(Work::Signed(item)),
            CheckOwner::Item(item) => {
                let id = self.intake.get(item).map(|i| i.transaction.id());
                let text = match id {
                    Some(id) => format!("a signature on transaction {id} is not valid"),
                    None => "a signature is not valid".to_owned(),
                };
                self.refuse(item, errors::rejection(&errors::SIGNATURE_INVALID, text));
            }
            CheckOwner::Effect(flow, effect) => {
                let result = if good {
                    EffectResult::Done
                } else {
                    let text = "a signature is not valid";
                    EffectResult::Failed(errors::failed(&errors::SIGNATURE_INVALID, text))
                };
                self.complete(flow, effect, result);
            }
            CheckOwner::Notary(request) => self.on_notary_checked(request, good),
        }
    }

    pub(crate) fn on_signed(
        &mut self,
        item: ItemId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let Some(on_its_way) = self.intake.get_mut(item) else {
            return Ok(());
        };
        on_its_way.signed = true;
        let transaction = Arc::clone(&on_its_way.transaction);
        let from = on_its_way.from;
        let mut missing = BTreeSet::new();
        for dependency in dependencies(&transaction) {
            if !self.book.contains(&dependency, reads)? {
                missing.insert(dependency);
            }
        }
        if missing.is_empty() {
            self.push_work(Work::Ready(item));
            return Ok(());
        }
        let first = missing.first().copied();
        let to_fetch = self.intake.wait_for(item, missing);
        if to_fetch.is_empty() {
            return Ok(());
        }
        match from {
            Some(peer) if peer != self.my_id => self.fetch(item, peer, to_fetch),
            _ => {
                if let Some(first) = first {
                    self.refuse(item, errors::dependency_missing(&first));
                }
            }
        }
        Ok(())
    }

    fn fetch(&mut self, item: ItemId, peer: PartyId, missing: BTreeSet<TxId>) {
        let Some(resolution) = self.intake.resolve(item, peer, missing) else {
            // No place: the item waits until a resolution ends.
            self.intake.hold(item);
            return;
        };
        let number = resolution.number;
        self.figures.resolutions += 1;
        self.ask_for_chain(number);
    }

    /// Asks for what a resolution still lacks, if anything.
    fn ask_for_chain(&mut self, number: u64) {
        let Some(resolution) = self.intake.resolution_mut(number) else {
            return;
        };
        let Some(request) = resolution.next_request() else {
            return;
        };
        let (peer, step) = (resolution.peer, resolution.next_step());
        let id = resolution_request(number, step);
        self.ask(
            peer,
            id.flow,
            id.effect,
            Service::Transactions,
            request.to_bytes(),
        );
    }

    pub(crate) fn on_fetched(
        &mut self,
        number: u64,
        answer: Answer,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let response = match answer {
            Answer::Done(bytes) => match FetchResponse::from_bytes(&bytes) {
                Ok(response) => response,
                Err(error) => {
                    let text = format!("a fetched back chain does not decode: {error}");
                    let rejection = errors::rejection(&errors::PEER_ANSWER_INVALID, text);
                    return self.end_resolution(number, Some(rejection), reads);
                }
            },
            Answer::Failed(rejection) => {
                return self.end_resolution(number, Some(rejection), reads);
            }
            Answer::Wait(_) => return Ok(()),
        };
        let commit = self.round_number();
        let Some(resolution) = self.intake.resolution_mut(number) else {
            return Ok(());
        };
        match resolution.accept(response, &self.book, reads)? {
            Ok(_) => {
                resolution.spill(commit, &mut self.round.batch);
                let expected: Vec<TxId> = resolution.missing().iter().copied().collect();
                self.intake.expect(number, expected);
                self.ask_for_chain(number);
                Ok(())
            }
            Err(error) => {
                let rejection = match error {
                    ResolutionError::Unsolicited(text) => {
                        errors::rejection(&errors::PEER_ANSWER_INVALID, text)
                    }
                    ResolutionError::Unavailable(id) => {
                        let text = format!("the sender does not have transaction {id}");
                        errors::rejection(&errors::DEPENDENCY_UNAVAILABLE, text)
                    }
                    ResolutionError::TooWide => {
                        let text = "the back chain branches into more than 20000 transactions";
                        errors::rejection(&errors::BACK_CHAIN_TOO_WIDE, text)
                    }
                };
                self.end_resolution(number, Some(rejection), reads)
            }
        }
    }

    fn end_resolution(
        &mut self,
        number: u64,
        rejection: Option<Rejection>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let (resolution, roots) = self.intake.end_resolution(number);
        if let (Some(resolution), true) = (resolution, rejection.is_some()) {
            resolution.discard(reads, &mut self.round.batch)?;
        }
        for item in roots {
            match &rejection {
                Some(rejection) => self.refuse(item, rejection.clone()),
                // What it waited for may have come another way: look again.
                None => self.push_work(Work::Signed(item)),
            }
        }
        for item in self.intake.release_held() {
            self.push_work(Work::Signed(item));
        }
        Ok(())
    }

    /// Verifies a part of one fetched back chain, oldest first, as bulk work: one part a round. Whether anything came of
    /// it that can be done now.
    pub(crate) fn verify_back_chains(&mut self, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        if self.round.chain_verified {
            return Ok(false);
        }
        let Some(number) = self.intake.fetched() else {
            return Ok(false);
        };
        self.round.chain_verified = true;
        let Some(resolution) = self.intake.resolution_mut(number) else {
            return Ok(false);
        };
        let rows = resolution.take_oldest(reads, &mut self.round.batch)?;
        let drained = resolution.is_drained();
        if let Err(rejection) = self.record_chain(rows, reads)? {
            self.end_resolution(number, Some(rejection), reads)?;
        } else if drained {
            self.end_resolution(number, None, reads)?;
        }
        Ok(!self.work.is_empty())
    }

    /// Verifies and records transactions of a back chain, in the order given.
    fn record_chain(
        &mut self,
        rows: Vec<Vec<u8>>,
        reads: &dyn Reads,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let mut chain = Vec::with_capacity(rows.len());
        let mut messages = Vec::new();
        for bytes in rows {
            let transaction = match SignedTransaction::from_bytes(&bytes) {
                Ok(transaction) => transaction,
                Err(error) => return Ok(Err(invalid_ancestor(None, &Rejection::of(&error)))),
            };
            match transaction.check_signatures(&[]) {
                Ok(pending) => {
                    let from = messages.len();
                    messages.extend(pending.messages().iter().cloned());
                    chain.push((Arc::new(transaction), from..messages.len()));
                }
                Err(error) => {
                    let rejection = Rejection::of(&error);
                    return Ok(Err(invalid_ancestor(Some(transaction.id()), &rejection)));
                }
            }
        }
        let verdicts = self.check_messages(messages.iter());
        for (transaction, range) in chain {
            let id = transaction.id();
            if self.book.contains(&id, reads)? {
                continue;
            }
            if verdicts[range].contains(&false) {
                let text = "a signature is not valid";
                let rejection = errors::rejection(&errors::SIGNATURE_INVALID, text);
                return Ok(Err(invalid_ancestor(Some(id), &rejection)));
            }
            if let Err(rejection) = self.verify_contracts(&transaction, reads)? {
                return Ok(Err(invalid_ancestor(Some(id), &rejection)));
            }
            self.figures.resolved_transactions += 1;
            self.record(&transaction);
        }
        Ok(Ok(()))
    }

    pub(crate) fn on_ready(&mut self, item: ItemId, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let Some(on_its_way) = self.intake.get(item) else {
            return Ok(());
        };
        let transaction = Arc::clone(&on_its_way.transaction);
        let id = transaction.id();
        if let Err(rejection) = self.verify_contracts(&transaction, reads)? {
            self.refuse(item, rejection);
            return Ok(());
        }
        let Some((settled, also)) = self.intake.take(item) else {
            return Ok(());
        };
        let recorded_already = self.book.contains(&id, reads)?;
        if !matches!(settled.goal, Goal::Verify { .. }) && !recorded_already {
            self.record(&transaction);
        }
        match settled.goal {
            Goal::Verify { flow, effect, .. } => self.complete(flow, effect, EffectResult::Done),
            Goal::Record {
                flow,
                effect,
                deliver_to,
            } => {
                self.note_recorded(flow, id);
                if !recorded_already {
                    if deliver_to.is_empty() {
                        let bytes = transaction.wire().bytes().len() * 2;
                        self.unshared.insert(id, Arc::clone(&transaction), bytes);
                    }
                    let bytes = transaction.wire().bytes().len();
                    self.owe(id, bytes, &deliver_to);
                }
                self.complete(flow, effect, EffectResult::Done);
            }
            Goal::Deliver { peer } => self.answer_delivery(peer, id),
            Goal::Dependency => {}
        }
        for peer in also {
            self.answer_delivery(peer, id);
        }
        Ok(())
    }

    /// Runs the contracts of a transaction whose dependencies are all here.
    fn verify_contracts(
        &mut self,
        transaction: &SignedTransaction,
        reads: &dyn Reads,
    ) -> Result<Result<(), Rejection>, StoreFailure> {
        let id = transaction.id();
        if self.verified.contains(&id) {
            return Ok(Ok(()));
        }
        let wire = transaction.wire();
        let mut states = HashMap::new();
        for reference in wire.inputs().iter().chain(wire.references()) {
            if let Some(state) = self.book.state(reference, reads)? {
                states.insert(*reference, state);
            }
        }
        let resolved = LedgerTransaction::resolve(wire, |reference| states.get(reference).cloned());
        let verdict = match resolved {
            Ok(transaction) => transaction
                .verify(&*self.identity.contracts, self.identity.network.rules())
                .map(|_| ())
                .map_err(|error| Rejection::of(&error)),
            Err(error) => Err(Rejection::of(&error)),
        };
        if verdict.is_ok() {
            self.verified.insert(id, (), KNOWN_BYTES);
        }
        Ok(verdict)
    }

    /// Appends a verified transaction to the ledger, and tells everybody who waits for it.
    fn record(&mut self, transaction: &Arc<SignedTransaction>) {
        let id = transaction.id();
        let seq = self
            .book
            .record(Arc::clone(transaction), self.now, &mut self.round.batch);
        self.figures.transactions_recorded += 1;
        self.round.recorded.push(id);
        self.selection.spend(transaction.wire().inputs());
        let contracts = &self.identity.contracts;
        let changes = vault::changes(
            seq,
            transaction.wire(),
            &|key| self.keys.contains_key(key),
            &|state| contracts.describe(state).ok(),
        );
        if !changes.is_empty() {
            self.round.changes.extend(changes.iter().cloned());
            let at = self.now;
            self.round.then.push(Action::View {
                seq,
                id,
                at,
                changes,
            });
        }
        for (flow, effect) in self.awaiting.remove(&id).unwrap_or_default() {
            let found = Some((**transaction).clone());
            self.complete(flow, effect, EffectResult::Transaction(found));
        }
        for item in self.intake.recorded(&id) {
            self.push_work(Work::Ready(item));
        }
    }

    /// Gives a transaction up.
    pub(crate) fn refuse(&mut self, item: ItemId, rejection: Rejection) {
        let Some((refused, also)) = self.intake.take(item) else {
            return;
        };
        self.figures.transactions_refused += 1;
        let id = refused.transaction.id();
        let mut peers = also;
        match refused.goal {
            Goal::Verify { flow, effect, .. } | Goal::Record { flow, effect, .. } => {
                let error = FlowError::from_rejection(rejection.clone());
                self.complete(flow, effect, EffectResult::Failed(error));
            }
            Goal::Deliver { peer } => peers.push(peer),
            Goal::Dependency => {}
        }
        for peer in peers {
            let text = format!(
                "transaction {id} from {peer}: {} ({})",
                rejection.message, rejection.code
            );
            self.log(true, "node.transaction_refused", text);
            let message = PeerMessage::Refused {
                id,
                rejection: rejection.clone(),
            };
            self.send(peer, Priority::Normal, message);
        }
        for waiting in self.intake.failed(&id) {
            // Through the queue, not by recursion: a chain of waiting transactions can be long.
            let rejection = invalid_ancestor(Some(id), &rejection);
            self.push_work(Work::Refuse(waiting, rejection));
        }
    }
}

fn invalid_ancestor(id: Option<TxId>, rejection: &Rejection) -> Rejection {
    let which = id.map_or_else(|| "an ancestor".to_owned(), |id| format!("ancestor {id}"));
    let text = format!("{which}: {} ({})", rejection.message, rejection.code);
    errors::rejection(&errors::DEPENDENCY_INVALID, text)
}
