//! Generates `docs/reference/scenarios.md` from the table of keys.

use super::fields::{FIELDS, Field, Kind};
use super::limits::{
    AXES_MAX, CASES_MAX, FILE_BYTES_MAX, KNOBS_MAX, METRICS_MAX, OVERRIDES_MAX, POINTS_MAX,
    PUBLISHED_MAX, SETTINGS_MAX, STEPS_MAX, WORKS_MAX,
};

const HEAD: &str = "# Scenarios

Generated from the source: do not edit. A scenario of the laboratory is a TOML file with these keys. `tally lab list` shows
the shipped scenarios, and `tally lab show NAME` shows one as it will run. [The laboratory](../guides/laboratory.md)
explains how to write your own. Unknown keys are refused. The whole file is checked before anything runs, and an error names
its line.

";

const FOOT: &str = "
## Order of settings
Later settings override earlier ones:

1. the file
2. `[full]`, with `--full`
3. every `--set key=value`, in turn
4. the defaults, for keys without a value
5. at each point of a sweep, the settings of its cases

Tables are merged. Lists and single values are replaced. A kind of load (`outstanding`, `rate`, `ramp`, `steps`, `knee`)
replaces another one. `--set` takes a value as TOML, and a word needs no quotes. With several kinds of work or several axes,
`work.LABEL.key` and `sweep.LABEL.key` select one. `--set sweep.LABEL.only=[...]` runs some of the cases of a sweep, and
`--set sweep=[]` removes the sweeps.

## Metrics
`main_metric` and `published.metric` take one of these names:
";

/// Returns the page.
pub fn reference_page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| key | default | allowed values | unit | meaning |\n|---|---|---|---|---|\n");
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
        ".\n\n## Limits\n| of | at most |\n|---|---|\n| a file | {FILE_BYTES_MAX} bytes |\n| a mix | {WORKS_MAX} kinds of work, with \
         {KNOBS_MAX} parameters each |\n| a node | {SETTINGS_MAX} settings |\n| a rate | {STEPS_MAX} steps |\n| a sweep | \
         {AXES_MAX} axes with {CASES_MAX} cases each, {POINTS_MAX} points together |\n| `monitors.metrics` | {METRICS_MAX} names \
         |\n| `published` | {PUBLISHED_MAX} lines |\n| a command line | {OVERRIDES_MAX} times `--set` |\n"
    ));
    page
}

fn allowed(kind: &Kind) -> String {
    match kind {
        Kind::Text(_, chars) => format!("text of at most {chars} characters"),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Whole(least, most) => format!("{least} to {most}"),
        Kind::Number(least, most) => format!("{least} to {most}"),
        Kind::OneOf(words) if words.len() > 6 => "a [metric](#metrics)".to_owned(),
        Kind::OneOf(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            words.join(", ")
        }
        _ => String::new(),
    }
}
