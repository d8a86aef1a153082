//! Makes another valid signature of the same transaction. The holder of a key can make any number of them. The product's signer
//! is deterministic, so this module computes the signature directly (RFC 8032 5.1.6, with another nonce).

use chain::Transaction;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use primitives::{Hash, Scheme, Signature, SignatureContext};
use sha2::{Digest, Sha512};

/// Signs a transaction again with the key of a passphrase. Another `nonce` gives another signature.
pub(super) fn resign(transaction: &mut Transaction, genesis: &Hash, passphrase: &str, nonce: u64) {
    let hash = transaction.hash(genesis);
    let context = SignatureContext::ChainTransaction;
    let message = Signature::signed_hash(Scheme::Ed25519, context, &hash);
    let seed = Hash::plain(passphrase.as_bytes());
    let expanded: [u8; 64] = Sha512::digest(seed.as_bytes()).into();
    let mut secret = [0; 32];
    secret.copy_from_slice(&expanded[..32]);
    let secret = Scalar::from_bytes_mod_order(clamp_integer(secret));
    let wide = |parts: &[&[u8]]| {
        let digest: [u8; 64] = Sha512::digest(parts.concat()).into();
        Scalar::from_bytes_mod_order_wide(&digest)
    };
    let r = wide(&[&nonce.to_be_bytes(), &expanded[32..], message.as_bytes()]);
    let point = EdwardsPoint::mul_base(&r).compress().to_bytes();
    let k = wide(&[&point, &transaction.sender, message.as_bytes()]);
    let s = r + k * secret;
    transaction.signature[..32].copy_from_slice(&point);
    transaction.signature[32..].copy_from_slice(&s.to_bytes());
}

#[cfg(test)]
mod tests {
    use chain::transaction::Carried;
    use chain::{Anchor, BlockTimestamp, Body, ChainId, Height, MinorUnits, Minutes};
    use primitives::SignatureChecker;

    use super::super::plan::{account, key, public};
    use super::*;

    #[test]
    fn it_is_another_valid_signature_and_the_same_transaction() {
        let genesis = Hash::plain(b"genesis");
        let mut transaction = Transaction {
            chain: ChainId::PARENT,
            time: BlockTimestamp::new(5),
            deadline_minutes: Minutes::new(30),
            sender: public(&key(3)),
            fee: MinorUnits::new(100),
            anchor: Anchor::at(Height::GENESIS, &genesis),
            body: Body::Payment {
                to: account(4),
                amount: MinorUnits::new(1),
                message: Vec::new(),
            },
            signature: [0; 64],
        };
        transaction.sign(&genesis, &key(3));
        let first = Carried::new(&genesis, transaction.clone());
        for nonce in 0..3 {
            resign(&mut transaction, &genesis, "3", nonce);
            let again = Carried::new(&genesis, transaction.clone());
            assert_eq!(again.id, first.id);
            assert_ne!(
                again.transaction.signature, first.transaction.signature,
                "{nonce}"
            );
            let good = SignatureChecker::new().check_batch(&[again.signed_message()]);
            assert_eq!(good, [true]);
        }
    }
}
