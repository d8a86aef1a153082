//! Cash transactions made by hand, valid and invalid ones.

use finance::{CashState, IssuedToken, Portion, cash_builder};
use ledger::limits::COMMAND_SIGNERS_MAX;
use ledger::{
    Constraint, SignedTransaction, StateAndRef, StateRef, TimeWindow, TransactionBuilder,
    TransactionSignature, TxId, WireTransaction,
};
use primitives::{Decode, Encode, Hash, KeyPair, Scheme, Timestamp};

use super::deeds::{deed_code, deed_name};
use super::{Testnet, key};

impl Testnet {
    /// Issues cash of node `from` to node `to`.
    pub fn issued(&self, from: usize, to: usize, quantity: u64) -> SignedTransaction {
        let wire = self.built(self.issuing(from, to, quantity));
        SignedTransaction::new(wire, []).signed_by(&key(from))
    }

    /// Like [`Testnet::issued`], but reads a state of any transaction, so the notary signs too.
    pub fn issued_referring(
        &self,
        from: usize,
        to: usize,
        quantity: u64,
        state: StateRef,
    ) -> SignedTransaction {
        let builder = self.issuing(from, to, quantity).reference(state);
        notarised(self.built(builder)).signed_by(&key(from))
    }

    fn issuing(&self, from: usize, to: usize, quantity: u64) -> TransactionBuilder {
        let token = IssuedToken {
            issuer: self.nodes[from].party.clone(),
            reference: finance::Reference::default(),
            currency: "GBP".parse().expect("a currency"),
        };
        let portion = self.portion(to, quantity);
        let notary = self.nodes[0].party.clone();
        cash_builder::issue(notary, &token, &[portion]).expect("an issue")
    }

    /// Returns an issue of 1 each in many states.
    pub fn issued_in_states(&self, from: usize, to: usize, states: usize) -> SignedTransaction {
        let token = IssuedToken {
            issuer: self.nodes[from].party.clone(),
            reference: finance::Reference::default(),
            currency: "GBP".parse().expect("a currency"),
        };
        let portions = vec![self.portion(to, 1); states];
        let notary = self.nodes[0].party.clone();
        let builder = cash_builder::issue(notary, &token, &portions).expect("an issue");
        SignedTransaction::new(self.built(builder), []).signed_by(&key(from))
    }

    /// Returns a deed between two nodes that this many further P-256 keys sign, after another deed if there is one.
    pub fn deed_signed_by_many(
        &self,
        (from, to): (usize, usize),
        keys: u32,
        after: Option<&SignedTransaction>,
    ) -> SignedTransaction {
        let signer = |number: u32| {
            let seed = Hash::plain(&number.to_be_bytes());
            KeyPair::from_seed(Scheme::EcdsaP256, *seed.as_bytes())
        };
        let signers: Vec<KeyPair> = (0..keys).map(signer).collect();
        let mut public: Vec<_> = signers.iter().map(|key| key.public().clone()).collect();
        public.push(key(from).public().clone());
        let code = deed_code(1);
        let data = vec![1, from as u8, to as u8];
        let mut builder = TransactionBuilder::new(self.nodes[0].party.clone())
            .attachment(code)
            .output_data(deed_name(), Constraint::Descriptor(code), data);
        if let Some(before) = after {
            builder = builder.input(StateAndRef {
                state: before.wire().output(0).expect("an output").clone(),
                reference: StateRef::new(before.id(), 0),
            });
        }
        for some in public.chunks(COMMAND_SIGNERS_MAX) {
            builder = builder.command(deed_name(), vec![], some.to_vec());
        }
        let wire = self.built(builder);
        let id = wire.id();
        let by_all = signers
            .iter()
            .map(|key| TransactionSignature::sign(&id, key));
        let verdict = after.map(|_| TransactionSignature::sign_batch(&[id], &key(0)).remove(0));
        SignedTransaction::new(wire, by_all.chain(verdict)).signed_by(&key(from))
    }

