//! The parties and objects of the vectors. Everything follows from small fixed seeds.

use ledger::{
    CodeKind, Constraint, ContractDescriptor, ContractName, LegalName, NetworkParameters, Party,
    StateAndRef, StateRef, TimeWindow, TransactionBuilder, TransactionState, Transition, TxId,
    WireTransaction, transition_name,
};
use primitives::{CompositeKey, Hash, KeyPair, PublicKey, Scheme, Timestamp};

pub const ALICE: u8 = 1;
pub const BOB: u8 = 2;
pub const CAROL: u8 = 3;
pub const NOTARY: u8 = 4;
pub const ROOT: u8 = 5;

/// A person's key: the seed is 32 times the person's number. Bob signs with P-256, all others with Ed25519.
pub fn pair(person: u8) -> KeyPair {
    let scheme = if person == BOB {
        Scheme::EcdsaP256
    } else {
        Scheme::Ed25519
    };
    KeyPair::from_seed(scheme, [person; 32])
}

pub fn key(person: u8) -> PublicKey {
    pair(person).public().clone()
}

pub fn party(person: u8) -> Party {
    let name = match person {
        ALICE => "O=Alice Bank, L=London, C=GB",
        BOB => "CN=Bob, OU=Trading, O=Bob & Söhne, L=Zürich, ST=ZH, C=CH",
        NOTARY => "O=Notary, L=Paris, C=FR",
        _ => "O=Carol, L=New York, C=US",
    };
    Party::new(
        name.parse::<LegalName>().expect("a legal name"),
        key(person),
    )
}

/// Two of Alice, Bob and Carol, where Carol counts twice.
pub fn committee() -> PublicKey {
    composite(2, vec![(1, key(ALICE)), (1, key(BOB)), (2, key(CAROL))])
}

/// The notary and the committee.
pub fn nested() -> PublicKey {
    composite(300, vec![(100, key(NOTARY)), (200, committee())])
}

fn composite(threshold: u32, children: Vec<(u32, PublicKey)>) -> PublicKey {
    let key = CompositeKey::new(threshold, children).expect("a composite key");
    PublicKey::Composite(key.into())
}

pub fn contract() -> ContractName {
    ContractName::new("tally.cash").expect("a contract's name")
}

pub fn descriptor() -> ContractDescriptor {
    ContractDescriptor::sign(contract(), 1, CodeKind::Native, &pair(ROOT))
}

pub fn parameters() -> NetworkParameters {
    NetworkParameters::new(vec![party(NOTARY)], Timestamp::from_ms(1_750_000_000_000))
}

fn state(data: &[u8], constraint: Constraint, encumbrance: Option<u32>) -> TransactionState {
    TransactionState {
        data: data.to_vec(),
        contract: contract(),
        constraint,
        notary: party(NOTARY),
        encumbrance,
    }
}

fn exactly() -> Constraint {
    Constraint::Descriptor(descriptor().hash())
}

/// Makes one state, consumes none.
pub fn issue() -> WireTransaction {
    TransactionBuilder::new(party(NOTARY))
        .output(state(&[1, 2, 3], exactly(), None))
        .command(contract(), vec![0], vec![key(ALICE)])
        .attachment(descriptor().hash())
        .parameters(parameters().hash())
        .build([0x11; 32])
        .expect("a transaction")
}

/// Consumes the issued state, makes two, within a time window.
pub fn pay() -> WireTransaction {
    let issue = issue();
    TransactionBuilder::new(party(NOTARY))
        .input(StateAndRef {
            state: issue.outputs()[0].clone(),
            reference: StateRef::new(issue.id(), 0),
        })
        .output(state(&[1, 2], exactly(), None))
        .output(state(&[3], exactly(), None))
        .command(contract(), vec![1, 0xff], vec![key(ALICE)])
        .attachment(descriptor().hash())
        .time_window(
            TimeWindow::new(
                Some(Timestamp::from_ms(1_000)),
                Some(Timestamp::from_ms(60_000)),
            )
            .expect("a time window"),
        )
        .parameters(parameters().hash())
        .build([0x22; 32])
        .expect("a transaction")
}

/// Something of everything: several components a group, a ring of encumbered outputs, all constraints, all kinds of keys.
pub fn rich() -> WireTransaction {
    let other = |number: u8| TxId::from_hash(Hash::plain(&[number]));
    let mut builder = TransactionBuilder::new(party(NOTARY));
    for index in [0, 23, 24, 255, 65_536] {
        builder = builder.input(StateAndRef {
            state: state(&[], exactly(), None),
            reference: StateRef::new(other(1), index),
        });
    }
    builder
        .reference(StateRef::new(other(2), u32::MAX))
        .reference(StateRef::new(pay().id(), 1))
        .output(state(&[], exactly(), Some(2)))
        .output(state(&[7; 300], Constraint::SignedBy(committee()), None))
        .output(state(&[8; 23], Constraint::SignedBy(key(BOB)), Some(0)))
        .output(state(&[9; 24], Constraint::AlwaysAccept, None))
        .output(state(&[10], exactly(), None))
        .output(state(&[11], exactly(), None))
        .command(contract(), vec![], vec![key(ALICE), key(BOB)])
        .command(contract(), vec![5; 40], vec![committee()])
        .command(
            ContractName::new("org.example.bond-2").expect("a name"),
            vec![6],
            vec![nested()],
        )
        .attachment(descriptor().hash())
        .attachment(Hash::plain(b"a file"))
        .attachment(Hash::plain(b"another"))
        .time_window(TimeWindow::from(Timestamp::from_ms(1 << 40)))
        .build([0x33; 32])
        .expect("a transaction")
}

/// Makes a transition that moves the paid output to another notary.
pub fn notary_change() -> WireTransaction {
    let pay = pay();
    let mut moved = pay.outputs()[1].clone();
    moved.notary = party(CAROL);
    let transition = Transition::NotaryChange { to: party(CAROL) };
    TransactionBuilder::new(party(NOTARY))
        .input(StateAndRef {
            state: pay.outputs()[1].clone(),
            reference: StateRef::new(pay.id(), 1),
        })
        .output(moved)
        .command(
            transition_name().clone(),
            transition.value(),
            vec![key(ALICE)],
        )
        .attachment(descriptor().hash())
        .parameters(parameters().hash())
        .build([0x44; 32])
        .expect("a transaction")
}

/// Makes a transition that puts the paid output under newer code.
pub fn upgrade() -> WireTransaction {
    let pay = pay();
    let newer = ContractDescriptor::sign(contract(), 2, CodeKind::Native, &pair(ROOT));
    let (from, to) = (descriptor().hash(), newer.hash());
    let mut turned = pay.outputs()[0].clone();
    turned.data = vec![2, 1, 2];
    turned.constraint = Constraint::Descriptor(to);
    TransactionBuilder::new(party(NOTARY))
        .input(StateAndRef {
            state: pay.outputs()[0].clone(),
            reference: StateRef::new(pay.id(), 0),
        })
        .output(turned)
        .command(
            transition_name().clone(),
            Transition::Upgrade { from, to }.value(),
            vec![key(ALICE)],
        )
        .attachment(from)
        .attachment(to)
        .build([0x55; 32])
        .expect("a transaction")
}

/// The transactions by their names in the files.
pub fn transactions() -> [(&'static str, WireTransaction); 5] {
    [
        ("issue", issue()),
        ("pay", pay()),
        ("rich", rich()),
        ("notary change", notary_change()),
        ("upgrade", upgrade()),
    ]
}
