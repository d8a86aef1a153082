//! Transitions: changes of notary and upgrades, accepted and refused.

use std::sync::Arc;

use ledger::{
    Constraint, Contract, ContractExecutor, ContractName, ContractRef, ContractRegistry,
    ContractRejection, LedgerTransaction, NetworkRules, Party, StateAndRef, StateFacts,
    TransactionBuilder, TransactionState, Transition, TransitionPlan, transition_name,
};
use primitives::{DecodeError, Encode, Hash, KeyPair, Scheme};

use crate::rules::fixtures::*;

/// A deed: its data is the version that wrote it, the owner's number, the witness' number (0: none) and a value.
struct Deed(u32);

impl Contract for Deed {
    fn name(&self) -> &str {
        "test.deed"
    }

    fn version(&self) -> u32 {
        self.0
    }

    fn verify(&self, _: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(())
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let known = |n: &u8| (*n > 0).then(|| public(*n));
        Ok(StateFacts {
            owner: data.get(1).and_then(known),
            participants: data.get(2).and_then(known).into_iter().collect(),
            ..StateFacts::default()
        })
    }

    fn upgrade(&self, from: &ContractRef, data: &[u8]) -> Result<Vec<u8>, ContractRejection> {
        match (self.0, from.version, data) {
            (_, _, [.., 99]) => Err(ContractRejection::new("deed.old", "of no use any more")),
            (_, _, [.., 98]) => Ok(vec![0, 0, 0, 98]),
            (2, 1, [1, owner, witness, value]) => Ok(vec![2, *owner, *witness, *value]),
            (3, 1 | 2, [_, owner, witness, value]) => Ok(vec![3, *owner, *witness, *value]),
            _ => Err(ContractRejection::new("deed.unknown", "not a deed")),
        }
    }
}

/// Deeds of version 1 by the development key, and of versions 2 and 3 by an author; also coins, which no other
/// code can take over.
struct World {
    registry: ContractRegistry,
    v: [Hash; 5],
}

fn author() -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [77; 32])
}

fn world() -> World {
    let mut registry = registry();
    let mut v = [descriptor(); 5];
    v[1] = registry.register(Arc::new(Deed(1))).unwrap();
    v[2] = registry
        .register_signed(Arc::new(Deed(2)), &author())
        .unwrap();
    v[3] = registry
        .register_signed(Arc::new(Deed(3)), &author())
        .unwrap();
    v[4] = Hash::plain(b"code that nobody has");
    World { registry, v }
}

fn deed_name() -> ContractName {
    ContractName::new("test.deed").unwrap()
}

fn deed(n: u8, index: u32, data: [u8; 4], constraint: Constraint) -> StateAndRef {
    StateAndRef {
        state: TransactionState {
            data: data.to_vec(),
            contract: deed_name(),
            constraint,
            notary: notary(),
            encumbrance: None,
        },
        reference: reference(n, index),
    }
}

fn signed() -> Constraint {
    Constraint::SignedBy(author().public().clone())
}

/// A transition as its plan says, to be spoilt.
#[derive(Clone)]
struct Case {
    inputs: Vec<StateAndRef>,
    plan: TransitionPlan,
    origin: Hash,
    more: fn(TransactionBuilder) -> TransactionBuilder,
}

impl Case {
    fn notary_change(world: &World, inputs: &[StateAndRef]) -> Case {
        Case::of(world.v[3], inputs, |origin| {
            TransitionPlan::notary_change(other_notary(), inputs, origin, &world.registry)
        })
    }

    fn upgrade(world: &World, to: usize, inputs: &[StateAndRef]) -> Case {
        Case::of(world.v[2], inputs, |origin| {
            TransitionPlan::upgrade(world.v[to], inputs, origin, &world.registry)
        })
    }

