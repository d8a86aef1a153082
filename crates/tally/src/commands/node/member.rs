//! `tally node forget-member`

use node::forget_member;

use super::store::confirmed;
use crate::commands::store_care;
use crate::failure::Failure;

/// Arguments of `tally node forget-member`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The member's name, such as 'O=Bank B, L=Paris, C=FR'
    #[arg(long, value_name = "PARTY")]
    member: String,
    #[command(flatten)]
    pub care: store_care::Args,
}

impl Args {
    /// Removes the member's file and the node's record of the member.
    pub fn run(&self) -> Result<(), Failure> {
        let files = confirmed(&self.care)?;
        let path = forget_member(&files, &self.member).map_err(|error| Failure::coded(&error))?;
        self.care.show(&path, "the member is forgotten")
    }
}
