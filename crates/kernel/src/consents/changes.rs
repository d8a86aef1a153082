//! The changes of the consents by operators.

use ledger::{ContractExecutor, Rejection};
use primitives::{Encode, Hash};

use super::rows::{
    ConsentChange, ConsentRow, Consents, META_NOTARY, META_UPGRADE, NotaryConsentRow, UPGRADES_MAX,
};
use crate::context::Context;
use crate::errors;
use crate::event::{Reply, Token};
use crate::port::Table;

impl Consents {
    /// Handles an operator's change of the consents, or a request to read them.
    pub(crate) fn on_change(
        &mut self,
        change: Option<ConsentChange>,
        by: String,
        token: Token,
        context: &mut Context,
    ) {
        let changed = match change {
            None => Ok(()),
            Some(ConsentChange::Authorise { from, to }) => self.authorise(from, to, by, context),
            Some(ConsentChange::Withdraw { from, to }) => self.withdraw(from, to, context),
            Some(ConsentChange::NotaryChanges(accept)) => {
                self.set_notary_changes(accept, by, context);
                Ok(())
            }
        };
        let reply = match changed {
            Ok(()) => Reply::Consents(Box::new(self.clone())),
            Err(rejection) => Reply::Rejected(rejection),
        };
        context.reply(token, reply);
    }

    fn authorise(
        &mut self,
        from: Hash,
        to: Hash,
        by: String,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        for hash in [from, to] {
            if context.identity.contracts.descriptor(&hash).is_none() {
                let text = format!("no contract with the descriptor {hash} is registered here");
                return Err(errors::rejection(&errors::UNKNOWN_CONTRACT, text));
            }
        }
        if self.upgrades.contains_key(&(from, to)) {
            return Ok(());
        }
        if self.upgrades.len() >= UPGRADES_MAX {
            let text = format!("{UPGRADES_MAX} upgrades are authorised");
            return Err(errors::rejection(&errors::TOO_MANY_CONSENTS, text));
        }
        let row = ConsentRow {
            by,
            at: context.now.wall,
        };
        let key = upgrade_key(&from, &to);
        context
            .rows::<Consents>()
            .put(Table::Meta, key, row.to_bytes());
        self.upgrades.insert((from, to), row);
        assert!(
            self.upgrades.len() <= UPGRADES_MAX,
            "authorised upgrades are bounded"
        );
        Ok(())
    }

    fn withdraw(&mut self, from: Hash, to: Hash, context: &mut Context) -> Result<(), Rejection> {
        let pair = (from, to);
        if self.configured.upgrades.contains(&pair) {
            let text = format!("the configuration authorises the upgrade from {from} to {to}");
            return Err(errors::rejection(&errors::CONSENT_CONFIGURED, text));
        }
        if self.upgrades.remove(&pair).is_none() {
            let text = format!("no upgrade from {from} to {to} is authorised");
            return Err(errors::rejection(&errors::UNKNOWN_CONSENT, text));
        }
        let key = upgrade_key(&from, &to);
        context.rows::<Consents>().delete(Table::Meta, key);
        Ok(())
    }

    fn set_notary_changes(&mut self, accept: Option<bool>, by: String, context: &mut Context) {
        let at = context.now.wall;
        let row = accept.map(|accept| NotaryConsentRow { accept, by, at });
        match &row {
            Some(row) => context
                .rows::<Consents>()
                .put(Table::Meta, META_NOTARY, row.to_bytes()),
            None => context.rows::<Consents>().delete(Table::Meta, META_NOTARY),
        }
        self.notary_changes = row;
    }
}

fn upgrade_key(from: &Hash, to: &Hash) -> Vec<u8> {
    [META_UPGRADE, from.as_bytes(), to.as_bytes()].concat()
}
