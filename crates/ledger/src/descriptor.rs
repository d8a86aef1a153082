//! Contract descriptors: small signed attachments that name the code of a contract.

use primitives::{
    Coded, Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, KeyPair, PublicKey,
    Signature, SignatureContext, SignedMessage,
};
use thiserror::Error;

use crate::limits::DESCRIPTOR_BYTES_MAX;
use crate::{ContractName, ContractRef, errors};

/// How contract code is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CodeKind {
    /// Compiled into the node and registered by name and version.
    Native = 1,
}

primitives::variants!(CodeKind { 1 => Native });

/// A signed statement: "this is version V of contract N, it is code of this kind". The hash of its bytes names the code in
/// transactions (`Hash::of(Attachment, [bytes])`).
///
/// Encoded as `[name, version, kind, signer, signature]`. The signature is made in the context `Descriptor` over
/// `Hash::of(Document, [the encoding of [name, version, kind, signer]])`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractDescriptor {
    contract: ContractRef,
    kind: CodeKind,
    signer: PublicKey,
    signature: Signature,
}

/// Reasons why a descriptor is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DescriptorError {
    /// It is too large.
    #[error("a contract descriptor has at most {DESCRIPTOR_BYTES_MAX} bytes")]
    TooLarge,
    /// It does not decode.
    #[error("the contract descriptor does not decode: {0}")]
    Malformed(#[from] DecodeError),
    /// Its signature is not its signer's.
    #[error("the signature on the descriptor of {0} is not its signer's")]
    BadSignature(ContractRef),
}

impl Coded for DescriptorError {
    fn code(&self) -> &'static str {
        match self {
            DescriptorError::TooLarge | DescriptorError::Malformed(_) => {
                "contract.descriptor_malformed"
            }
            DescriptorError::BadSignature(_) => "contract.descriptor_bad_signature",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

fn unsigned_hash(contract: &ContractRef, kind: CodeKind, signer: &PublicKey) -> Hash {
    let mut e = Encoder::new();
    e.array(4);
    contract.name.encode(&mut e);
    contract.version.encode(&mut e);
    kind.encode(&mut e);
    signer.encode(&mut e);
    Hash::of(Domain::Document, &[&e.into_bytes()])
}

impl ContractDescriptor {
    /// Signs a descriptor.
    pub fn sign(name: ContractName, version: u32, kind: CodeKind, by: &KeyPair) -> Self {
        let contract = ContractRef { name, version };
        let signer = by.public().clone();
        let hash = unsigned_hash(&contract, kind, &signer);
        let signature = by.sign(SignatureContext::Descriptor, &hash);
        Self {
            contract,
            kind,
            signer,
            signature,
        }
    }

    /// Decodes an attachment as a descriptor and checks its signature with `check`.
    pub fn open(
        bytes: &[u8],
        check: impl FnOnce(&SignedMessage) -> bool,
    ) -> Result<Self, DescriptorError> {
        if bytes.len() > DESCRIPTOR_BYTES_MAX {
            return Err(DescriptorError::TooLarge);
        }
        let descriptor = Self::from_bytes(bytes)?;
        if check(&descriptor.signed_message()) {
            Ok(descriptor)
        } else {
            Err(DescriptorError::BadSignature(descriptor.contract))
        }
    }

    /// Returns the message, key and signature to check.
    pub fn signed_message(&self) -> SignedMessage {
        SignedMessage {
            key: self.signer.clone(),
            context: SignatureContext::Descriptor,
            message: unsigned_hash(&self.contract, self.kind, &self.signer),
            signature: self.signature,
        }
    }

    /// Returns the contract and its version.
    pub fn contract(&self) -> &ContractRef {
        &self.contract
    }

    /// Returns the contract.
    pub fn name(&self) -> &ContractName {
        &self.contract.name
    }

    /// Returns the kind of the code, which decides how it is run.
    pub fn kind(&self) -> CodeKind {
        self.kind
    }

    /// Returns the key that signed.
    pub fn signer(&self) -> &PublicKey {
        &self.signer
    }

    /// Returns the hash that names the code in transactions.
    pub fn hash(&self) -> Hash {
        attachment_hash(&self.to_bytes())
    }
}

/// Returns the hash that names an attachment: `Hash::of(Attachment, [bytes])`.
pub fn attachment_hash(bytes: &[u8]) -> Hash {
    Hash::of(Domain::Attachment, &[bytes])
}

impl Encode for ContractDescriptor {
    fn encode(&self, e: &mut Encoder) {
        e.array(5);
        self.contract.name.encode(e);
        self.contract.version.encode(e);
        self.kind.encode(e);
        self.signer.encode(e);
        self.signature.encode(e);
    }
}

impl Decode for ContractDescriptor {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(5)?;
        let contract = ContractRef {
            name: ContractName::decode(d)?,
            version: u32::decode(d)?,
        };
        Ok(Self {
            contract,
            kind: CodeKind::decode(d)?,
            signer: PublicKey::decode(d)?,
            signature: Signature::decode(d)?,
        })
    }
}
