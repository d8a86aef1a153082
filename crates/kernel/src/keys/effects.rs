//! The effects of flows on keys: fresh keys, signatures by this node's keys, and the owners of keys.

use flow::{EffectResult, FlowError};
use ledger::{OwnershipProof, PartyId, WireTransaction};
use primitives::{Encode, Hash, KeyPair, PublicKey, SignatureContext};
use vault::ViewChange;

use super::store::KeyBook;
use crate::command::KeysCommand;
use crate::context::Context;
use crate::errors;
use crate::identity::Identity;
use crate::intake::contract_job::OutputFacts;
use crate::jobs::Signing;
use crate::port::{Reads, StoreFailure};

impl KeyBook {
    /// Carries out a command.
    pub(crate) fn on_command(
        &mut self,
        command: KeysCommand,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let (effect, result) = match command {
            KeysCommand::Sign {
                effect,
                key,
                purpose,
                message,
            } => match self.signing(key, purpose, message, context, reads)? {
                Ok(signing) => {
                    context.jobs.sign(effect, signing);
                    return Ok(());
                }
                Err(error) => (effect, EffectResult::Failed(error)),
            },
            KeysCommand::Fresh { effect, audience } => {
                (effect, self.make_fresh(audience, context, reads)?)
            }
            KeysCommand::KeepOwner { effect, proof } => {
                let commit = context.commits.next();
                self.keep(&proof, commit, &mut context.round.batch, reads)?;
                (effect, EffectResult::Done)
            }
            KeysCommand::Owners { effect, keys } => {
                (effect, self.known_owners(&keys, context, reads)?)
            }
            KeysCommand::Prove {
                effect,
                key,
                audience,
            } => (effect, self.prove(&key, audience, context, reads)?),
            KeysCommand::MakeLost { count } => {
                self.make_lost(count, context);
                return Ok(());
            }
        };
        context.complete(effect, result);
        Ok(())
    }

    /// Returns the key pair of this node's party.
    pub(crate) fn identity_key<'a>(&self, identity: &'a Identity) -> Option<&'a KeyPair> {
        identity.keys.get(self.fixed(&identity.me.key)?)
    }

    /// Returns a signature to make with one of this node's keys.
    fn signing(
        &self,
        key: PublicKey,
        purpose: SignatureContext,
        message: Hash,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<Result<Signing, FlowError>, StoreFailure> {
        let identity = &context.identity;
        let (pair, fresh) = match self.fixed(&key) {
            Some(place) => (identity.keys.get(place), None),
            None => match self.fresh(&key, &identity.network, reads)? {
                Some(fresh) => (self.identity_key(identity), Some(fresh.number)),
                None => (None, None),
            },
        };
        let Some(pair) = pair.cloned() else {
            return Ok(Err(errors::unknown_key(&key)));
        };
        Ok(Ok(Signing {
            pair,
            fresh,
            key,
            purpose,
            message,
        }))
    }

    /// Makes a fresh key for a flow. A peer that was told many keys without using them gets one of these again.
    fn make_fresh(
        &mut self,
        audience: Option<PartyId>,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        let Some(identity) = self.identity_key(&context.identity).cloned() else {
            let error = errors::unknown_key(&context.identity.me.key);
            return Ok(EffectResult::Failed(error));
        };
        let told = match &audience {
            Some(peer) => self.told_before(peer, &mut context.round.batch, reads)?,
            None => None,
        };
        let pair = match told {
            Some(told) => identity.derive(told.number),
            None => self.make(&identity, audience.as_ref(), context),
        };
        let answer = match audience {
            None => pair.public().to_bytes(),
            Some(peer) => OwnershipProof::make(&pair, &identity, context.my_id, peer).to_bytes(),
        };
        Ok(EffectResult::Response(answer))
    }

    /// Makes the fresh key of the next number, for a peer or for the node itself.
    fn make(
        &mut self,
        identity: &KeyPair,
        peer: Option<&PartyId>,
        context: &mut Context,
    ) -> KeyPair {
        let number = self.next();
        let pair = identity.derive(number);
        let commit = context.commits.next();
        self.made(pair.public(), peer, commit, &mut context.round.batch);
        assert_eq!(self.next(), number + 1, "each number makes one key");
        pair
    }

    /// Makes some fresh keys again that this node may have made before its data was replaced by an older copy.
    fn make_lost(&mut self, count: usize, context: &mut Context) {
        let Some(identity) = self.identity_key(&context.identity).cloned() else {
            return;
        };
        for _ in 0..count {
            self.make(&identity, None, context);
        }
    }

    /// Proves to a peer that a fresh key is this node's.
    fn prove(
        &self,
        key: &PublicKey,
        audience: PartyId,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        let fresh = self.fresh(key, &context.identity.network, reads)?;
        let pairs = fresh.zip(self.identity_key(&context.identity));
        let pairs = pairs.map(|(fresh, identity)| (identity.derive(fresh.number), identity));
        Ok(match pairs.filter(|(pair, _)| pair.public() == key) {
            Some((pair, identity)) => {
                let proof = OwnershipProof::make(&pair, identity, context.my_id, audience);
                EffectResult::Response(proof.to_bytes())
            }
            None => EffectResult::Failed(errors::unknown_key(key)),
        })
    }

    /// Returns the known owners of keys.
    fn known_owners(
        &self,
        keys: &[PublicKey],
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        let known = self.owners(context, reads);
        let owners = keys.iter().map(|key| known.owner_of(key));
        let owners = owners.collect::<Result<Vec<Option<PartyId>>, StoreFailure>>()?;
        Ok(EffectResult::Response(owners.to_bytes()))
    }

    /// Returns the changes that a transaction makes to the vault, which is being recorded at a position.
    pub(crate) fn recorded(
        &mut self,
        seq: u64,
        wire: &WireTransaction,
        facts: OutputFacts,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<Vec<ViewChange>, StoreFailure> {
        let ours = self.owners(context, reads);
        let changes = vault::changes(seq, wire, &|key| ours.holds(key), facts);
        ours.finish()?;
        self.note_used(&changes, context, reads)?;
        Ok(changes)
    }

    /// Marks fresh keys that now own a state or take part in one. They are not told again.
    fn note_used(
        &mut self,
        changes: &[ViewChange],
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let commit = context.commits.next();
        for change in changes {
            let ViewChange::Produced(produced) = change else {
                continue;
            };
            let facts = &produced.facts;
            for key in facts.owner.iter().chain(&facts.participants) {
                if let Some(fresh) = self.fresh(key, &context.identity.network, reads)? {
                    self.used(key, fresh, commit, &mut context.round.batch);
                }
            }
        }
        Ok(())
    }
}
