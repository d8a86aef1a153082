//! Generates `docs/reference/scenarios.md` from the table of keys.

use super::fields::{FIELDS, Field, Kind};
use super::limits::{
    AXES_MAX, CASES_MAX, FILE_BYTES_MAX, KNOBS_MAX, METRICS_MAX, OVERRIDES_MAX, POINTS_MAX,
    PUBLISHED_MAX, SETTINGS_MAX, STEPS_MAX, WORKS_MAX,
};

const HEAD: &str = "# Scenarios

Generated from the source: do not edit. A scenario of the laboratory is a TOML file with these keys; `tally lab list` shows
those that are shipped, `tally lab show NAME` one of them as it will run, and [the laboratory](../guides/laboratory.md)
leads from there to one's own. Unknown keys are refused, and everything is checked before anything runs, with the line that
is wrong.

";

const FOOT: &str = "
## What is laid over what
First the file, then `[full]` if `--full` is given, then every `--set key=value` in turn, then the defaults of what is left
out, then at each point of a sweep what its cases set. Tables grow together; lists and single values are replaced. A way of
load (`outstanding`, `rate`, `ramp`, `steps`, `knee`) takes the place of another. `--set` takes a value as TOML; a word
needs no quotes. With several kinds of work or several axes, `work.LABEL.key` and `sweep.LABEL.key` say which one; a setting
that a sweep varies is narrowed with `--set sweep.LABEL.only=[...]`, and `--set sweep=[]` leaves sweeps out.

## Metrics
Figures can be published beside, and `main_metric` can be, one of these:
";

/// Returns the page.
pub fn reference_page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| key | default | what it may be | unit | meaning |\n|---|---|---|---|---|\n");
    for Field {
        name,
        kind,
        default,
        unit,
        meaning,
    } in FIELDS
    {
        let default = default.replace('|', "\\|");
        let allowed = allowed(kind);
        page.push_str(&format!(
            "| `{name}` | {default} | {allowed} | {unit} | {meaning} |\n"
        ));
    }
    page.push_str(FOOT);
    let metrics: Vec<String> = super::METRICS
        .iter()
        .map(|metric| format!("`{metric}`"))
        .collect();
    page.push_str(&metrics.join(", "));
    page.push_str(&format!(
        ".\n\n## Limits\nA file has at most {FILE_BYTES_MAX} bytes, a mix {WORKS_MAX} kinds of work with {KNOBS_MAX} knobs each, \
         a node {SETTINGS_MAX} settings, a rate {STEPS_MAX} steps, a sweep {AXES_MAX} axes of {CASES_MAX} cases and {POINTS_MAX} \
         points together, `monitors.metrics` {METRICS_MAX} names, `published` {PUBLISHED_MAX} lines, a command line \
         {OVERRIDES_MAX} `--set`.\n"
    ));
    page
}

fn allowed(kind: &Kind) -> String {
    match kind {
        Kind::Text(chars) => format!("text of at most {chars} characters"),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Whole(least, most) => format!("{least} to {most}"),
        Kind::Number(least, most) => format!("{least} to {most}"),
        Kind::OneOf(words) if words.len() > 6 => "a [metric](#metrics)".to_owned(),
        Kind::OneOf(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            words.join(", ")
        }
        Kind::Tables | Kind::Free => String::new(),
    }
}
