//! A comparison as a page: the changes beyond noise with their test, and the metrics without one.

use super::figure::{Swatch, figure};
use super::frame::{Facts, banner, frame, prose, words};
use super::tables::table;
use crate::report::chart::{Mark, Row, Rows, rows};
use crate::report::figures::{bytes, figure as number};
use crate::report::units::{Better, Metric};
use crate::results::Estimate;
use crate::stats::{Compared, Comparison, Method, Scale, Verdict};

/// Rows of one chart at most; the tables have all up to [`ROWS_MAX`].
const DRAWN_MAX: usize = 60;
/// Rows of one table, notes and reasons at most.
const ROWS_MAX: usize = 500;
/// The drawn range of changes, per cent. A larger change ends in an arrow head, with its size in words.
const DRAWN_PERCENT: (f64, f64) = (-100.0, 300.0);

/// Returns the whole page.
pub fn comparison_html(comparison: &Comparison) -> String {
    let title = match comparison.title.trim() {
        "" => "Comparison",
        title => title,
    };
    let mut body = format!(
        "<header class=\"top\"><h1>{}</h1>{}</header><main>",
        words(title, 200),
        facts(comparison)
    );
    body.push_str(&verdict(comparison));
    if !comparison.notes.is_empty() {
        let notes: String = comparison
            .notes
            .iter()
            .take(ROWS_MAX)
            .map(|note| format!("<li>{}</li>", prose(note, 1000)))
            .collect();
        let notes = format!("<b>To know before believing it</b><ul>{notes}</ul>");
        body.push_str(&banner(false, &notes));
    }
    body.push_str(&how(comparison));
    for side in 1..comparison.sides.len() {
        body.push_str(&section(comparison, side));
    }
    if !comparison.left_out.is_empty() {
        let rows: String = comparison
            .left_out
            .iter()
            .take(ROWS_MAX)
            .map(|left| {
                let (at, metric, why) = (words(&left.at, 80), words(&left.metric, 60), words(&left.why, 400));
                format!("<tr><td class=\"l\">{at}</td><td class=\"l\">{metric}</td><td class=\"w\">{why}</td></tr>")
            })
            .collect();
        let head = "<th class=\"l\">Point</th><th class=\"l\">Metric</th><th class=\"l\">Why it was not tested</th>";
        body.push_str(&format!("<h3>Left out</h3>{}", table(head, &rows)));
    }
    body.push_str("</main><footer>Intervals of figures and of changes are 95 % confidence intervals, each for itself. Whether something \
                   changed is decided by the test over all metrics together, which asks for more.</footer>");
    frame(title, &body)
}

fn facts(comparison: &Comparison) -> String {
    let mut facts = Facts::new();
    for (at, side) in comparison.sides.iter().take(20).enumerate() {
        let before = if at == 0 { " (before)" } else { "" };
        facts.add(&format!("{}{before}", words(&side.name, 40)), &side.about);
    }
    if let Some(machine) = &comparison.machine {
        facts.add("Processor", &machine.processor);
        facts.add("Cores", &machine.cores.to_string());
        facts.add("Memory", &bytes(machine.memory_bytes as f64));
        facts.add("System", &machine.system);
        let load = (machine.load_average_before, machine.load_average_after);
        let load = format!("{} before, {} after", number(load.0), number(load.1));
        facts.add("Load average", &load);
    }
    facts.add("Seed", &comparison.seed.to_string());
    facts.end()
}

/// Returns the first sentence.
fn verdict(comparison: &Comparison) -> String {
    let changed = |metric: &&Compared| metric.verdict != Verdict::NotShown;
    let all = comparison.metrics.len();
    match comparison.metrics.iter().filter(changed).count() {
        _ if all == 0 => banner(false, "<b>Nothing could be compared.</b>"),
        0 => format!(
            "<div class=\"banner calm\"><b>No change was shown</b> in {all} metrics. That does not say that there is none: the tables \
             say from what size on it would have been seen.</div>"
        ),
        count => banner(
            false,
            &format!("<b>{count} of {all} metrics changed</b> beyond noise."),
        ),
    }
}