    /// Pays the first state of a transaction of node `from` to node `to`, signed by it and the notary.
    pub fn paid(&self, before: &SignedTransaction, from: usize, to: usize) -> SignedTransaction {
        let wire = self.payment(before, from, to, 0);
        notarised(wire).signed_by(&key(from))
    }

    /// Like [`Testnet::paid`], but makes more cash than it consumes.
    pub fn inflated(
        &self,
        before: &SignedTransaction,
        from: usize,
        to: usize,
    ) -> SignedTransaction {
        let wire = self.payment(before, from, to, 1);
        notarised(wire).signed_by(&key(from))
    }

    /// Returns an unsigned payment.
    pub fn payment(
        &self,
        before: &SignedTransaction,
        from: usize,
        to: usize,
        more: u64,
    ) -> WireTransaction {
        self.built(self.spending(before, from, to, more))
    }

    /// Returns an unsigned payment of a node to itself, split into `states` states.
    pub fn split(&self, before: &SignedTransaction, from: usize, states: u32) -> WireTransaction {
        let state = before.wire().output(0).expect("an output").clone();
        let cash = CashState::from_bytes(&state.data).expect("cash");
        let input = StateAndRef {
            state,
            reference: StateRef::new(before.id(), 0),
        };
        let portion = Portion {
            states,
            ..self.portion(from, cash.quantity)
        };
        let (notary, key) = (self.nodes[0].party.clone(), key(from));
        let spending = cash_builder::pay(notary, &[input], &[portion], key.public());
        self.built(spending.expect("a payment").builder)
    }

    /// Returns an unsigned payment that must be notarised before a given time.
    pub fn payment_until(
        &self,
        before: &SignedTransaction,
        from: usize,
        to: usize,
        until_ms: u64,
    ) -> WireTransaction {
        let window = TimeWindow::until(Timestamp::from_ms(until_ms));
        self.built(self.spending(before, from, to, 0).time_window(window))
    }

    fn spending(
        &self,
        before: &SignedTransaction,
        from: usize,
        to: usize,
        more: u64,
    ) -> TransactionBuilder {
        let mut state = before.wire().output(0).expect("an output").clone();
        let mut cash = CashState::from_bytes(&state.data).expect("cash");
        cash.quantity += more;
        state.data = cash.to_bytes();
        let input = StateAndRef {
            state,
            reference: StateRef::new(before.id(), 0),
        };
        let notary = self.nodes[0].party.clone();
        let portion = self.portion(to, cash.quantity);
        let change_to = key(from).public().clone();
        let spending = cash_builder::pay(notary, &[input], &[portion], &change_to);
        spending.expect("a payment").builder
    }

    /// Returns an amount for a node, in one state.
    pub fn portion(&self, to: usize, quantity: u64) -> Portion {
        Portion {
            owner: key(to).public().clone(),
            quantity,
            states: 1,
        }
    }

    /// Builds the transaction under the network's parameters.
    pub fn built(&self, builder: TransactionBuilder) -> WireTransaction {
        let salt = self.salt.replace(self.salt.get() + 1);
        let builder = builder.parameters(self.network.parameters_hash());
        let salt = *Hash::plain(&salt.to_be_bytes()).as_bytes();
        builder.build(salt).expect("a transaction")
    }
}

/// Signs a transaction by the notary alone.
fn notarised(wire: WireTransaction) -> SignedTransaction {
    let verdict = TransactionSignature::sign_batch(&[wire.id()], &key(0)).remove(0);
    SignedTransaction::new(wire, [verdict])
}

/// Replaces a node's signature on a transaction by the node's signature on something else.
pub fn badly_signed(transaction: &SignedTransaction, by: usize) -> SignedTransaction {
    let other = TransactionSignature::sign(&TxId::from_array([9; 32]), &key(by));
    transaction.clone().with(other)
}