    fn of<E: std::fmt::Debug>(
        origin: Hash,
        inputs: &[StateAndRef],
        plan: impl FnOnce(Box<dyn Fn(&ledger::TxId) -> Option<Vec<Hash>>>) -> Result<TransitionPlan, E>,
    ) -> Case {
        let plan = plan(Box::new(move |_| Some(vec![origin]))).unwrap();
        let (inputs, more) = (inputs.to_vec(), (|b| b) as fn(_) -> _);
        Case {
            inputs,
            plan,
            origin,
            more,
        }
    }

    fn verdict(&self, world: &World) -> Result<(), ledger::ContextualError> {
        let rules = NetworkRules {
            notaries: vec![notary(), other_notary(), party("Third", 102)],
            ..rules()
        };
        let wire = (self.more)(self.plan.builder(&self.inputs))
            .build(SALT)
            .unwrap();
        let find = |r: &ledger::StateRef| {
            let found = self.inputs.iter().find(|input| input.reference == *r);
            Some(found.map_or_else(|| state(notary()), |input| input.state.clone()))
        };
        let resolved = LedgerTransaction::resolve(&wire, find).unwrap();
        let resolved = resolved.with_origins(|_| Some(vec![self.origin]));
        resolved.verify(&world.registry, &rules).map(|_| ())
    }
}

#[test]
fn states_move_to_another_notary_and_stay_as_they_are() {
    let world = world();
    let ring = |n: u8, index: u32, next: u32| {
        let mut bound = deed(n, index, [1, 5, 0, 1], Constraint::Descriptor(world.v[1]));
        bound.state.encumbrance = Some(next);
        bound
    };
    let inputs = [
        deed(1, 0, [1, 5, 6, 7], Constraint::Descriptor(world.v[1])),
        ring(2, 9, 4),
        deed(3, 1, [3, 8, 0, 7], signed()),
        ring(2, 4, 9),
    ];
    let case = Case::notary_change(&world, &inputs);
    assert_eq!(case.verdict(&world), Ok(()));
    assert_eq!(case.plan.signers.len(), 3, "5, 6 and 8");
    for (input, output) in inputs.iter().zip(&case.plan.outputs) {
        assert_eq!(output.notary, other_notary());
        assert_eq!(output.data, input.state.data);
        assert_eq!(output.constraint, input.state.constraint);
    }
    let bound: Vec<_> = case.plan.outputs.iter().map(|o| o.encumbrance).collect();
    assert_eq!(bound, [None, Some(3), None, Some(1)]);
}

#[test]
fn states_come_under_newer_code() {
    let world = world();
    let exactly = |version: usize| Constraint::Descriptor(world.v[version]);
    for (constraint, data, to, becomes, expected) in [
        (exactly(1), [1, 5, 6, 7], 2, exactly(2), [2, 5, 6, 7]),
        (exactly(1), [1, 5, 0, 7], 3, exactly(3), [3, 5, 0, 7]),
        (signed(), [2, 5, 0, 7], 3, signed(), [3, 5, 0, 7]),
    ] {
        let case = Case::upgrade(&world, to, &[deed(1, 0, data, constraint)]);
        assert_eq!(case.verdict(&world), Ok(()));
        let output = &case.plan.outputs[0];
        assert_eq!(
            (&output.data[..], &output.constraint),
            (&expected[..], &becomes)
        );
        assert_eq!(output.notary, notary());
    }
}

#[test]
fn a_ring_is_upgraded_whole_and_other_code_in_it_stays() {
    let world = world();
    let mut old = deed(1, 2, [1, 5, 0, 7], Constraint::Descriptor(world.v[1]));
    let mut newer = deed(1, 0, [3, 6, 0, 7], Constraint::Descriptor(world.v[3]));
    (old.state.encumbrance, newer.state.encumbrance) = (Some(0), Some(2));
    let case = Case::upgrade(&world, 2, &[old, newer.clone()]);
    assert_eq!(case.verdict(&world), Ok(()));
    assert_eq!(case.plan.outputs[0].data, [2, 5, 0, 7]);
    assert_eq!(case.plan.outputs[1].data, newer.state.data);
    assert_eq!(case.plan.outputs[1].constraint, newer.state.constraint);
    assert_eq!(case.plan.outputs[0].encumbrance, Some(1));
    assert_eq!(case.plan.outputs[1].encumbrance, Some(0));
}

