//! The progress bar of commands on a stopped node.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::stderr_ink;

/// Returns a bar on standard error that counts units, such as rows. It is hidden if terminal escapes are disabled.
pub fn progress_bar(unit: &str) -> ProgressBar {
    let target = if stderr_ink().is_on() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(None, target);
    let template =
        format!("  {{bar:30}} {{human_pos}} of {{human_len}} {unit} ({{per_sec}}, {{eta}} left)");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}
