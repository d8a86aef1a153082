//! The progress bar of commands on a stopped node.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::stderr_ink;

/// Returns a bar on standard error that counts units, such as rows. It is hidden if terminal escapes are disabled.
pub fn progress_bar(unit: &str) -> ProgressBar {
    bar_with(&format!(
        "  {{bar:30}} {{human_pos}} of {{human_len}} {unit} ({{per_sec}}, {{eta}} left)"
    ))
}

/// Returns the same for work of unknown length.
pub fn progress_count(unit: &str) -> ProgressBar {
    bar_with(&format!("  {{human_pos}} {unit} ({{per_sec}})"))
}

fn bar_with(template: &str) -> ProgressBar {
    let target = if stderr_ink().is_on() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
