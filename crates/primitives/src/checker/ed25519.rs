//! The equation of ZIP 215 (<https://zips.z.cash/zip-0215>), for one signature and for many.

use std::collections::HashMap;

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{IsIdentity, VartimeMultiscalarMul};
use sha2::{Digest, Sha512};

use crate::{Domain, Hash, Hasher};

/// A signature with decoded parts, ready for the equation.
pub(super) struct Prepared {
    key: [u8; 32],
    /// `A`, the public key.
    key_point: EdwardsPoint,
    /// `R` of the signature.
    commitment: EdwardsPoint,
    /// `s` of the signature.
    response: Scalar,
    /// `k = SHA-512(R || A || message)`.
    challenge: Scalar,
}

impl Prepared {
    /// Decodes a signature over `message` by the key with this point. Returns nothing if `R` is not a point, or if `s` is not below
    /// the order: such a signature is invalid by itself.
    pub(super) fn new(
        key: &[u8; 32],
        key_point: EdwardsPoint,
        signature: &[u8; 64],
        message: &[u8],
    ) -> Option<Self> {
        let (commitment, response) = signature.split_first_chunk::<32>()?;
        let response: Option<Scalar> =
            Scalar::from_canonical_bytes(response.try_into().ok()?).into();
        let challenge = Sha512::new()
            .chain_update(commitment)
            .chain_update(key)
            .chain_update(message)
            .finalize();
        Some(Self {
            key: *key,
            key_point,
            commitment: CompressedEdwardsY(*commitment).decompress()?,
            response: response?,
            challenge: Scalar::from_bytes_mod_order_wide(&challenge.into()),
        })
    }

    /// Tells whether `[8]([s]B - [k]A - R)` is the identity.
    pub(super) fn holds(&self) -> bool {
        let expected = EdwardsPoint::vartime_double_scalar_mul_basepoint(
            &self.challenge,
            &-self.key_point,
            &self.response,
        );
        (self.commitment - expected).mul_by_cofactor().is_identity()
    }
}

/// Tells whether all signatures hold: `[8](sum(z s)B - sum(z R) - sum(z k A))` is the identity for coefficients `z` that follow
/// from the whole batch. Terms of signatures by the same key are added up first.
pub(super) fn all_hold<'a>(batch: impl Iterator<Item = &'a Prepared> + Clone) -> bool {
    let seed = seed(batch.clone());
    let mut key_places: HashMap<[u8; 32], usize> = HashMap::new();
    let mut key_points = Vec::new();
    let mut key_factors: Vec<Scalar> = Vec::new();
    let mut base_factor = Scalar::ZERO;
    let mut commitments = Vec::new();
    let mut factors = Vec::new();
    for (index, signature) in (0u64..).zip(batch) {
        let factor = coefficient(&seed, index);
        let place = *key_places.entry(signature.key).or_insert_with(|| {
            key_points.push(signature.key_point);
            key_factors.push(Scalar::ZERO);
            key_points.len() - 1
        });
        key_factors[place] += factor * signature.challenge;
        base_factor -= factor * signature.response;
        commitments.push(signature.commitment);
        factors.push(factor);
    }
    EdwardsPoint::vartime_multiscalar_mul(
        std::iter::once(&base_factor)
            .chain(&key_factors)
            .chain(&factors),
        std::iter::once(&ED25519_BASEPOINT_POINT)
            .chain(&key_points)
            .chain(&commitments),
    )
    .mul_by_cofactor()
    .is_identity()
}

/// Commits to every key, `R` and message (through the challenges) and every `s`.
fn seed<'a>(batch: impl Iterator<Item = &'a Prepared>) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(&[Domain::BatchCoefficients as u8]);
    for signature in batch {
        hasher.update(signature.challenge.as_bytes());
        hasher.update(signature.response.as_bytes());
    }
    hasher.finish()
}

/// Returns the coefficient of one signature of the batch: a number of 128 bits.
fn coefficient(seed: &Hash, index: u64) -> Scalar {
    let hash = Hash::of(
        Domain::BatchCoefficients,
        &[seed.as_bytes(), &index.to_be_bytes()],
    );
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&hash.as_bytes()[..16]);
    Scalar::from_bytes_mod_order(bytes)
}
