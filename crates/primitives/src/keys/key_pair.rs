//! Private keys that sign, deterministically in either scheme.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use p256::ecdsa::signature::Signer as _;

use super::{PublicKey, Scheme, Signature, SignatureContext};
use crate::{Domain, Hash, Seed};

/// A private key with its public key. Cheap to clone. The secret is never printed, and is wiped from memory when the last clone
/// is dropped.
#[derive(Clone)]
pub struct KeyPair {
    private: Arc<PrivateKey>,
    public: PublicKey,
}

/// Both parts wipe themselves.
struct PrivateKey {
    signing: Signing,
    /// Root of the keys that [`KeyPair::derive`] makes.
    root: Seed,
}

enum Signing {
    Ed25519(Ed25519KeyPair),
    EcdsaP256(p256::ecdsa::SigningKey),
}

impl KeyPair {
    /// Returns the key that a seed stands for: the seed itself in Ed25519 (RFC 8032), a scalar derived from it in
    /// P-256.
    #[must_use]
    pub fn from_seed(scheme: Scheme, seed: [u8; 32]) -> Self {
        let root = Hash::of(Domain::Derive, &[b"fresh keys", &seed]);
        let root = Seed::new(*root.as_bytes());
        match scheme {
            Scheme::Ed25519 => {
                let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
                    .expect("every seed of 32 bytes is an Ed25519 key");
                let public = pair
                    .public_key()
                    .as_ref()
                    .try_into()
                    .expect("an Ed25519 public key has 32 bytes");
                Self {
                    public: PublicKey::Ed25519(public),
                    private: Arc::new(PrivateKey {
                        signing: Signing::Ed25519(pair),
                        root,
                    }),
                }
            }
            Scheme::EcdsaP256 => {
                let key = p256_key(&seed);
                let point = key.verifying_key().to_sec1_point(true);
                let public = point
                    .as_bytes()
                    .try_into()
                    .expect("a compressed P-256 point has 33 bytes");
                Self {
                    public: PublicKey::EcdsaP256(public),
                    private: Arc::new(PrivateKey {
                        signing: Signing::EcdsaP256(key),
                        root,
                    }),
                }
            }
        }
    }

    /// Derives the fresh key of this number, of the same scheme. A holder of this key's seed can derive all of them, and no
    /// other party can tell that they belong together. The seed is `H(derive, "fresh key" | root | number u64 BE)` with `root
    /// = H(derive, "fresh keys" | seed)`.
    #[must_use]
    pub fn derive(&self, number: u64) -> Self {
        let parts: [&[u8]; 3] = [
            b"fresh key",
            self.private.root.expose(),
            &number.to_be_bytes(),
        ];
        let seed = Hash::of(Domain::Derive, &parts);
        Self::from_seed(self.scheme(), *seed.as_bytes())
    }

    /// Returns the public key.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match self.private.signing {
            Signing::Ed25519(_) => Scheme::Ed25519,
            Signing::EcdsaP256(_) => Scheme::EcdsaP256,
        }
    }

    /// Signs a message in a context. The same message always gives the same signature.
    #[must_use]
    pub fn sign(&self, context: SignatureContext, message: &Hash) -> Signature {
        crypto_counters::count_signature();
        let scheme = self.scheme();
        let signed = Signature::signed_hash(scheme, context, message);
        let bytes = match &self.private.signing {
            Signing::Ed25519(pair) => pair
                .sign(signed.as_bytes())
                .as_ref()
                .try_into()
                .expect("an Ed25519 signature has 64 bytes"),
            Signing::EcdsaP256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(signed.as_bytes());
                signature.normalize_s().to_bytes().into()
            }
        };
        Signature::new(scheme, bytes)
    }
}

/// Derives numbers from the seed, and returns the first that is a scalar of the curve. For all but one in 2^32 seeds, it is the
/// first number.
fn p256_key(seed: &[u8; 32]) -> p256::ecdsa::SigningKey {
    (0u8..=u8::MAX)
        .find_map(|counter| {
            let scalar = Hash::of(Domain::Derive, &[b"p256", seed, &[counter]]);
            p256::ecdsa::SigningKey::from_slice(scalar.as_bytes()).ok()
        })
        .expect("256 numbers in a row outside the curve's order have a chance of 2^-8192")
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPair({})", self.public)
    }
}
