//! The effects of flows on keys: fresh keys, signatures by this node's keys, and the owners of keys.

use flow::{EffectResult, FlowId};
use ledger::{OwnershipProof, PartyId};
use primitives::{Encode, Hash, KeyPair, PublicKey, SignatureContext};
use vault::ViewChange;

use crate::errors;
use crate::kernel::Kernel;
use crate::keys::store::Ours;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// Who says which keys are this node's.
    pub(crate) fn ours<'a>(&'a self, reads: &'a dyn Reads) -> Ours<'a> {
        Ours {
            fixed: &self.keys,
            book: &self.key_book,
            network: &self.identity.network,
            reads,
            failure: std::cell::Cell::new(None),
        }
    }

    /// The key pair of this node's party.
    pub(crate) fn identity_key(&self) -> Option<&KeyPair> {
        let index = self.keys.get(&self.identity.me.key)?;
        self.identity.keys.get(*index)
    }

    pub(crate) fn sign(
        &mut self,
        key: PublicKey,
        context: SignatureContext,
        message: Hash,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        let pair = match self.keys.get(&key) {
            Some(index) => self.identity.keys.get(*index).cloned(),
            None => {
                let fresh = self.key_book.fresh(&key, &self.identity.network, reads)?;
                fresh.and_then(|fresh| Some(self.identity_key()?.derive(fresh.number)))
            }
        };
        // Another key than asked for: the store was made by a node with another identity.
        let Some(pair) = pair.filter(|pair| *pair.public() == key) else {
            return Ok(EffectResult::Failed(errors::unknown_key(&key)));
        };
        let signature = pair.sign(context, &message);
        self.trust_own(key, context, message, &signature);
        Ok(EffectResult::Signature(signature))
    }

    pub(crate) fn on_fresh_key(
        &mut self,
        flow: FlowId,
        effect: u32,
        audience: Option<PartyId>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let Some(identity) = self.identity_key().cloned() else {
            let error = errors::unknown_key(&self.identity.me.key);
            self.complete(flow, effect, EffectResult::Failed(error));
            return Ok(());
        };
        let told = match &audience {
            Some(peer) => {
                let batch = &mut self.round.batch;
                self.key_book.told_before(peer, batch, reads)?
            }
            None => None,
        };
        let pair = match told {
            Some(told) => identity.derive(told.number),
            None => {
                let pair = identity.derive(self.key_book.next());
                let commit = self.commits.next();
                let batch = &mut self.round.batch;
                self.key_book
                    .made(pair.public(), audience.as_ref(), commit, batch);
                pair
            }
        };
        let answer = match audience {
            None => pair.public().to_bytes(),
            Some(peer) => OwnershipProof::make(&pair, &identity, self.my_id, peer).to_bytes(),
        };
        self.complete(flow, effect, EffectResult::Response(answer));
        Ok(())
    }

    pub(crate) fn on_keep_owner(
        &mut self,
        flow: FlowId,
        effect: u32,
        proof: &OwnershipProof,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let commit = self.commits.next();
        let batch = &mut self.round.batch;
        self.key_book.keep(proof, commit, batch, reads)?;
        self.complete(flow, effect, EffectResult::Done);
        Ok(())
    }

    pub(crate) fn on_prove_key(
        &mut self,
        flow: FlowId,
        effect: u32,
        key: &PublicKey,
        audience: PartyId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let fresh = self.key_book.fresh(key, &self.identity.network, reads)?;
        let pairs = fresh.zip(self.identity_key());
        let pairs = pairs.map(|(fresh, identity)| (identity.derive(fresh.number), identity));
        let result = match pairs.filter(|(pair, _)| pair.public() == key) {
            Some((pair, identity)) => {
                let proof = OwnershipProof::make(&pair, identity, self.my_id, audience);
                EffectResult::Response(proof.to_bytes())
            }
            None => EffectResult::Failed(errors::unknown_key(key)),
        };
        self.complete(flow, effect, result);
        Ok(())
    }

    pub(crate) fn on_key_owners(
        &mut self,
        flow: FlowId,
        effect: u32,
        keys: &[PublicKey],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let owners = keys.iter().map(|key| self.owner_of(key, reads));
        let owners = owners.collect::<Result<Vec<Option<PartyId>>, StoreFailure>>()?;
        self.complete(flow, effect, EffectResult::Response(owners.to_bytes()));
        Ok(())
    }

    /// Whose a key is: by the network map, as this node's, or by a proof that its owner gave this node.
    pub(crate) fn owner_of(
        &self,
        key: &PublicKey,
        reads: &dyn Reads,
    ) -> Result<Option<PartyId>, StoreFailure> {
        if let Some(party) = self.identity.network.by_key(key) {
            return Ok(Some(party.id()));
        }
        let ours = self.ours(reads);
        let mine = ours.holds(key);
        ours.finish()?;
        match mine {
            true => Ok(Some(self.my_id)),
            false => self.key_book.owner(key, reads),
        }
    }

    /// Fresh keys that now own a state, or take part in one, are not told again.
    pub(crate) fn keys_used(
        &mut self,
        changes: &[ViewChange],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let commit = self.commits.next();
        for change in changes {
            let ViewChange::Produced(produced) = change else {
                continue;
            };
            let facts = &produced.facts;
            for key in facts.owner.iter().chain(&facts.participants) {
                if let Some(fresh) = self.key_book.fresh(key, &self.identity.network, reads)? {
                    let batch = &mut self.round.batch;
                    self.key_book.used(key, fresh, commit, batch);
                }
            }
        }
        Ok(())
    }
}
