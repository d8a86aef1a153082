//! The options of a simulation.

use std::str::FromStr;

use crate::Adversary;

/// A planted bug, which proves that the auditor finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Locks are not restored after a crash.
    LockForgotten,
    /// A session message is sent twice, as two messages.
    MessageRepeated,
    /// Actions that must wait for a sync do not wait.
    SyncSkipped,
    /// A crash leaves half of a batch on the disk.
    BatchTorn,
    /// A client that saw no answer starts its flow again under another client id.
    ClientIdLost,
    /// The transport acknowledges a delivery that the participant has not received, and loses it.
    DeliveryAcknowledgedEarly,
    /// The notary does not record consumed states.
    ConsumptionForgotten,
    /// A vault view ignores some consumed states.
    ViewStale,
    /// A rebuilt vault view knows the node's own key but none of its fresh keys.
    FreshKeysUnseen,
    /// A crash loses the flows scheduled by states.
    ScheduleLost,
    /// A crash loses the table of attachments.
    FilesLost,
    /// A bank does not record claimed evidence.
    ClaimsForgotten,
    /// A notary's operator confirms the clock regardless of the time that it shows.
    ClockTrusted,
    /// Banks give up on a silent counterparty at once.
    LocksFreedEarly,
    /// Banks never give up on a silent counterparty.
    LocksNeverFreed,
    /// The results of signatures are taken in the order of their completion.
    JobsMisordered,
}

impl Bug {
    /// All bugs with their names on the command line.
    pub const ALL: [(Bug, &str); 16] = [
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
        (Bug::JobsMisordered, "jobs-misordered"),
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find_map(|(bug, name)| (bug == self).then_some(name))
            .expect("all bugs are listed")
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

/// The options of one simulation.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// The seed, which determines the whole run.
    pub seed: u64,
    /// A bug to plant.
    pub bug: Option<Bug>,
    /// The harmful member. If `None`, the seed selects one.
    pub adversary: Option<Adversary>,
    /// Whether to put nodes back on older copies of their disks at the end.
    pub rollback: bool,
    /// Whether to keep the text of the trace as well as its hash.
    pub keep_trace: bool,
}

impl SimOptions {
    /// Returns the options for a seed, without a planted bug.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            bug: None,
            adversary: None,
            rollback: false,
            keep_trace: false,
        }
    }

    /// Returns the harmful member: the chosen one, or the one that the seed selects.
    pub(crate) fn harmful_member(&self) -> Adversary {
        let of_seed = match self.seed % 5 {
            0 => Adversary::Swarm,
            1 => Adversary::Replayer,
            2 => Adversary::Clocks,
            3 => Adversary::Silent,
            _ => Adversary::Garbage,
        };
        // Without a choice, the seed decides.
        self.adversary.unwrap_or(of_seed)
    }

    /// Returns the command that replays the simulation.
    pub fn command(&self) -> String {
        let bug = self.bug.map(|bug| format!(" --bug {}", bug.name()));
        let adversary = self.adversary.map(Adversary::name);
        let adversary = adversary.map(|name| format!(" --adversary {name}"));
        let rollback = if self.rollback { " --rollback" } else { "" };
        format!(
            "cargo run --profile checked -p sim -- --seed {}{}{}{rollback} --trace",
            self.seed,
            bug.unwrap_or_default(),
            adversary.unwrap_or_default()
        )
    }
}
