//! One node's flow engine in a world of maps: real verification, a notary that remembers, and a selection that takes
//! the first sufficient states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use finance::CashState;
use flow::{
    EffectRequest, EffectResult, EngineAction, FlowEngine, FlowError, FlowId, FlowLimits,
    FlowRegistry, StartRecord,
};
use ledger::{
    ContractRegistry, LedgerTransaction, NetworkMap, NetworkParameters, NodeInfo, NotaryError,
    NotaryRequest, NotaryResponse, PartyId, SelectionRequest, SignedTransaction, StateAndRef,
    StateRef, TransactionSignature, TransactionState, TxId,
};
use primitives::{Decode, Encode, KeyPair, PublicKey, SignatureChecker, Timestamp};

use crate::fixtures::*;

pub struct World {
    registry: Arc<FlowRegistry>,
    engine: FlowEngine,
    network: Arc<NetworkMap>,
    contracts: ContractRegistry,
    keys: Vec<KeyPair>,
    pub transactions: BTreeMap<TxId, SignedTransaction>,
    pub unspent: BTreeMap<StateRef, TransactionState>,
    pub delivered: Vec<(TxId, PartyId)>,
    pub notarised: usize,
    consumed: BTreeSet<StateRef>,
    locked: BTreeSet<StateRef>,
    started: u8,
}

impl World {
    /// Creates a world with the engine of bank A.
    pub fn new() -> World {
        let mut registry = FlowRegistry::new();
        finance::register_flows(&mut registry);
        let registry = Arc::new(registry);
        let parameters = NetworkParameters::new(vec![notary()], Timestamp::EPOCH);
        let info = |letter: char| NodeInfo {
            party: party(letter),
            addresses: vec!["localhost:1".into()],
            platform_version: 1,
            serial: 1,
            notary: None,
        };
        let network = Arc::new(NetworkMap::new(parameters, "ABCN".chars().map(info)));
        let mut contracts = ContractRegistry::new();
        finance::register_contracts(&mut contracts).unwrap();
        let limits = FlowLimits::default();
        let engine = FlowEngine::new(
            registry.clone(),
            party('A'),
            network.clone(),
            [9; 32].into(),
            limits,
        );
        World {
            registry,
            engine,
            network,
            contracts,
            keys: vec![key(b'A')],
            transactions: BTreeMap::new(),
            unspent: BTreeMap::new(),
            delivered: Vec::new(),
            notarised: 0,
            consumed: BTreeSet::new(),
            locked: BTreeSet::new(),
            started: 0,
        }
    }

    /// Runs a flow from its JSON arguments to its JSON output.
    pub fn run(&mut self, name: &str, json: &str) -> Result<String, FlowError> {
        let version = self.registry.current_version(name)?;
        let args = self
            .registry
            .args_from_json(name, version, json.as_bytes())?;
        self.started += 1;
        let record = StartRecord {
            id: FlowId([self.started; 16]),
            flow: name.to_owned(),
            version,
            args,
            seed: [self.started; 32].into(),
            at: Timestamp::EPOCH,
            origin: None,
            caller: Vec::new(),
        };
        let mut actions = Vec::new();
        self.engine.start(record)?;
        self.engine.run_ready(&mut actions);
        loop {
            let mut next = Vec::new();
            for action in std::mem::take(&mut actions) {
                match action {
                    EngineAction::Effect {
                        flow,
                        effect,
                        request,
                    } => {
                        let result = self.answer(request);
                        self.engine.complete(flow, effect, result, &mut next);
                        self.engine.run_ready(&mut next);
                    }
                    EngineAction::Ended { outcome, .. } => {
                        self.locked.clear();
                        let output = outcome?;
                        return self.registry.output_to_json(name, version, &output);
                    }
                    _ => {}
                }
            }
            assert!(!next.is_empty(), "the flow waits for nothing");
            actions = next;
        }
    }

    /// Makes bank A hold cash that another bank issued.
    pub fn give(&mut self, name: &str, quantity: u64) {
        let n = self.unspent.len() as u8;
        let reference = StateRef::new(TxId::from_array([200 + n; 32]), u32::from(n));
        self.unspent
            .insert(reference, cash(&token(name), quantity, 'A'));
    }

    /// Returns the unspent cash of an owner, as sorted quantities.
    pub fn holds(&self, owner: char, name: &str) -> Vec<u64> {
        let (owner, token) = (public(owner as u8), token(name));
        let mut quantities: Vec<u64> = self
            .unspent
            .values()
            .map(|state| CashState::from_bytes(&state.data).unwrap())
            .filter(|cash| cash.owner == owner && cash.token == token)
            .map(|cash| cash.quantity)
            .collect();
        quantities.sort_unstable();
        quantities
    }