/// Returns the method of the test, in words.
fn how(comparison: &Comparison) -> String {
    let test = &comparison.test;
    let method = match test.method {
        Method::PairedRandomOrder => format!(
            "{} pairs of stretches, each pair in an order decided by chance. The signs of the pairs' differences are flipped at random, \
             and the largest statistic among all metrics is compared with what chance gives",
            test.count
        ),
        Method::PairedFixedOrder => format!(
            "{} pairs of stretches in turns, in a fixed order. The signs of the pairs' differences are flipped at random, and the largest \
             statistic among all metrics is compared with what chance gives; that takes the noise of a pair for symmetric",
            test.count
        ),
        Method::Unpaired => format!(
            "Runs of their own with at least {} repeats a side: Welch's t-tests with Holm's correction. What else differed between the \
             runs than the sides, such as the hour, is not seen",
            test.count
        ),
    };
    let drawn = match test.drawn {
        Some(drawn) => format!(
            "{} arrangements were drawn by chance",
            number(f64::from(drawn))
        ),
        None => "the chances are exact".to_owned(),
    };
    format!(
        "<p class=\"dim small\"><b>How it was tested.</b> {method}; {drawn}. The chance of any false finding among all metrics \
         together is at most {} %.</p>",
        number(test.error_rate * 100.0)
    )
}

/// Returns the section that compares one side with the first.
fn section(comparison: &Comparison, side: usize) -> String {
    let of_side = || {
        comparison
            .metrics
            .iter()
            .filter(move |metric| metric.side == side)
    };
    let (changed, unchanged): (Vec<&Compared>, Vec<&Compared>) =
        of_side().partition(|metric| metric.verdict != Verdict::NotShown);
    let name = |at: usize| {
        comparison
            .sides
            .get(at)
            .map_or("", |side| side.name.as_str())
    };
    let mut out = format!(
        "<section class=\"scenario\"><div class=\"title\"><h2>{} against {}</h2></div>",
        words(name(side), 80),
        words(name(0), 80)
    );
    for (title, metrics) in [
        ("What changed", changed),
        ("What was not shown to change", unchanged),
    ] {
        if metrics.is_empty() {
            continue;
        }
        out.push_str(&format!(
            "<h3>{title}</h3><div class=\"charts wide\">{}</div>",
            forest(&metrics)
        ));
        out.push_str(&figures(&metrics, name(0), name(side)));
    }
    out + "</section>"
}

/// Returns a change in per cent, if it is a ratio.
fn percent(metric: &Compared) -> Option<(f64, Option<(f64, f64)>)> {
    let of = |ratio: f64| (ratio - 1.0) * 100.0;
    let change = &metric.change;
    if metric.scale != Scale::Ratio || !change.value.is_finite() {
        return None;
    }
    let ends = change.low.zip(change.high);
    let ends = ends.filter(|(low, high)| low.is_finite() && high.is_finite());
    Some((
        of(change.value),
        ends.map(|(low, high)| (of(low), of(high))),
    ))
}

/// Returns whether a change is an improvement; `None` if there is no change, or the metric has no better direction.
fn is_better(metric: &Compared) -> Option<bool> {
    let rose = match metric.verdict {
        Verdict::NotShown => return None,
        Verdict::Higher => true,
        Verdict::Lower => false,
    };
    let better = Metric::named(&metric.metric).better?;
    Some(rose == (better == Better::Higher))
}

/// Returns the series of a mark: better, worse or neither.
fn series(metric: &Compared) -> usize {
    match is_better(metric) {
        Some(true) => 2,
        Some(false) => 1,
        None if metric.verdict == Verdict::NotShown => 6,
        None => 0,
    }
}

/// Changes with their intervals around no change.
fn forest(metrics: &[&Compared]) -> String {
    let mut list = Vec::new();
    for metric in metrics.iter().take(DRAWN_MAX) {
        let Some((value, interval)) = percent(metric) else {
            continue;
        };
        let name = name(metric);
        let hint = format!("{name}: {}", change_words(metric));
        list.push(Row {
            name,
            marks: vec![Mark {
                series: series(metric),
                value,
                interval,
                deviation: None,
                published: false,
                words: signed(value, " %"),
                reach: interval.map_or(String::new(), |(low, high)| {
                    format!("{} to {} %", signed(low, ""), signed(high, ""))
                }),
                hint,
            }],
        });
    }
    if list.is_empty() {
        return String::new();
    }
    let mut legend: Vec<(Swatch, String)> = Vec::new();
    for (at, words) in [
        (2, "better"),
        (1, "worse"),
        (0, "changed"),
        (6, "no change shown"),
    ] {
        let mut marks = list.iter().flat_map(|row| &row.marks);
        if marks.any(|mark| mark.series == at) {
            legend.push((Swatch::Mark(at), words.to_owned()));
        }
    }
    let svg = rows(&Rows {
        about: "Changes with their intervals".to_owned(),
        title: "change, %".to_owned(),
        neutral: Some(0.0),
        limits: Some(DRAWN_PERCENT),
        rows: list,
    });
    figure(
        "Change",
        "per cent of before, with 95 % confidence intervals; the line is no change",
        &svg,
        &legend,
    )
}

