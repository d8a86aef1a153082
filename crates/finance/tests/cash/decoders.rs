//! The decoders of cash on arbitrary bytes and on changed valid ones.

use finance::flows::{ExitArgs, IssueAndPayArgs, IssueArgs, PayArgs};
use finance::{CashCommand, CashState, IssuedToken};
use primitives::{Decode, Encode};
use proptest::prelude::*;

use crate::fixtures::*;

fn round_trip<T: Decode + Encode>(bytes: &[u8]) {
    if let Ok(value) = T::from_bytes(bytes) {
        assert_eq!(
            value.to_bytes(),
            bytes,
            "an accepted encoding is the canonical one"
        );
    }
}

/// Decodes, and checks what was decoded.
type Check = fn(&[u8]);

const DECODERS: [Check; 7] = [
    round_trip::<CashState>,
    round_trip::<IssuedToken>,
    round_trip::<CashCommand>,
    round_trip::<IssueArgs>,
    round_trip::<PayArgs>,
    round_trip::<IssueAndPayArgs>,
    round_trip::<ExitArgs>,
];

fn samples() -> Vec<(Check, Vec<u8>)> {
    let token = token("A GBP 01");
    let name = party('B').name;
    let payment = finance::flows::Payment {
        to: name.clone(),
        quantity: 3,
        states: Some(2),
    };
    let pay = PayArgs {
        token: Some(token.id()),
        currency: Some(token.currency),
        issuer: Some(name.clone()),
        reference: Some(token.reference.clone()),
        payments: vec![payment.clone(), payment],
        notary: None,
        deadline_ms: Some(5),
        anonymous: None,
    };
    let issue = IssueArgs {
        currency: token.currency,
        quantity: 7,
        reference: None,
        outputs: Some(2),
        recipient: Some(name),
        notary: None,
    };
    let exit = CashCommand::Exit {
        token: token.id(),
        quantity: 300,
    };
    vec![
        (DECODERS[0], cash(&token, 1_000_000, 'B').data),
        (DECODERS[1], token.to_bytes()),
        (DECODERS[2], exit.to_bytes()),
        (DECODERS[3], issue.to_bytes()),
        (DECODERS[4], pay.to_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for decode in DECODERS {
            decode(&bytes);
        }
    }

    #[test]
    fn changed_valid_bytes(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        kind in 0u8..3,
    ) {
        for (decode, sample) in samples() {
            let mut bytes = sample.clone();
            decode(&bytes);
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => {
                    bytes.remove(at);
                }
            }
            decode(&bytes);
        }
    }
}
