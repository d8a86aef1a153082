//! Requests for tests: transactions named by small numbers, and a consumed set in plain maps.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{
    Constraint, ContractName, FilteredTransaction, LegalName, Party, StateAndRef, StateRef,
    TimeWindow, TransactionBuilder, TransactionState, TxId, WireTransaction,
};
use notary::{BatchDecision, Notary, Request, Subject, UniquenessAnswer, UniquenessCheck};
use primitives::{
    Domain, Hash, KeyPair, Moment, Monotonic, PublicKey, Scheme, SignatureContext, Timestamp,
};

pub fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms)
}

/// When a clock that was never set shows a time.
pub fn moment(ms: u64) -> Moment {
    Moment::new(Monotonic::from_ms(ms), at(ms))
}

pub fn key() -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [1; 32])
}

pub fn party(name: &str, key: &PublicKey) -> Party {
    let name = LegalName::new(name, "London", "GB").expect("a legal name");
    Party::new(name, key.clone())
}

pub fn me() -> Party {
    party("Notary", key().public())
}

/// State `number`.
pub fn state(number: u64) -> StateRef {
    let tx = Hash::of(Domain::Derive, &[&number.to_be_bytes()]);
    StateRef::new(TxId::from_hash(tx), 0)
}

/// A transaction: consumed states, read states and time window; `salt` tells transactions apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tx {
    pub inputs: Vec<u64>,
    pub references: Vec<u64>,
    pub window: Option<(u64, u64)>,
    pub salt: u8,
}

pub fn tx(inputs: &[u64], references: &[u64], salt: u8) -> Tx {
    Tx {
        inputs: inputs.to_vec(),
        references: references.to_vec(),
        window: None,
        salt,
    }
}

impl Tx {
    pub fn window(&self) -> Option<TimeWindow> {
        self.window.map(|(from, until)| {
            TimeWindow::new(Some(at(from)), Some(at(until))).expect("a window")
        })
    }

    pub fn subject(&self, of: &Party) -> Subject {
        let tear_off = FilteredTransaction::for_notary(&self.wire(of));
        Subject::TearOff(Box::new(tear_off.verify().expect("a complete tear-off")))
    }

    pub fn wire(&self, of: &Party) -> WireTransaction {
        let contract = || ContractName::new("tally.test").expect("a name");
        let made = TransactionState {
            data: vec![1],
            contract: contract(),
            constraint: Constraint::AlwaysAccept,
            notary: of.clone(),
            encumbrance: None,
        };
        let mut builder = TransactionBuilder::new(of.clone())
            .output(made.clone())
            .command(contract(), vec![2], vec![key().public().clone()]);
        for input in &self.inputs {
            builder = builder.input(StateAndRef {
                state: made.clone(),
                reference: state(*input),
            });
        }
        for reference in &self.references {
            builder = builder.reference(state(*reference));
        }
        if let Some(window) = self.window() {
            builder = builder.time_window(window);
        }
        builder.build([self.salt; 32]).expect("a transaction")
    }

    pub fn id(&self) -> TxId {
        self.subject(&me()).id()
    }

    pub fn request(&self, number: u64) -> Request {
        request(number, self.subject(&me()))
    }
}

pub fn request(number: u64, subject: Subject) -> Request {
    request_from("Bank A", number, subject)
}

pub fn request_from(name: &str, number: u64, subject: Subject) -> Request {
    let requester = party(name, key().public());
    Request {
        number,
        signature: key().sign(SignatureContext::NotaryRequest, &subject.id().hash()),
        subject,
        requester: requester.id(),
        key: requester.key,
    }
}

/// The durable rows.
#[derive(Clone, Debug, Default)]
pub struct Durable {
    pub states: BTreeMap<StateRef, TxId>,
    pub transactions: BTreeSet<TxId>,
}

impl Durable {
    pub fn write(&mut self, decision: &BatchDecision) {
        for (state, id) in &decision.states {
            let before = self.states.insert(*state, *id);
            assert_eq!(before, None, "a state is consumed once");
        }
        for (id, _) in &decision.transactions {
            assert!(
                self.transactions.insert(*id),
                "a transaction is accepted once"
            );
        }
    }
}

impl Durable {
    /// Answers the question of a batch from these rows.
    pub fn answer(&self, check: &UniquenessCheck) -> UniquenessAnswer {
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

/// Takes a batch, answers its question from the durable rows at once, and decides it.
pub fn decide_batch(notary: &mut Notary, commit: u64, durable: &Durable) -> Option<BatchDecision> {
    let check = notary.ask()?;
    let decision = notary.decide(
        check.number,
        &durable.answer(&check),
        commit,
        Monotonic::START,
    );
    Some(decision.expect("the batch waits for its answer"))
}
