//! One simulated node: what lives through a crash and what does not.

use kernel::port::Table;
use kernel::{Event, Kernel};

use crate::committer::Committer;
use crate::disk::Disk;
use crate::view::View;

/// See the module.
pub struct Node {
    /// `None` while it is down.
    pub kernel: Option<Kernel>,
    /// Counts its lives; what belongs to an earlier one is void.
    pub life: u64,
    pub disk: Disk,
    pub committer: Committer,
    pub view: View,
    /// The view is at work.
    pub view_busy: bool,
    pub mailbox: Vec<Event>,
    /// A round is due at this time.
    pub round_at_us: Option<u64>,
    /// Steps until it crashes, once that is decided.
    pub fuse: Option<u64>,
    /// How long it stays down then, in microseconds.
    pub down_us: u64,
    /// How far its clock is ahead of the world's, in milliseconds.
    pub ahead_ms: u64,
    /// How far it was set off the right time, in milliseconds.
    pub off_ms: i64,
}

impl Node {
    pub fn new(shows_unsynced: bool, view: View, ahead_ms: u64) -> Self {
        Self {
            kernel: None,
            life: 0,
            disk: Disk::new(shows_unsynced),
            committer: Committer::default(),
            view,
            view_busy: false,
            mailbox: Vec::new(),
            round_at_us: None,
            fuse: None,
            down_us: 0,
            ahead_ms,
            off_ms: 0,
        }
    }

    pub fn is_up(&self) -> bool {
        self.kernel.is_some()
    }

    /// What is left to do, by its name: flows, transactions on their way, messages to be sent or answered.
    pub fn left(&self) -> Vec<(&'static str, u64)> {
        let tables = [Table::Journal, Table::Deliveries, Table::Staging];
        let rows = |table| self.disk.durable().rows(table).len() as u64;
        let mut left: Vec<(&str, u64)> = tables.map(|table| (table.name(), rows(table))).into();
        if let Some(kernel) = &self.kernel {
            let figures = kernel.figures();
            left.extend([
                ("flows", figures.flows_live + figures.flows_queued),
                ("intake", figures.intake_items),
                ("outbox", figures.outbox_pending),
                ("requests", figures.requests_outstanding),
            ]);
        }
        left.retain(|(_, count)| *count > 0);
        left
    }

    /// Nothing is being done.
    pub fn is_idle(&self) -> bool {
        self.is_up() && self.mailbox.is_empty() && self.committer.is_idle() && self.view.is_idle()
    }
}