fn name(metric: &Compared) -> String {
    let title = Metric::named(&metric.metric).heading();
    match metric.at.as_str() {
        "" => title,
        at => format!("{title}: {at}"),
    }
}

/// Formats a value with its sign, and one digit after the point.
fn signed(value: f64, unit: &str) -> String {
    let digits = if value.abs() < 9.95 { 1 } else { 0 };
    format!("{value:+.digits$}{unit}").replace('-', "−")
}

/// Returns the change with its interval in words.
fn change_words(metric: &Compared) -> String {
    if let Some((value, interval)) = percent(metric) {
        let interval = interval.map_or(String::new(), |(low, high)| {
            format!(" ({} to {})", signed(low, ""), signed(high, ""))
        });
        return format!("{}{interval}", signed(value, " %"));
    }
    let known = Metric::named(&metric.metric);
    if !metric.change.value.is_finite() {
        return "–".to_owned();
    }
    let plus = if metric.change.value > 0.0 { "+" } else { "" };
    format!("{plus}{}", known.estimate(&metric.change))
}

/// Returns the table of all figures.
fn figures(metrics: &[&Compared], before: &str, after: &str) -> String {
    let figure = |metric: &Metric, estimate: &Estimate| words(&metric.estimate(estimate), 40);
    let rows: String = metrics
        .iter()
        .take(ROWS_MAX)
        .map(|compared| {
            let metric = Metric::named(&compared.metric);
            let (class, verdict) = match (compared.verdict, is_better(compared)) {
                (Verdict::NotShown, _) => ("l", "no change shown"),
                (Verdict::Higher, Some(true)) => ("l good", "▲ higher, better"),
                (Verdict::Higher, Some(false)) => ("l bad", "▲ higher, worse"),
                (Verdict::Higher, None) => ("l", "▲ higher"),
                (Verdict::Lower, Some(true)) => ("l good", "▼ lower, better"),
                (Verdict::Lower, Some(false)) => ("l bad", "▼ lower, worse"),
                (Verdict::Lower, None) => ("l", "▼ lower"),
            };
            format!(
                "<tr><td class=\"l\">{}</td><td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{verdict}</td><td>{}</td></tr>",
                words(&compared.at, 80),
                words(&metric.heading(), 60),
                figure(&metric, &compared.before),
                figure(&metric, &compared.after),
                words(&change_words(compared), 60),
                words(&chance(compared.p), 12),
                words(&seen_from(compared, &metric), 40)
            )
        })
        .collect();
    let head = format!(
        "<th class=\"l\">Point</th><th class=\"l\">Metric</th><th>{}</th><th>{}</th><th>Change</th><th>p, all metrics</th>\
         <th class=\"l\">Verdict</th><th>Would be seen from</th>",
        words(before, 40),
        words(after, 40)
    );
    table(&head, &rows)
}

/// Formats a chance. It never shows as zero.
fn chance(p: f64) -> String {
    match p {
        p if !p.is_finite() => "–".to_owned(),
        p if p < 0.0001 => "< 0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

/// Returns the smallest change that the test would have found most of the time.
fn seen_from(compared: &Compared, metric: &Metric) -> String {
    match compared.seen_from.filter(|size| size.is_finite()) {
        None => "–".to_owned(),
        Some(_) if compared.sees_too_little() => "more than tenfold".to_owned(),
        Some(ratio) if compared.scale == Scale::Ratio => {
            format!("{} %", number((ratio - 1.0).abs() * 100.0))
        }
        Some(difference) => metric.with_unit(difference),
    }
}
