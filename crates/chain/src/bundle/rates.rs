//! The signed rates of bundlers. Wallets learn a sufficient fee from them.

use primitives::{
    Domain, Hash, KeyPair, PublicKey, Scheme, Signature, SignatureContext, SignedMessage,
};

use super::{BundlerRate, BundlerRules};
use crate::forge::chain_key;
use crate::{AccountId, BlockTimestamp, ChainId, MinorUnits, Params, Percent, Rejection};

/// Length of signed rates: version 1, child 1, bundler 32, rate 8, time 4, signature 64.
pub const RATES_BYTES: usize = 1 + 1 + 32 + 8 + 4 + Signature::LENGTH;

const VERSION: u8 = 1;

/// A bundler's signed rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRates {
    /// The child chain.
    pub child: ChainId,
    /// The bundler's key.
    pub bundler: [u8; 32],
    /// The child fee for each whole parent token of the minimum parent fee. It already includes the bundler's overpayment above
    /// the minimum.
    pub rate: BundlerRate,
    /// Time of the announcement.
    pub time: BlockTimestamp,
    /// The bundler's signature over the genesis hash and the other fields.
    pub signature: [u8; 64],
}

impl SignedRates {
    /// Signs the rate of a bundler with these rules. The rates do not contain filters.
    pub fn new(
        key: &KeyPair,
        rules: &BundlerRules,
        time: BlockTimestamp,
        genesis: &Hash,
    ) -> Result<Self, Rejection> {
        let rate = rules.rate_min.raised_by(rules.overpay_percent);
        let mut rates = Self {
            child: rules.child,
            bundler: chain_key(key)?,
            // A rate beyond 64 bits is one that no account can pay.
            rate: rate.unwrap_or(BundlerRate::MAX),
            time,
            signature: [0; 64],
        };
        let signature = key.sign(SignatureContext::ChainRates, &rates.hash(genesis));
        rates.signature = *signature.bytes();
        Ok(rates)
    }

    /// Encodes the rates, with the signature last.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; RATES_BYTES] {
        let mut bytes = [0; RATES_BYTES];
        bytes[0] = VERSION;
        bytes[1] = self.child.0;
        bytes[2..34].copy_from_slice(&self.bundler);
        bytes[34..42].copy_from_slice(&self.rate.to_be_bytes());
        bytes[42..46].copy_from_slice(&self.time.to_be_bytes());
        bytes[46..].copy_from_slice(&self.signature);
        bytes
    }

    /// Decodes exactly [`RATES_BYTES`].
    pub fn read(bytes: &[u8]) -> Result<Self, Rejection> {
        let malformed = |detail: String| Rejection::new("chain_rates.malformed", detail);
        let bytes: &[u8; RATES_BYTES] = bytes
            .try_into()
            .map_err(|_| malformed(format!("{} bytes, expected {RATES_BYTES}", bytes.len())))?;
        if bytes[0] != VERSION {
            return Err(malformed(format!("version {}", bytes[0])));
        }
        let mut rates = Self {
            child: ChainId(bytes[1]),
            bundler: [0; 32],
            rate: BundlerRate::ZERO,
            time: BlockTimestamp::GENESIS,
            signature: [0; 64],
        };
        let (mut rate, mut time) = ([0; 8], [0; 4]);
        rates.bundler.copy_from_slice(&bytes[2..34]);
        rate.copy_from_slice(&bytes[34..42]);
        time.copy_from_slice(&bytes[42..46]);
        rates.signature.copy_from_slice(&bytes[46..]);
        rates.rate = BundlerRate::from_be_bytes(rate);
        rates.time = BlockTimestamp::from_be_bytes(time);
        Ok(rates)
    }

    /// Returns the signed hash, over the genesis hash and all fields except the signature.
    #[must_use]
    pub fn hash(&self, genesis: &Hash) -> Hash {
        let bytes = self.to_bytes();
        let unsigned = &bytes[..RATES_BYTES - Signature::LENGTH];
        Hash::of(Domain::Document, &[genesis.as_bytes(), unsigned])
    }

    /// Returns the bundler's signature with its key and hash, for a check in a batch.
    #[must_use]
    pub fn signed_message(&self, genesis: &Hash) -> SignedMessage {
        SignedMessage {
            key: PublicKey::Ed25519(self.bundler),
            context: SignatureContext::ChainRates,
            message: self.hash(genesis),
            signature: Signature::new(Scheme::Ed25519, self.signature),
        }
    }

    /// Returns the bundler's account.
    #[must_use]
    pub fn account(&self) -> AccountId {
        AccountId::of_key(&self.bundler)
    }

    /// Returns the minimum child fee that this bundler accepts for a transaction, in the child's token.
    #[must_use]
    pub fn fee(&self, params: &Params, parent_decimals: u8) -> MinorUnits {
        self.rate.fee(Percent::ZERO, params, parent_decimals)
    }
}