type Spoil = fn(&World, &mut Case);

#[test]
fn transitions_that_break_a_rule() {
    let world = world();
    let one = deed(1, 0, [1, 5, 6, 7], Constraint::Descriptor(world.v[1]));
    let two = deed(1, 3, [1, 5, 0, 8], Constraint::Descriptor(world.v[1]));
    let table: [(&str, Spoil, &str); 12] = [
        (
            "another command",
            |w, c| {
                c.plan.attachments.push(w.v[0]);
                c.more = |b| b.command(coin(), b"accept".to_vec(), vec![public(1)]);
            },
            "tx.transition_not_alone",
        ),
        (
            "two transitions",
            |_, c| {
                c.more = |b| {
                    let again = Transition::NotaryChange { to: other_notary() };
                    b.command(transition_name().clone(), again.value(), vec![public(1)])
                };
            },
            "tx.transition_not_alone",
        ),
        (
            "a reference",
            |_, c| c.more = |b| b.reference(reference(8, 0)),
            "tx.transition_not_alone",
        ),
        (
            "a signer less",
            |_, c| drop(c.plan.signers.pop()),
            "tx.transition_signer_missing",
        ),
        (
            "an output less",
            |_, c| drop(c.plan.outputs.pop()),
            "tx.transition_output",
        ),
        (
            "an output more",
            |_, c| {
                let again = c.plan.outputs[0].clone();
                c.plan.outputs.push(again);
            },
            "tx.transition_output",
        ),
        (
            "outputs in another order",
            |_, c| c.plan.outputs.reverse(),
            "tx.transition_output",
        ),
        (
            "other data",
            |_, c| c.plan.outputs[1].data[3] = 9,
            "tx.transition_output",
        ),
        (
            "another constraint",
            |_, c| c.plan.outputs[0].constraint = signed(),
            "tx.transition_output",
        ),
        (
            "another contract",
            |_, c| c.plan.outputs[0].contract = coin(),
            "tx.transition_output",
        ),
        (
            "no code",
            |_, c| c.plan.attachments.clear(),
            "tx.contract_missing",
        ),
        (
            "a state of a notary elsewhere",
            |_, c| {
                c.inputs[1].state.notary = other_notary();
            },
            "tx.notary_mismatch",
        ),
    ];
    for (what, spoil, code) in table {
        for case in [
            Case::notary_change(&world, &[one.clone(), two.clone()]),
            Case::upgrade(&world, 2, &[one.clone(), two.clone()]),
        ] {
            let mut spoilt = case;
            spoil(&world, &mut spoilt);
            let error = spoilt.verdict(&world).expect_err(what);
            check_error(&error, code, "");
        }
    }
}

#[test]
fn changes_of_notary_that_break_a_rule() {
    let world = world();
    let one = deed(1, 0, [1, 5, 6, 7], Constraint::Descriptor(world.v[1]));
    let to = |case: &mut Case, to: Party| {
        case.plan.transition = Transition::NotaryChange { to: to.clone() };
        case.plan.outputs[0].notary = to;
    };
    let case = Case::notary_change(&world, &[one]);
    let refused = |what: &str, code: &str, spoil: &dyn Fn(&mut Case)| {
        let mut spoilt = case.clone();
        spoil(&mut spoilt);
        check_error(&spoilt.verdict(&world).expect_err(what), code, "");
    };
    refused("no notary of the network", "tx.notary_unknown", &|c| {
        to(c, party("X", 9))
    });
    refused("the same notary", "tx.transition_same_notary", &|c| {
        to(c, notary())
    });
    refused("output elsewhere", "tx.transition_output", &|c| {
        c.plan.outputs[0].notary = party("Third", 102)
    });
    refused(
        "code that does not fit",
        "tx.constraint_unsatisfied",
        &|c| c.plan.attachments = vec![world.v[2]],
    );
    refused("half a ring", "tx.encumbrance_missing", &|c| {
        c.inputs[0].state.encumbrance = Some(1)
    });
    refused("nobody's state", "tx.transition_unconcerned", &|c| {
        c.inputs[0].state.data = vec![1, 0, 0, 1]
    });
    let mut nothing = transition_builder(&[0x82, 0x07, 0x00]);
    nothing = nothing.output(state(notary()));
    let wire = nothing.build(SALT).unwrap();
    let resolved = LedgerTransaction::resolve(&wire, |_| None).unwrap();
    let error = resolved.verify(&world.registry, &rules()).unwrap_err();
    check_error(&error, "tx.transition_malformed", "docs/formats");
    let value = Transition::NotaryChange { to: other_notary() }.value();
    let wire = transition_builder(&value)
        .output(state(other_notary()))
        .build(SALT)
        .unwrap();
    let resolved = LedgerTransaction::resolve(&wire, |_| None).unwrap();
    let error = resolved.verify(&world.registry, &rules()).unwrap_err();
    check_error(&error, "tx.transition_output", "for each input");
}

