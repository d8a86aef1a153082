//! One simulated node: the parts that survive a crash and the parts that do not.

use kernel::port::Table;
use kernel::{Event, Kernel};

use crate::committer::Committer;
use crate::disk::Disk;
use crate::view::View;

/// A simulated node.
pub struct Node {
    /// `None` while the node is down.
    pub kernel: Option<Kernel>,
    /// Counts starts and crashes. Events of an earlier life are void.
    pub life: u64,
    pub disk: Disk,
    pub committer: Committer,
    pub view: View,
    /// Whether the view is working on a job.
    pub view_busy: bool,
    /// The epoch of its store, as of its latest start.
    pub epoch: u64,
    pub mailbox: Vec<Event>,
    /// Time of the next round, if one is due.
    pub round_at_us: Option<u64>,
    /// Steps until the planned crash, if there is one.
    pub fuse: Option<u64>,
    /// Duration of the next downtime, in microseconds.
    pub down_us: u64,
    /// Offset of the node's clock from the world's, in milliseconds. Positive values are ahead.
    pub ahead_ms: u64,
    /// Offset that the clocks adversary adds to the clock, in milliseconds.
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
            epoch: 0,
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

    /// Returns the counts of unfinished work by name: flows, transactions in delivery, and messages to be sent or answered.
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

    /// Returns whether the node runs and has no pending work.
    pub fn is_idle(&self) -> bool {
        self.is_up() && self.mailbox.is_empty() && self.committer.is_idle() && self.view.is_idle()
    }
}
