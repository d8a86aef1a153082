//! Performs the kernel's actions.

use std::time::Duration;

use kernel::Action;
use kernel::port::StoreFailure;
use runtime::Shell;

use super::ledger_core::{LedgerActions, LedgerCore};
use super::shared::{NodeState, rejection_of};

impl Shell<LedgerCore> for NodeState {
    fn perform(&self, actions: LedgerActions) {
        let LedgerActions {
            steps,
            notary_began,
            actions,
        } = actions;
        self.note_notary_batch(notary_began);
        self.followers.publish(&steps);
        if !actions.is_empty() {
            perform_all(self, actions);
        }
    }

    fn failed(&self, failure: &StoreFailure) {
        self.replies.fail(rejection_of(failure));
    }
}

fn perform_all(shared: &NodeState, actions: Vec<Action>) {
    let mut sends = Vec::new();
    let mut replies = Vec::new();
    let mut views = Vec::new();
    let mut look_ups = Vec::new();
    let mut quarantined = Vec::new();
    for action in actions {
        match action {
            Action::Send {
                peer,
                priority,
                bytes,
            } => sends.push((peer, priority, bytes)),
            Action::Reply { token, reply } => replies.push((token, reply)),
            Action::View {
                seq,
                id,
                at,
                changes,
            } => views.push((seq, id, at, changes)),
            Action::Quarantined(state) => quarantined.push(state),
            Action::Refill(request) => shared.view.refill(request),
            Action::LookUpHistory(look_up) => shared.history.ask(look_up),
            Action::CheckUniqueness(check) => shared.uniqueness.ask(check),
            Action::CheckSignatures(batch) => shared.put_off.ask(batch),
            Action::LookUp { flow, effect, what } => look_ups.push((flow, effect, what)),
            Action::Scheduled {
                flow,
                name,
                state,
                refusal,
            } => shared.note_scheduled(flow, name, &state, refusal.as_ref()),
            Action::FetchFile { .. }
            | Action::AbandonFile { .. }
            | Action::PermitFile { .. }
            | Action::DropFile { .. } => shared.files.take(action),
            Action::Drained => shared.drained(),
            Action::CutOff { peer, ms } => (shared.cut_off)(peer, Duration::from_millis(ms)),
            Action::Log {
                warning: true,
                code,
                message,
            } => tracing::warn!(code, "{message}"),
            Action::Log {
                warning: false,
                code,
                message,
            } => tracing::info!(code, "{message}"),
            // The kernel nests no commits.
            Action::Commit { .. } => {}
        }
    }
    if !views.is_empty() {
        shared.view.feed(views);
    }
    if !quarantined.is_empty() {
        shared.view.quarantine(quarantined);
    }
    // Look-ups must see the changes and the quarantined states of this round.
    for (flow, effect, what) in look_ups {
        shared.view.look_up(flow, effect, what);
    }
    if !sends.is_empty() {
        (shared.send)(sends);
    }
    if !replies.is_empty() {
        shared.replies.answer_all(replies);
    }
}
