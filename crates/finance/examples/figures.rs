//! Measures the steps of a payment on one core, in microseconds: `cargo run --release -p finance --example figures`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use finance::{CashContract, IssuedToken, Portion, Reference, cash_builder};
use ledger::{
    ContractRegistry, FilteredTransaction, LedgerTransaction, LegalName, NetworkRules,
    NotaryRequest, Party, SignedTransaction, StateAndRef, StateRef, TransactionSignature,
    WireTransaction,
};
use primitives::{Decode, Encode, Hash, KeyPair, Scheme, SignatureContext};

const ROUNDS: u32 = 20_000;

fn measure<T>(what: &str, rounds: u32, mut step: impl FnMut() -> T) {
    // Takes the best of ten stretches, because other programs disturb the measurement.
    let stretch = (rounds / 10).max(1);
    let us = (0..10)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..stretch {
                black_box(step());
            }
            start.elapsed().as_secs_f64() * 1e6 / f64::from(stretch)
        })
        .fold(f64::INFINITY, f64::min);
    println!("{what:<44} {us:>9.2} us");
}

fn party(name: &str, seed: u8) -> (Party, KeyPair) {
    let key = KeyPair::from_seed(Scheme::Ed25519, [seed; 32]);
    let name = LegalName::new(name, "London", "GB").expect("a valid name");
    (Party::new(name, key.public().clone()), key)
}

fn main() {
    let (alice, key) = party("Bank A", 1);
    let (bob, _) = party("Bank B", 2);
    let (notary, notary_key) = party("Notary", 3);
    let mut registry = ContractRegistry::new();
    registry
        .register(Arc::new(CashContract))
        .expect("a new registry");
    let rules = NetworkRules {
        notaries: vec![notary.clone()],
        allow_always_accept: false,
    };
    let token = IssuedToken {
        issuer: alice.clone(),
        reference: Reference::default(),
        currency: "GBP".parse().expect("a currency"),
    };
    let portion = |to: &Party, quantity, states| Portion {
        owner: to.key.clone(),
        quantity,
        states,
    };
    let build_issue = || {
        cash_builder::issue(notary.clone(), &token, &[portion(&alice, 1_000_000, 1)])
            .expect("an issue")
            .parameters(Hash::ZERO)
            .build([5; 32])
            .expect("well formed")
    };
    let issue = build_issue();
    let input = StateAndRef {
        state: issue.outputs()[0].clone(),
        reference: StateRef::new(issue.id(), 0),
    };
    println!("issue: {} bytes", issue.bytes().len());
    measure("issue: build and id", ROUNDS, build_issue);

    for states in [1u32, 160] {
        let rounds = ROUNDS / states;
        let build_pay = || {
            let portions = [portion(&bob, 1_000, states)];
            cash_builder::pay(
                notary.clone(),
                std::slice::from_ref(&input),
                &portions,
                &alice.key,
            )
            .expect("a payment")
            .builder
            .parameters(Hash::ZERO)
            .build([6; 32])
            .expect("well formed")
        };
        let pay = build_pay();
        let signature = TransactionSignature::sign_batch(&[pay.id(); 64], &notary_key).remove(9);
        let signed = SignedTransaction::new(pay.clone(), [signature]).signed_by(&key);
        let bytes = signed.to_bytes();
        println!(
            "\npay, 1 in {} out: {} bytes, {} signed",
            states + 1,
            pay.bytes().len(),
            bytes.len()
        );
        measure("build and id", rounds, build_pay);
        measure("decode and id", rounds, || {
            WireTransaction::from_bytes(pay.bytes()).expect("valid")
        });
        measure("decode and id, signed", rounds, || {
            SignedTransaction::from_bytes(&bytes).expect("valid")
        });
        measure("encode, signed", rounds, || signed.to_bytes());
        measure("sign", ROUNDS / 4, || {
            key.sign(SignatureContext::Transaction, &pay.id().hash())
        });
        measure("signatures: which to check", rounds, || {
            signed.check_signatures(&[]).expect("all there")
        });
        let resolve =
            || LedgerTransaction::resolve(&pay, |_| Some(input.state.clone())).expect("known");
        let resolved = resolve();
        measure("resolve", rounds, resolve);
        measure("verify: notary, constraints, contract", rounds, || {
            resolved.verify(&registry, &rules).expect("valid")
        });
        measure("describe one output", ROUNDS, || {
            registry.describe(&pay.outputs()[0]).expect("cash")
        });
        let tear_off = FilteredTransaction::for_notary(&pay);
        measure("tear-off: make", ROUNDS, || {
            FilteredTransaction::for_notary(&pay)
        });
        let request = NotaryRequest::sign(&pay, &notary.id(), alice.id(), &key).to_bytes();
        println!("notary request: {} bytes", request.len());
        measure("notary request: decode", ROUNDS, || {
            NotaryRequest::from_bytes(&request).expect("valid")
        });
        measure("tear-off: verify", ROUNDS, || {
            tear_off.verify().expect("complete")
        });
    }
}
