//! The digest of a scenario: its opening paragraph, its conditions next to the published ones, and its costs.

use super::frame::words;
use super::tables::table;
use crate::report::digest::{Conditions, Cost, Costs, Opening};
use crate::report::figures::{bytes, figure};

/// Rows of the table of costs at most; the JSON has all nodes.
const NODES_MAX: usize = 24;

/// Returns the opening paragraph.
pub fn opening(opening: &Opening) -> String {
    let parts = opening
        .parts()
        .map(|(name, text)| format!("<b>{name}:</b> {}", words(&text, 600)));
    format!("<p class=\"opening\">{}</p>", parts.join(" "))
}

/// Returns our conditions next to those of the published figures; nothing if none is known.
///
/// `id` names it for links.
pub fn conditions(conditions: &Conditions, id: &str) -> String {
    if conditions.rows.is_empty() {
        return String::new();
    }
    let mut head = "<th class=\"l\"></th><th class=\"l\">Here</th>".to_owned();
    for label in &conditions.theirs {
        head.push_str(&format!("<th class=\"l\">{}</th>", words(label, 160)));
    }
    let rows: String = conditions
        .rows
        .iter()
        .map(|row| {
            let theirs: String = row
                .theirs
                .iter()
                .map(|text| cell(text.as_deref(), "not published"))
                .collect();
            let ours = (!row.ours.is_empty()).then_some(row.ours.as_str());
            let ours = cell(ours, "not recorded");
            format!("<tr><td class=\"l\">{}</td>{ours}{theirs}</tr>", row.title)
        })
        .collect();
    format!("<h3 id=\"{id}\">Conditions</h3>{}", table(&head, &rows))
}

fn cell(text: Option<&str>, otherwise: &str) -> String {
    match text {
        Some(text) => format!("<td class=\"w\">{}</td>", words(text, 400)),
        None => format!("<td class=\"w dim\">{otherwise}</td>"),
    }
}

/// The cell of a cost that could not be observed.
const UNKNOWN: &str = "<td class=\"dim\">&ndash;</td>";

/// A column of costs: heading, value, and how the value is written.
type Column = (&'static str, fn(&Cost) -> Option<f64>, fn(f64) -> String);

const COLUMNS: [Column; 6] = [
    ("Core-seconds<br>in all", |cost| cost.core_s, figure),
    (
        "Core-ms<br>a unit",
        |cost| Some(cost.core_s_per_unit? * 1_000.0),
        figure,
    ),
    (
        "Sent to nodes<br>a unit",
        |cost| cost.sent_bytes_per_unit,
        bytes,
    ),
    (
        "Sent to clients<br>a unit",
        |cost| cost.to_clients_bytes_per_unit,
        bytes,
    ),
    (
        "Written<br>a unit",
        |cost| cost.written_bytes_per_unit,
        bytes,
    ),
    ("Stored<br>a unit", |cost| cost.stored_bytes_per_unit, bytes),
];

/// Returns the cost of a unit at a point, by node; nothing if nothing was counted.
pub fn costs(costs: &Costs, at: &str) -> String {
    let Some(total) = &costs.total else {
        return String::new();
    };
    let all = || costs.nodes.iter().map(|node| &node.cost).chain([total]);
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, value, _)| all().any(|cost| value(cost).is_some_and(|one| one > 0.0)))
        .collect();
    let cells = |cost: &Cost| -> String {
        let cells = columns.iter();
        cells
            .map(|(_, value, written)| match value(cost) {
                Some(value) => format!("<td>{}</td>", words(&written(value), 24)),
                None => UNKNOWN.to_owned(),
            })
            .collect()
    };
    let mut head: String = columns
        .iter()
        .map(|(heading, _, _)| format!("<th>{heading}</th>"))
        .collect();
    let mut nodes = costs.nodes.iter();
    let is_serial = nodes.any(|node| node.serial_us_per_unit.is_some());
    // The row of all nodes has no serial time, because their threads run at the same time.
    let serial = |us: Option<f64>| match (is_serial, us) {
        (false, _) => String::new(),
        (true, Some(us)) => format!("<td>{}</td>", words(&figure(us), 24)),
        (true, None) => UNKNOWN.to_owned(),
    };
    let mut note = "";
    if is_serial {
        head.push_str("<th>Serial µs<br>a unit</th>");
        note = " Serial time is that of the thread that decides, without jobs that other threads could do. That of the busiest \
                node sets the ceiling.";
    }
    let rows: String = costs
        .nodes
        .iter()
        .take(NODES_MAX)
        .map(|node| {
            let name = words(&node.node, 60);
            let serial = serial(node.serial_us_per_unit);
            format!(
                "<tr><td class=\"l\">{name}</td>{}{serial}</tr>",
                cells(&node.cost)
            )
        })
        .collect();
    let at = match at {
        "" => String::new(),
        at => format!(" at {}", words(at, 160)),
    };
    format!(
        "<h3>Cost of a unit</h3>{}<p class=\"dim small\">Means over the repeats{at}. A unit is charged to every node that works for \
         it, and the row of all nodes is the sum, as in the table of metrics. Sent bytes are on the wire. Stored bytes are the growth of the files over the load.{note}</p>",
        table(
            &format!("<th class=\"l\">Node</th>{head}"),
            &format!(
                "{rows}<tr><td class=\"l\"><b>all nodes</b></td>{}{}</tr>",
                cells(total),
                serial(None)
            )
        )
    )
}
