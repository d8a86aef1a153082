//! Transactions that this notary has signed and that its data lacks, because it is an older copy. Peers show them in a recovery.

use ledger::NotarisedTearOff;
use notary::RequestRecord;

use crate::command::IntegrityCommand;
use crate::context::Context;
use crate::notarisation::requests::{Notarisation, put_consumer, put_record};
use crate::notarisation::views::NotaryViews;
use crate::port::StoreFailure;

impl Notarisation {
    /// Enters transactions again that this notary has signed.
    pub(super) fn enter_again(
        &mut self,
        notarised: &[NotarisedTearOff],
        views: NotaryViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let (mut notarised_again, mut conflicts) = (0, 0);
        for tear_off in notarised {
            let Ok(shown) = tear_off.verify(context.signatures.checker()) else {
                continue;
            };
            let id = shown.id();
            let me = &context.identity.me;
            let mut mine = tear_off.signatures.iter();
            let mine = mine.find(|s| s.by == me.key);
            let (Some(signature), true) = (mine, *shown.notary() == *me) else {
                continue;
            };
            if self.has_accepted(&id, views.reads)? {
                continue;
            }
            let record = RequestRecord {
                requester: context.my_id,
                key: me.key.clone(),
                signature: signature.signature,
                at: context.now.wall,
            };
            let (commit, batch) = (context.commits.next(), &mut context.round.batch);
            put_record(&id, &record, batch);
            let mut entered = Vec::new();
            for input in shown.inputs() {
                match self.consumer(input, views.reads)? {
                    Some(consumer) if consumer == id => {}
                    Some(_) => conflicts += 1,
                    None => {
                        entered.push(*input);
                        put_consumer(input, &id, batch);
                    }
                }
            }
            // A decision of this round, or one whose answer comes from before these rows, must know them.
            self.notary.enter(id, &entered, commit);
            notarised_again += u64::from(!entered.is_empty());
        }
        context.command(IntegrityCommand::NotaryEntered {
            notarised: notarised_again,
            conflicts,
        });
        Ok(())
    }
}