fn transition_builder(value: &[u8]) -> TransactionBuilder {
    TransactionBuilder::new(notary())
        .attachment(descriptor())
        .command(transition_name().clone(), value.to_vec(), vec![public(1)])
}

#[test]
fn upgrades_that_break_a_rule() {
    let world = world();
    let one = deed(1, 0, [2, 5, 6, 7], signed());
    let case = Case::upgrade(&world, 3, &[one]);
    let between = |case: &mut Case, from: usize, to: usize| {
        let (from, to) = (world.v[from], world.v[to]);
        case.plan.transition = Transition::Upgrade { from, to };
        case.plan.attachments = vec![from, to];
        case.plan.attachments.dedup();
    };
    let refused = |what: &str, code: &str, spoil: &dyn Fn(&mut Case)| {
        let mut spoilt = case.clone();
        spoil(&mut spoilt);
        check_error(&spoilt.verdict(&world).expect_err(what), code, "");
    };
    refused("to the same", "tx.upgrade_not_newer", &|c| between(c, 2, 2));
    refused("back", "tx.upgrade_not_newer", &|c| between(c, 3, 2));
    refused("of other states", "tx.upgrade_without_state", &|c| {
        between(c, 1, 2)
    });
    refused("new code missing", "tx.contract_missing", &|c| {
        between(c, 2, 4)
    });
    refused("to code that takes nothing", "tx.contract_rejected", &|c| {
        between(c, 2, 0)
    });
    refused("a state that is refused", "tx.contract_rejected", &|c| {
        c.inputs[0].state.data[3] = 99
    });
    refused(
        "a state lost to its parties",
        "tx.transition_unconcerned",
        &|c| c.inputs[0].state.data[3] = 98,
    );
    refused(
        "from older code than made it",
        "tx.contract_downgraded",
        &|c| c.origin = world.v[3],
    );
    refused("to another notary as well", "tx.transition_output", &|c| {
        c.plan.outputs[0].notary = other_notary()
    });
}

#[test]
fn a_signer_may_bring_newer_code_and_nobody_goes_back() {
    let world = world();
    let known = deed(1, 0, [2, 5, 6, 7], signed());
    for (attached, origin, code) in [
        (2, Some(2), ""),
        (3, Some(2), ""),
        (3, Some(3), ""),
        (2, Some(3), "tx.contract_downgraded"),
        (3, Some(1), "tx.contract_missing"),
        (3, None, "tx.origin_unknown"),
    ] {
        let wire = TransactionBuilder::new(notary())
            .command(deed_name(), vec![], vec![public(5)])
            .attachment(world.v[attached])
            .input(&known)
            .output(known.state.clone())
            .build(SALT)
            .unwrap();
        let resolved = LedgerTransaction::resolve(&wire, |_| Some(known.state.clone())).unwrap();
        let resolved = resolved.with_origins(|_| Some(vec![world.v[origin?]]));
        match resolved.verify(&world.registry, &rules()) {
            Ok(_) => assert_eq!(code, "", "{attached} after {origin:?}"),
            Err(error) => check_error(&error, code, ""),
        }
    }
}

