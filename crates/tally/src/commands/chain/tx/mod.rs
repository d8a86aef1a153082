//! `tally chain tx`

mod known;
mod text;

pub use text::kind;

use api::chain::codes;
use chain::TxId;

use self::known::Known;
use super::bad_value;
use super::notation::AmountUnit;
use crate::failure::Failure;
use crate::output::Output;
use crate::target::Target;

/// Arguments of `tally chain tx`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The transaction's full id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    unit: AmountUnit,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let id = self.id.parse::<TxId>();
        let id = id.map_err(|error| bad_value(format!("'{}': {error}", self.id)))?;
        self.target.with_chain(async |client| {
            let notation = self.unit.notation(&client).await?;
            let status = client.status().await?;
            let answer = match client.transaction(&id.to_string()).await {
                Err(error) if error.code() == codes::UNKNOWN_TRANSACTION.code => {
                    let prospect = text::prospect(&id, status.now, &notation);
                    return Err(Failure::from(error).with_remark(&prospect));
                }
                answer => answer?,
            };
            if self.output.json {
                return self.output.show(&answer, |_| String::new());
            }
            let known = Known::read(&client, answer, status).await?;
            self.output
                .show(&known.answer, |_| text::people(&known, &notation))
        })
    }
}
