//! `tally attachment list`

use api::{AttachmentPage, AttachmentQuery};

use super::{hint, origin};
use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink, yes_or_no};
use crate::target::Target;

/// Arguments of `tally attachment list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Only files whose name contains this text, ignoring case
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only files whose media type starts with this text
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// Only trusted files
    #[arg(long, conflicts_with = "untrusted")]
    trusted: bool,
    /// Only untrusted files
    #[arg(long)]
    untrusted: bool,
    /// Only files that no recorded transaction refers to
    #[arg(long)]
    unreferenced: bool,
    /// After this hash
    #[arg(long, value_name = "HASH")]
    after: Option<String>,
    /// Maximum number of files
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let query = AttachmentQuery {
            name: self.name,
            media_type: self.media_type,
            trusted: (self.trusted || self.untrusted).then_some(self.trusted),
            unreferenced: self.unreferenced.then_some(true),
        };
        self.target.with_client(async |client| {
            let after = self.after.as_deref();
            let page = client.attachments(&query, after, self.limit).await?;
            self.output.show(&page, table)
        })
    }
}

fn table(page: &AttachmentPage) -> String {
    let more = page
        .next
        .as_ref()
        .map(|next| format!("more: --after {next}"));
    if page.attachments.is_empty() {
        return more.unwrap_or_else(|| "no files".to_owned());
    }
    let mut table = Table::new(&[
        "hash",
        "bytes",
        "name",
        "media type",
        "trusted",
        "used",
        "origin",
    ]);
    for file in &page.attachments {
        table.row([
            file.hash.clone(),
            grouped(file.size),
            hint(&file.name),
            hint(&file.media_type),
            yes_or_no(file.trusted),
            grouped(file.references),
            origin(file),
        ]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(more) = more {
        text.push('\n');
        text.push_str(&more);
    }
    text
}