#[test]
fn names_of_the_ledgers_own_are_for_nobody() {
    struct Impostor(&'static str);
    impl Contract for Impostor {
        fn name(&self) -> &str {
            self.0
        }
        fn version(&self) -> u32 {
            1
        }
        fn verify(&self, _: &LedgerTransaction) -> Result<(), ContractRejection> {
            Ok(())
        }
        fn describe(&self, _: &[u8]) -> Result<StateFacts, DecodeError> {
            Ok(StateFacts::default())
        }
    }
    let mut registry = registry();
    for (name, reserved) in [
        ("ledger", true),
        ("ledger.transition", true),
        ("ledger.x", true),
        ("ledgers.x", false),
        ("my.ledger", false),
    ] {
        match registry.register(Arc::new(Impostor(name))) {
            Ok(_) => assert!(!reserved, "{name}"),
            Err(error) => check_error(&error, "contract.name_reserved", "ledger."),
        }
    }
    let mut output = state(notary());
    output.contract = transition_name().clone();
    let wire = base().output(output).build(SALT).unwrap();
    let resolved = LedgerTransaction::resolve(&wire, |_| None).unwrap();
    let error = resolved.verify(&registry, &rules()).unwrap_err();
    check_error(&error, "tx.name_reserved", "reserved");
}

#[test]
fn contracts_take_over_nothing_unless_they_say_so() {
    let registry = registry();
    let from = ContractRef {
        name: coin(),
        version: 1,
    };
    let error = registry.upgrade(&descriptor(), &from, &[5]).unwrap_err();
    assert_eq!(error.code, "contract.no_upgrade");
    let unknown = Hash::plain(b"nothing");
    assert_eq!(
        registry.upgrade(&unknown, &from, &[]).unwrap_err().code,
        "contract.unknown"
    );
    let facts = ContractExecutor::describe(&registry, &descriptor(), b"panic");
    assert_eq!(facts.unwrap_err().code, "contract.panicked");
}

#[test]
fn plans_of_what_cannot_be() {
    let world = world();
    let origin = |_: &ledger::TxId| Some(vec![world.v[2]]);
    let exactly = Constraint::Descriptor(world.v[1]);
    let mut elsewhere = deed(2, 0, [1, 5, 0, 1], exactly.clone());
    elsewhere.state.notary = other_notary();
    let here = deed(1, 0, [1, 5, 0, 1], exactly);
    let plan = |inputs: &[StateAndRef]| {
        TransitionPlan::notary_change(other_notary(), inputs, origin, &world.registry).unwrap_err()
    };
    check_error(&plan(&[]), "tx.notary_mismatch", "");
    check_error(
        &plan(&[here.clone(), elsewhere.clone()]),
        "tx.notary_mismatch",
        "",
    );
    check_error(&plan(&[elsewhere]), "tx.transition_same_notary", "");
    let nobody = |_: &ledger::TxId| None;
    let made = deed(1, 0, [2, 5, 0, 1], signed());
    let error = TransitionPlan::upgrade(world.v[3], &[made], nobody, &world.registry).unwrap_err();
    check_error(&error, "tx.origin_unknown", "");
    let error = TransitionPlan::upgrade(world.v[4], &[here], origin, &world.registry).unwrap_err();
    check_error(&error, "tx.contract_missing", "");
}

#[test]
fn the_command_has_one_encoding() {
    let to = other_notary();
    let change = Transition::NotaryChange { to: to.clone() }.value();
    assert_eq!(change[..2], [0x82, 0x00]);
    assert_eq!(change[2..], to.to_bytes());
    let [from, to] = [Hash::plain(b"1"), Hash::plain(b"2")];
    let upgrade = Transition::Upgrade { from, to }.value();
    assert_eq!(upgrade[..2], [0x83, 0x01]);
}
