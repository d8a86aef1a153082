//! What to simulate.

use std::str::FromStr;

use crate::Adversary;

/// A bug planted on purpose, to prove that the auditor notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Locks are not restored after a crash.
    LockForgotten,
    /// A session message is sent twice, as two messages.
    MessageRepeated,
    /// What waits for a sync does not wait.
    SyncSkipped,
    /// A crash leaves half of a batch on the disk.
    BatchTorn,
    /// A client that saw no answer starts its flow again under another client id.
    ClientIdLost,
    /// The transport answers for a delivery that the participant has not seen yet, and loses it.
    DeliveryAcknowledgedEarly,
    /// The notary does not write which states are consumed.
    ConsumptionForgotten,
    /// A vault view passes over a state that was consumed.
    ViewStale,
    /// A vault view that is filled again knows the node's own key and none of its fresh ones.
    FreshKeysUnseen,
    /// A crash loses which flows states have scheduled.
    ScheduleLost,
    /// A crash loses which files are there.
    FilesLost,
    /// A bank does not write which evidence was claimed.
    ClaimsForgotten,
    /// A notary's operator vouches for whatever its clock shows.
    ClockTrusted,
    /// Banks give up on a silent counterparty at once.
    LocksFreedEarly,
    /// Banks wait for a silent counterparty without end.
    LocksNeverFreed,
}

impl Bug {
    /// Every bug with its name on the command line.
    pub const ALL: [(Bug, &str); 15] = [
        (Bug::LockForgotten, "lock-forgotten"),
        (Bug::MessageRepeated, "message-repeated"),
        (Bug::SyncSkipped, "sync-skipped"),
        (Bug::BatchTorn, "batch-torn"),
        (Bug::ClientIdLost, "client-id-lost"),
        (
            Bug::DeliveryAcknowledgedEarly,
            "delivery-acknowledged-early",
        ),
        (Bug::ConsumptionForgotten, "consumption-forgotten"),
        (Bug::ViewStale, "view-stale"),
        (Bug::FreshKeysUnseen, "fresh-keys-unseen"),
        (Bug::ScheduleLost, "schedule-lost"),
        (Bug::FilesLost, "files-lost"),
        (Bug::ClaimsForgotten, "claims-forgotten"),
        (Bug::ClockTrusted, "clock-trusted"),
        (Bug::LocksFreedEarly, "locks-freed-early"),
        (Bug::LocksNeverFreed, "locks-never-freed"),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find_map(|(bug, name)| (bug == self).then_some(name))
            .unwrap_or_default()
    }
}

impl FromStr for Bug {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(_, name)| *name == text);
        found.map(|(bug, _)| bug).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(|(_, name)| name).collect();
            format!("no bug is called {text:?}; there are: {}", names.join(", "))
        })
    }
}

/// One simulation.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Everything follows from it.
    pub seed: u64,
    /// A bug to plant.
    pub bug: Option<Bug>,
    /// The member that does harm; the seed chooses if there is none.
    pub adversary: Option<Adversary>,
    /// Put nodes back on older copies of their disks at the end.
    pub rollback: bool,
    /// Keep the text of the trace, not only its hash.
    pub keep_trace: bool,
}

impl SimOptions {
    /// The simulation of a seed, without a planted bug.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            bug: None,
            adversary: None,
            rollback: false,
            keep_trace: false,
        }
    }

    /// The command that replays it.
    pub fn command(&self) -> String {
        let bug = self.bug.map(|bug| format!(" --bug {}", bug.name()));
        let adversary = self.adversary.map(Adversary::name);
        let adversary = adversary.map(|name| format!(" --adversary {name}"));
        let rollback = if self.rollback { " --rollback" } else { "" };
        format!(
            "cargo run --release -p sim -- --seed {}{}{}{rollback} --trace",
            self.seed,
            bug.unwrap_or_default(),
            adversary.unwrap_or_default()
        )
    }
}
