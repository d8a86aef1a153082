//! Contracts, and the consents to transitions that other nodes propose, for the API.

use std::collections::BTreeSet;

use api::{ConsentList, ConstraintView, ContractList, ContractView, NotaryConsent, UpgradeConsent};
use kernel::{Consents, Event, Reply};
use ledger::{Constraint, ContractExecutor, ContractRegistry};
use primitives::Hash;

use super::refusals::stopping;
use super::service::Service;
use crate::http::Refusal;

impl Service {
    /// Changes the consents if a change is given. Returns the current consents.
    pub(super) async fn consented(
        &self,
        change: Option<kernel::ConsentChange>,
        user: String,
    ) -> Result<ConsentList, Refusal> {
        let reply = self.ask(|token| Event::Consents {
            change,
            user,
            token,
        });
        match reply.await? {
            Reply::Consents(consents) => Ok(list(&consents, &self.contracts)),
            _ => Err(stopping()),
        }
    }
}

/// The contracts of a registry.
pub(super) fn contracts(registry: &ContractRegistry) -> ContractList {
    let views = registry.descriptors().map(|descriptor| {
        let (hash, contract) = (descriptor.hash(), descriptor.contract());
        let current = registry.current(&contract.name);
        let signed = matches!(current, Some((_, Constraint::SignedBy(_))));
        ContractView {
            name: contract.name.to_string(),
            version: contract.version,
            descriptor: hash.to_string(),
            signer: descriptor.signer().to_text(),
            current: current.is_some_and(|(newest, _)| newest == hash),
            constraint: match signed {
                true => ConstraintView::Signer,
                false => ConstraintView::Version,
            },
        }
    });
    ContractList {
        contracts: views.collect(),
    }
}

fn list(consents: &Consents, registry: &ContractRegistry) -> ConsentList {
    let configured = &consents.configured;
    let said = consents.notary_changes.as_ref();
    let pairs: BTreeSet<&(Hash, Hash)> = configured
        .upgrades
        .iter()
        .chain(consents.upgrades.keys())
        .collect();
    let upgrades = pairs.into_iter().map(|pair| {
        let row = consents.upgrades.get(pair);
        UpgradeConsent {
            from: pair.0.to_string(),
            to: pair.1.to_string(),
            from_contract: name(registry, &pair.0),
            to_contract: name(registry, &pair.1),
            configured: configured.upgrades.contains(pair),
            by: row.map(|row| row.by.clone()),
            at_ms: row.map(|row| row.at.as_ms()),
        }
    });
    ConsentList {
        notary_changes: NotaryConsent {
            accepted: consents.notary_change(),
            configured: configured.notary_changes,
            by: said.map(|row| row.by.clone()),
            at_ms: said.map(|row| row.at.as_ms()),
        },
        upgrades: upgrades.collect(),
    }
}

fn name(registry: &ContractRegistry, hash: &Hash) -> Option<String> {
    let descriptor = registry.descriptor(hash)?;
    Some(descriptor.contract().to_string())
}
