//! Blocks on their way to the tip: announced, assembled, pending, applied, and rolled back.

mod announce;
mod assemble;
mod assembly;
mod faults;
mod parts_answer;
mod pending;
mod release;
mod side_blocks;
mod tip;

pub(super) use assembly::{Assemblies, lists};
pub(super) use faults::{BodyFault, NotApplied};
pub(super) use pending::{PendingBlocks, PendingStage, Release};
pub(super) use side_blocks::SideBlocks;