    fn answer(&mut self, request: EffectRequest) -> EffectResult {
        match request {
            EffectRequest::SelectStates(request) => match self.select(&request) {
                Some(states) => EffectResult::States(states),
                None => EffectResult::Failed(FlowError::new(
                    "vault.insufficient_funds",
                    "not enough",
                    "wait for funds",
                )),
            },
            EffectRequest::Sign {
                key,
                context,
                message,
            } => {
                let pair = self.keys.iter().find(|pair| *pair.public() == key);
                EffectResult::Signature(pair.expect("a key of this node").sign(context, &message))
            }
            EffectRequest::Verify {
                transaction,
                missing_allowed,
                ..
            } => match self.verify(&transaction, &missing_allowed) {
                Ok(()) => EffectResult::Done,
                Err(error) => EffectResult::Failed(error),
            },
            EffectRequest::CheckSignatures(messages) => {
                assert!(
                    messages
                        .iter()
                        .all(|message| SignatureChecker::new().check(message))
                );
                EffectResult::Done
            }
            EffectRequest::Request {
                party,
                body,
                irrevocable,
                ..
            } => {
                assert!(irrevocable && party == notary().id());
                EffectResult::Response(self.notarise(&body).to_bytes())
            }
            EffectRequest::Record {
                transaction,
                deliver_to,
            } => {
                self.record(transaction, deliver_to);
                EffectResult::Done
            }
            other => panic!("the cash flows ask for no {other:?}"),
        }
    }

    fn select(&mut self, request: &SelectionRequest) -> Option<Vec<StateAndRef>> {
        assert_eq!(request.notary, Some(notary().id()));
        let (mut chosen, mut sum) = (Vec::new(), 0u64);
        for (reference, state) in &self.unspent {
            let cash = CashState::from_bytes(&state.data).unwrap();
            if sum >= request.quantity {
                break;
            }
            if cash.token.id() == request.token && cash.owner == public(b'A') {
                sum += cash.quantity;
                chosen.push(StateAndRef {
                    state: state.clone(),
                    reference: *reference,
                });
            }
        }
        if sum < request.quantity {
            return None;
        }
        assert!(
            chosen
                .iter()
                .all(|state| self.locked.insert(state.reference))
        );
        Some(chosen)
    }

    fn verify(&self, tx: &SignedTransaction, missing: &[PublicKey]) -> Result<(), FlowError> {
        let pending = tx.check_signatures(missing)?;
        pending.check_with(&mut SignatureChecker::new())?;
        let resolved = LedgerTransaction::resolve(tx.wire(), |reference| {
            self.unspent.get(reference).cloned()
        })?;
        resolved.verify(&self.contracts, self.network.rules())?;
        assert_eq!(
            tx.wire().parameters(),
            Some(&self.network.parameters_hash())
        );
        Ok(())
    }

    fn notarise(&mut self, body: &[u8]) -> NotaryResponse {
        let request = NotaryRequest::from_bytes(body).unwrap();
        let ledger::NotarySubject::TearOff(tear_off) = &request.subject else {
            panic!("this notary does not validate");
        };
        let checked = tear_off.verify().unwrap();
        assert_eq!(checked.notary(), &notary());
        let message = request.signed_message(&checked.id(), &notary().id());
        assert!(SignatureChecker::new().check(&message));
        if !checked
            .inputs()
            .iter()
            .all(|input| self.consumed.insert(*input))
        {
            return NotaryResponse::Refused(NotaryError::conflict(Vec::new()));
        }
        self.notarised += 1;
        let mut signatures = TransactionSignature::sign_batch(&[checked.id()], &key(b'N'));
        NotaryResponse::Signed(signatures.remove(0))
    }

    fn record(&mut self, tx: SignedTransaction, deliver_to: Vec<PartyId>) {
        self.verify(&tx, &[]).expect("what is recorded is complete");
        for input in tx.wire().inputs() {
            self.unspent.remove(input).expect("consumed once");
        }
        for (index, output) in (0u32..).zip(tx.wire().outputs()) {
            self.unspent
                .insert(StateRef::new(tx.id(), index), output.clone());
        }
        self.delivered
            .extend(deliver_to.into_iter().map(|party| (tx.id(), party)));
        self.transactions.insert(tx.id(), tx);
    }
}
