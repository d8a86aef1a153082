//! Microseconds a decision takes, signatures, proofs and disk aside:
//! `cargo run --release -p notary --example decision_speed`.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use ledger::{
    Constraint, ContractName, FilteredTransaction, LegalName, Party, StateAndRef, StateRef,
    TransactionBuilder, TransactionState, TxId,
};
use notary::{Notary, NotaryOptions, Request, Subject, UniquenessAnswer, UniquenessCheck};
use primitives::{Domain, Hash, KeyPair, Moment, Scheme, SignatureContext};

#[derive(Default)]
struct Consumed {
    states: HashMap<StateRef, TxId>,
    transactions: HashSet<TxId>,
}

impl Consumed {
    fn answer(&self, check: &UniquenessCheck) -> UniquenessAnswer {
        let is_accepted = |id: &&TxId| self.transactions.contains(*id);
        let row = |state: &StateRef| Some((*state, *self.states.get(state)?));
        UniquenessAnswer {
            accepted: check
                .transactions
                .iter()
                .filter(is_accepted)
                .copied()
                .collect(),
            consumers: check.states.iter().filter_map(row).collect(),
        }
    }
}

fn requests(count: u64, states: u64, me: &Party, key: &KeyPair) -> Vec<Request> {
    let contract = ContractName::new("tally.test").expect("a name");
    let made = TransactionState {
        data: vec![1; 100],
        contract: contract.clone(),
        constraint: Constraint::AlwaysAccept,
        notary: me.clone(),
        encumbrance: None,
    };
    let request = |number: u64| {
        let mut builder = TransactionBuilder::new(me.clone())
            .output(made.clone())
            .command(contract.clone(), vec![2], vec![key.public().clone()]);
        for state in 0..states {
            let name = (number * states + state).to_be_bytes();
            let tx = TxId::from_hash(Hash::of(Domain::Derive, &[&name]));
            builder = builder.input(StateAndRef {
                state: made.clone(),
                reference: StateRef::new(tx, 0),
            });
        }
        let wire = builder.build([7; 32]).expect("a transaction");
        let tear_off = FilteredTransaction::for_notary(&wire).verify();
        Request {
            number,
            subject: Subject::TearOff(Box::new(tear_off.expect("complete"))),
            requester: me.id(),
            key: key.public().clone(),
            signature: key.sign(SignatureContext::NotaryRequest, &wire.id().hash()),
        }
    };
    (0..count).map(request).collect()
}

fn main() {
    let key = KeyPair::from_seed(Scheme::Ed25519, [1; 32]);
    let name = LegalName::new("Notary", "London", "GB").expect("a legal name");
    let me = Party::new(name, key.public().clone());
    for (count, states) in [(50_000u64, 1), (2_000, 50)] {
        let requests = requests(count, states, &me, &key);
        let now = Moment::default();
        let mut notary = Notary::new(NotaryOptions::default(), me.clone(), now.wall);
        let mut consumed = Consumed::default();
        let mut commit = 0;
        let (mut decided, mut signed) = (std::time::Duration::ZERO, 0);
        let mut waiting = requests.into_iter().peekable();
        while waiting.peek().is_some() {
            let began = Instant::now();
            for request in waiting.by_ref().take(400) {
                notary.admit(request, now).expect("room");
            }
            commit += 1;
            let check = notary.ask().expect("requests wait");
            let answer = consumed.answer(&check);
            let decision = notary.decide(check.number, &answer, commit, now.monotonic);
            decided += began.elapsed();
            let decision = decision.expect("a batch");
            consumed.states.extend(decision.states.iter().copied());
            let ids = decision.transactions.iter().map(|(id, _)| *id);
            consumed.transactions.extend(ids);
            let began = Instant::now();
            notary.committed(commit, now.monotonic);
            signed += decision.into_responses(&key).len();
            decided += began.elapsed();
        }
        let us = decided.as_nanos() as f64 / 1_000.0;
        println!(
            "{count} requests of {states} states: {:.2} us a request, {:.2} us a state, batch signatures and proofs for {signed} included",
            us / count as f64,
            us / (count * states) as f64,
        );
    }
}
