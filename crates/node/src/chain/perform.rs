//! Performs the actions of the chain's core.

use std::sync::Arc;

use chain::core::{Action, Notice};
use chain::port::StoreFailure;
use chain::{BlockTimestamp, ChainTime, Seconds};
use runtime::Shell;

use super::chain_core::ChainCore;
use super::shared::{ChainNodeState, Waiter};

impl Shell<ChainCore> for ChainNodeState {
    fn perform(&self, actions: Vec<Action>) {
        perform_all(self, actions);
    }

    fn failed(&self, _failure: &StoreFailure) {
        self.let_go();
    }

    fn taken(&self) {
        self.taken.notify_waiters();
    }
}

/// Performs the actions of a round, in order. Nothing here blocks.
fn perform_all(shared: &ChainNodeState, actions: Vec<Action>) {
    for action in actions {
        match action {
            Action::Gossip(bytes) => shared.peers.broadcast(bytes),
            Action::Verdict { message, verdict } => shared.peers.verdict(message, verdict),
            Action::Ask {
                peer,
                ticket,
                bytes,
                patience,
            } => {
                if let Some(event) = shared.peers.ask(peer, ticket, bytes, patience) {
                    shared.tell(event);
                }
            }
            Action::Answer { ticket, bytes } => shared.peers.answer(ticket, bytes),
            Action::Penalise {
                peer,
                points,
                reason,
            } => {
                shared
                    .metrics
                    .count_reason(&shared.metrics.penalties, reason);
                tracing::debug!(%peer, points, reason, "a peer is at fault");
                shared.peers.penalise(peer, points, reason);
            }
            Action::Disconnect { peer, reason } => {
                tracing::info!(code = reason, %peer, "a peer loses its connection");
                shared.peers.disconnect(peer, reason);
            }
            Action::Submitted { ticket, outcomes } => {
                if let Some(Waiter::Submit(waiter, _place)) = shared.waiter(ticket) {
                    for rejection in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
                        let metrics = &shared.metrics;
                        metrics.count_reason(&metrics.refused, rejection.code);
                    }
                    // The caller may be gone.
                    let _ = waiter.send(outcomes);
                }
            }
            Action::Done { ticket, outcome } => {
                if let Some(Waiter::Order(waiter)) = shared.waiter(ticket) {
                    let _ = waiter.send(outcome);
                }
            }
            Action::Notice(notice) => note(shared, *notice),
        }
    }
}

fn note(shared: &ChainNodeState, notice: Notice) {
    let metrics = &shared.metrics;
    let now_ms = shared.clock.now_ms();
    match &notice {
        Notice::Added { header, hash, own } => {
            let transactions = u64::from(header.parent_count) + u64::from(header.child_count);
            metrics.blocks_added.increment();
            metrics.block_transactions.record(transactions);
            metrics.block_bytes.record(u64::from(header.body_bytes));
            metrics.transactions.add(transactions);
            shared.lock_shown().block(now_ms, transactions as i64);
            // Clipped at 0: the forger's clock may be ahead.
            let late = BlockTimestamp::at(ChainTime::from_ms(now_ms)).since(header.time);
            metrics
                .block_age
                .record_time(late.unwrap_or(Seconds::ZERO).duration());
            tracing::debug!(height = header.height.get(), %hash, own, transactions, "a block joined");
        }
        Notice::Popped { header, hash } => {
            let transactions = i64::from(header.parent_count) + i64::from(header.child_count);
            metrics.blocks_popped.increment();
            shared.lock_shown().block(now_ms, -transactions);
            tracing::debug!(height = header.height.get(), %hash, "a block was rolled back");
        }
        Notice::Forked { common, depth } => {
            metrics.fork_depth.record(u64::from(*depth));
            tracing::info!(common = common.get(), depth, "a branch has won");
        }
        Notice::Removed { id, reason } => {
            metrics.count_reason(&metrics.left, reason);
            tracing::debug!(%id, reason, "a transaction left the pool without a block");
        }
        Notice::TooDeep {
            peer,
            common,
            other,
        } => tracing::warn!(
            code = "chain_peer.too_deep",
            %peer,
            common = common.get(),
            %other,
            "a peer claims a better branch that forks deeper than blocks can be rolled back: it cannot be checked, and this node goes \
             on with its own; compare the tips of nodes that you trust (docs/guides/chain-forks.md)"
        ),
        Notice::DeepFork { common, other } => tracing::error!(
            common = common.get(),
            %other,
            "a better branch forks deeper than may be rolled back: this node goes on with its own; compare the branches, then order \
             trust if the other one is right (docs/guides/chain-forks.md)"
        ),
        Notice::Equivocated(found) => tracing::warn!(
            forger = %found.first.forger_account(),
            height = found.first.height.get(),
            parent = %found.first.previous,
            "a forger signed two blocks on one parent: the first stays, and both headers are kept as evidence (tally chain equivocations)"
        ),
    }
    // An error means that no client follows.
    let _ = shared.notices.send(Arc::new(notice));
}
