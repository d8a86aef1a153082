//! Measures the engine's cost per flow: the six effects of a payment, answered at once, in two rounds with one journal
//! row.
//!
//! `cargo run --release -p flow --example flow_cost [flows]`

use std::sync::Arc;
use std::time::Instant;

use flow::{
    EffectRequest, EffectResult, EngineAction, Flow, FlowContext, FlowEngine, FlowError, FlowId,
    FlowLimits, FlowRegistry, Service, StartRecord,
};
use ledger::{
    Constraint, ContractName, NetworkMap, NetworkParameters, Party, PartyId, SelectionRequest,
    SignedTransaction, StateAndRef, StateRef, TokenId, TransactionBuilder, TransactionSignature,
    TransactionState, TxId, WireTransaction,
};
use primitives::{Encode, Hash, KeyPair, Scheme, Signature, SignatureContext, Timestamp};

/// The effects of a payment, without the work of building and hashing its transaction.
struct Pay;

thread_local! {
    static TRANSACTION: SignedTransaction = transaction();
}

impl Flow for Pay {
    const NAME: &'static str = "cost.pay";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, quantity: u64) -> Result<u64, FlowError> {
        let notary = ctx.notary()?.id();
        let token = TokenId::from_hash(Hash::ZERO);
        let request = SelectionRequest {
            token,
            quantity,
            notary: Some(notary),
            deadline_ms: 100,
        };
        let states = ctx.select_states(request).await?;
        let key = ctx.me().key.clone();
        let salt = Hash::from_bytes(ctx.random32()?);
        ctx.sign(&key, SignatureContext::Transaction, salt).await?;
        let transaction = TRANSACTION.with(Clone::clone);
        ctx.verify(&transaction, None, &[]).await?;
        let body = transaction.wire().bytes().to_vec();
        ctx.request(&notary, Service::Notarise, body, true).await?;
        let message = transaction.signatures()[0].signed_message(&transaction.id())?;
        ctx.check_signatures(vec![message]).await?;
        ctx.record(transaction, vec![notary]).await?;
        Ok(states.len() as u64)
    }
}

fn party(name: &str) -> (Party, KeyPair) {
    let key = KeyPair::from_seed(Scheme::Ed25519, [name.len() as u8; 32]);
    let name = format!("O={name}, L=London, C=GB")
        .parse()
        .expect("a legal name");
    (Party::new(name, key.public().clone()), key)
}

fn coin() -> StateAndRef {
    let state = TransactionState {
        data: vec![7; 120],
        contract: ContractName::new("tally.cash").expect("a name"),
        constraint: Constraint::Descriptor(Hash::ZERO),
        notary: party("Notary Service").0,
        encumbrance: None,
    };
    StateAndRef {
        state,
        reference: StateRef::new(TxId::from_hash(Hash::ZERO), 1),
    }
}

fn transaction() -> SignedTransaction {
    let (me, key) = party("Bank A");
    let cash = ContractName::new("tally.cash").expect("a name");
    let wire: WireTransaction = TransactionBuilder::new(party("Notary Service").0)
        .input(coin())
        .output(coin().state)
        .output(coin().state)
        .command(cash, vec![1], vec![me.key])
        .attachment(Hash::ZERO)
        .build([1; 32])
        .expect("a transaction");
    let signature = TransactionSignature::sign(&wire.id(), &key);
    SignedTransaction::new(wire, [signature])
}

struct Node {
    engine: FlowEngine,
    out: Vec<EngineAction>,
    work: Vec<EngineAction>,
    waiting: Vec<(FlowId, u32)>,
    ended: u64,
    journal_bytes: usize,
    coin: StateAndRef,
    signature: Signature,
    answer: Vec<u8>,
}

impl Node {
    /// Executes the actions; answers every effect except requests at once.
    fn work_off(&mut self) {
        loop {
            self.engine.run_ready(&mut self.out);
            if self.out.is_empty() {
                return;
            }
            std::mem::swap(&mut self.out, &mut self.work);
            let mut work = std::mem::take(&mut self.work);
            for action in work.drain(..) {
                self.perform(action);
            }
            self.work = work;
        }
    }

    fn perform(&mut self, action: EngineAction) {
        match action {
            EngineAction::Effect {
                flow,
                effect,
                request,
            } => {
                let result = match request {
                    EffectRequest::SelectStates(_) => EffectResult::States(vec![self.coin.clone()]),
                    EffectRequest::Sign { .. } => EffectResult::Signature(self.signature),
                    EffectRequest::Request { .. } => return self.waiting.push((flow, effect)),
                    _ => EffectResult::Done,
                };
                self.engine.complete(flow, effect, result, &mut self.out);
            }
            EngineAction::Journal { row, .. } => self.journal_bytes += row.len(),
            EngineAction::Ended { outcome, .. } => {
                outcome.expect("the flow ends well");
                self.ended += 1;
            }
            _ => {}
        }
    }
}

fn main() {
    let flows: u64 = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(200_000);
    let (me, key) = party("Bank A");
    let notary: PartyId = party("Notary Service").0.id();
    let mut registry = FlowRegistry::new();
    registry.register::<Pay>();
    let parameters = NetworkParameters::new(vec![party("Notary Service").0], Timestamp::EPOCH);
    let network = Arc::new(NetworkMap::new(parameters, []));
    let limits = FlowLimits::default();
    let transaction = transaction();
    let mut node = Node {
        engine: FlowEngine::new(Arc::new(registry), me, network, [1; 32].into(), limits),
        out: Vec::new(),
        work: Vec::new(),
        waiting: Vec::new(),
        ended: 0,
        journal_bytes: 0,
        coin: coin(),
        signature: key.sign(SignatureContext::Transaction, &Hash::ZERO),
        answer: transaction.signatures()[0].to_bytes(),
    };
    assert_eq!(node.engine.registry().current_version("cost.pay"), Ok(1));
    let in_flight = 800u64.min(flows);
    let begun = Instant::now();
    let mut started = 0u64;
    while node.ended < flows {
        while started < flows && started - node.ended < in_flight {
            started += 1;
            let mut id = [0; 16];
            id[..8].copy_from_slice(&started.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            let start = StartRecord {
                id: FlowId(id),
                flow: "cost.pay".into(),
                version: 1,
                args: 5u64.to_bytes(),
                seed: [2; 32].into(),
                at: Timestamp::from_ms(started),
                origin: None,
                caller: vec![1; 16],
            };
            node.engine.start(start).expect("the flow starts");
        }
        node.work_off();
        node.engine.end_of_round(&mut node.out);
        node.work_off();
        for (flow, effect) in std::mem::take(&mut node.waiting) {
            let answer = EffectResult::Response(node.answer.clone());
            node.engine.complete(flow, effect, answer, &mut node.out);
        }
        node.work_off();
        node.engine.end_of_round(&mut node.out);
        node.work_off();
    }
    let us = begun.elapsed().as_micros() as u64;
    println!(
        "{flows} flows, {} ns a flow, {} journal bytes a flow; notary {notary}",
        us * 1_000 / flows,
        node.journal_bytes as u64 / flows
    );
}
