//! Pages and files of reports: ordinary ones, empty ones, hostile ones.

use super::synthetic::{Dice, Shape, point, report, stretch};
use super::*;
use crate::results::{
    Estimate, Fault, Finding, Point, Report, Scenario, Second, Stretch, Trial, WorkResult,
};
use crate::stats::{Compared, Comparison, LeftOut, Method, Scale, Side, Test, Verdict};

/// Checks that a page opens everywhere and makes no request.
fn check_page(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    let body = page.split("</style>").nth(1).unwrap_or_default();
    for forbidden in [
        "http://",
        "https://",
        "url(",
        "@import",
        "<link rel=\"style",
        "src=",
        "NaN",
        "inf\"",
        "infinity",
    ] {
        assert!(!body.contains(forbidden), "{forbidden}");
    }
    for element in [
        "svg", "figure", "table", "section", "details", "div", "ul", "li", "p", "tr", "td", "main",
    ] {
        let opened = page.matches(&format!("<{element} ")).count()
            + page.matches(&format!("<{element}>")).count();
        let closed = page.matches(&format!("</{element}>")).count();
        assert_eq!(opened, closed, "{element}");
    }
}

#[test]
fn a_page_stands_alone_and_stays_small() {
    let report = report();
    let page = html(&report);
    check_page(&page);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    for words in [
        "Corda Enterprise 4.5",
        "audit failed",
        "lab.short_window",
        "AMD EPYC 9B14",
        "node.busy",
        "seed 7",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // A failed audit is no tick, and neither is a warning.
    assert_eq!(page.matches("<span class=\"badge warn\">✓").count(), 0);
    assert_eq!(page.matches("<span class=\"badge bad\">✓").count(), 0);
    // Writes the page to a folder if the environment names one.
    if let Some(folder) = std::env::var_os("TALLY_REPORT_PAGES") {
        write(&report, folder.as_ref()).expect("the folder can be written");
    }
}

/// Returns the positions of some texts in the first scenario of a page, each after the one before.
fn in_order(page: &str, texts: &[&str]) {
    let section = page.split("<section").nth(1).expect("a scenario");
    let mut from = 0;
    for text in texts {
        let found = section[from..].find(text);
        from += found.unwrap_or_else(|| panic!("{text} is missing, or comes too early"));
    }
}

#[test]
fn a_scenario_begins_with_what_matters_and_ends_with_raw_figures() {
    in_order(
        &html(&report()),
        &[
            "<p class=\"opening\"><b>Question:</b> How many units are completed a second?",
            "<b>Answer:</b>",
            "<b>Bottleneck:</b>",
            "<b>Confidence:</b>",
            "Published elsewhere",
            "Conditions</h3>",
            "Hardware of Corda Enterprise 4.0",
            "<h3>Limits at the headline figure</h3>",
            "<h3>Cost of a unit</h3>",
            "<b>all nodes</b>",
            "<h3>Over time</h3>",
            "<h3>Everything in figures</h3>",
            "<summary>The nodes' own metrics",
            "tally_flows_in_flight",
            "The exact scenario",
        ],
    );
    let page = html(&report());
    let above = page.split("<h3>Everything in figures</h3>").next();
    let raw = above.map(|above| above.contains("tally_"));
    assert_eq!(raw, Some(false), "raw metrics come last");
}

/// Returns a report of one stretch with this many samples, all units completed.
fn sampled(samples: u64) -> Report {
    let mut report = of(vec![Stretch {
        seconds: 2.0,
        due: samples,
        done: samples,
        latencies: crate::results::Histogram {
            buckets: [(1_000, samples - 1), (90_000, 1)].into(),
        },
        ..Stretch::default()
    }]);
    let point = &mut report.scenarios[0].points[0];
    // As an older program summarised it: with every percentile.
    let metrics = [
        "rate_per_s",
        "p50_ms",
        "p90_ms",
        "p95_ms",
        "p99_ms",
        "error_share",
    ];
    point.summary.metrics = metrics
        .map(|name| {
            let value = if name == "error_share" { 0.0 } else { 7.0 };
            let estimate = Estimate {
                value,
                ..Estimate::default()
            };
            (name.to_owned(), estimate)
        })
        .into();
    report
}

#[test]
fn percentiles_need_samples_on_the_page_and_in_every_file() {
    for (samples, shown, hidden) in [
        (32, &["p50_ms"][..], &["p90_ms", "p95_ms", "p99_ms"][..]),
        (200, &["p50_ms", "p90_ms", "p95_ms"], &["p99_ms"]),
        (1_000, &["p50_ms", "p90_ms", "p95_ms", "p99_ms"], &[]),
    ] {
        let report = sampled(samples);
        let page = html(&report);
        check_page(&page);
        let words = too_few_samples(samples);
        assert_eq!(page.contains(&words), !hidden.is_empty(), "{words}");
        let again = parse(json(&report).expect("it is written").as_bytes()).expect("it is read");
        let metrics = &again.scenarios[0].points[0].summary.metrics;
        let table = csv::metrics(&report);
        for (names, is_there) in [(shown, true), (hidden, false)] {
            for name in names {
                assert_eq!(metrics.contains_key(*name), is_there, "{samples} {name}");
                assert_eq!(table.contains(name), is_there, "{samples} {name}");
            }
        }
    }
}

#[test]
fn columns_and_tiles_of_zeros_are_left_out() {
    let mut report = sampled(1_000);
    let absent = [
        "Failed</th>",
        "Dropped</th>",
        "Late</th>",
        "Agents</th>",
        "Errors",
    ];
    let page = html(&report);
    for heading in absent {
        assert!(!page.contains(heading), "{heading}");
    }
    let point = &mut report.scenarios[0].points[0];
    let errors = point.summary.metrics.get_mut("error_share").expect("there");
    errors.value = 0.25;
    let stretch = &mut point.stretches[0];
    (stretch.dropped, stretch.late) = (4, 5);
    stretch.faults = vec![Fault {
        code: "node.busy".into(),
        count: 250,
        message: "busy".into(),
    }];
    (stretch.generator.agents, stretch.generator.agents_lost) = (3, 1);
    let page = html(&report);
    for heading in absent {
        assert!(page.contains(heading), "{heading}");
    }
    assert!(page.contains("<td>3, 1 lost</td>") && page.contains("<td class=\"bad\">250</td>"));
}

#[test]
fn a_value_beside_a_mark_is_not_drawn_like_a_deviation() {
    // One class of a text must not be a class of a shape, or the text takes its opacity.
    let style = include_str!("html/style.css");
    let page = html(&report());
    let of_texts: std::collections::BTreeSet<&str> = page
        .match_indices("class=\"t ")
        .filter_map(|(at, found)| page[at + found.len()..].split('"').next())
        .flat_map(str::split_whitespace)
        .collect();
    assert!(of_texts.contains("v"), "{of_texts:?}");
    for class in of_texts {
        assert!(!style.contains(&format!("}}.{class}{{")), "{class}");
    }
}

#[test]
fn a_figure_that_the_repeats_do_not_support_is_shown_as_its_interval() {
    for (low, high, shown, hidden) in [
        (95.0, 105.0, "<b>100</b>", "<b>95 to 105</b>"),
        (20.0, 180.0, "<b>20 to 180</b>", "<b>100</b>"),
        (-40.0, 240.0, "<b>0 to 240</b>", "<b>100</b>"),
    ] {
        let mut report = sampled(1_000);
        let metrics = &mut report.scenarios[0].points[0].summary.metrics;
        let rate = Estimate {
            value: 100.0,
            low: Some(low),
            high: Some(high),
        };
        metrics.insert("rate_per_s".to_owned(), rate);
        let page = html(&report);
        check_page(&page);
        assert!(page.contains(shown) && !page.contains(hidden), "{shown}");
        let answer = digest(&report, &report.scenarios[0]).opening.answer;
        let is_single = !answer.contains("support no single figure");
        assert_eq!(is_single, shown == "<b>100</b>", "{answer}");
    }
}

#[test]
fn the_headlines_point_is_in_the_distribution() {
    let mut report = sampled(1_000);
    let scenario = &mut report.scenarios[0];
    let point = scenario.points[0].clone();
    let at = |number: u32| crate::results::CaseResult {
        axis: "parties".to_owned(),
        name: number.to_string(),
        number: Some(f64::from(number)),
    };
    let points = (1..=12).map(|number| Point {
        at: vec![at(number)],
        ..point.clone()
    });
    scenario.points = points.collect();
    scenario.axes = vec!["parties".to_owned()];
    let page = html(&report);
    check_page(&page);
    assert!(page.contains("parties = 12 (headline)</li>"));
}

#[test]
fn a_search_has_its_latency_by_offered_load() {
    let mut report = sampled(1_000);
    let scenario = &mut report.scenarios[0];
    scenario.main_metric = "knee_per_s".to_owned();
    let point = &mut scenario.points[0];
    let knee = Estimate {
        value: 150.0,
        ..Estimate::default()
    };
    point.summary.metrics.insert("knee_per_s".to_owned(), knee);
    point.stretches[0].trials = [(100.0, 5.0), (200.0, 90.0)]
        .map(|(offered_per_s, ms)| Trial {
            offered_per_s,
            done_per_s: 99.0,
            p50_ms: Some(ms),
            ..Trial::default()
        })
        .into();
    let page = html(&report);
    check_page(&page);
    for words in [
        "Latency against offered load",
        ">knee 150/s<",
        "units due a second",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("99th percentile at"), "too few samples");
}

#[test]
fn figures_that_appear_twice_agree() {
    let mut report = report();
    let machine = report.machine.clone();
    let scenario = &mut report.scenarios[0];
    let point = &mut scenario.points[0];
    point.summary = crate::stats::summarise(&point.stretches, 0.0);
    point.distances = crate::machine::distance(point, &machine);
    let metric = |name: &str| report.scenarios[0].points[0].summary.metrics[name].value;
    let digest = digest(&report, &report.scenarios[0]);
    let cores = digest
        .limits
        .iter()
        .find(|limit| limit.what == "cores, load generator")
        .expect("it is counted");
    assert!((cores.used - metric("generator_cpu_cores")).abs() < 1e-12);
    let ceiling = digest
        .limits
        .iter()
        .find(|limit| limit.what.contains("deciding thread"));
    let ceiling = ceiling.expect("it is counted");
    assert!((ceiling.limit / metric("ceiling_per_s") - 1.0).abs() < 1e-12);
    assert!((ceiling.used / metric("rate_per_s") - 1.0).abs() < 1e-12);
    let total = digest.costs.total.expect("nodes");
    assert_eq!(
        total.core_s_per_unit,
        Some(metric("cpu_us_per_unit") * 1e-6)
    );
    // The page shows the same texts as the digest, and the digest is that of the JSON.
    let page = html(&report);
    assert!(page.contains(&format!("<b>Set-up:</b> {}", digest.opening.set_up)));
    let text = json(&report).expect("it is written");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let written = serde_json::to_value(&digest).expect("JSON");
    assert_eq!(value["digests"][0]["opening"], written["opening"]);
    assert_eq!(value["digests"][0]["conditions"], written["conditions"]);
}

#[test]
fn hostile_text_stays_text() {
    let evil = "<script>alert('x')</script>\"'&\u{202e}\u{0}`--><svg onload=x>";
    let mut report = report();
    report.title = evil.into();
    report.version = evil.into();
    report.machine.processor = evil.into();
    report.machine.system = evil.into();
    for scenario in &mut report.scenarios {
        scenario.name = evil.into();
        scenario.title = evil.into();
        scenario.about = evil.into();
        scenario.source = evil.into();
        scenario.failure = Some(evil.into());
        scenario
            .axes
            .iter_mut()
            .for_each(|axis| *axis = evil.into());
        for finding in &mut scenario.findings {
            (finding.code, finding.message) = (evil.into(), evil.into());
        }
        for line in &mut scenario.published {
            (line.label, line.source) = (evil.into(), evil.into());
            let conditions = line.conditions.values_mut();
            conditions.for_each(|condition| *condition = evil.into());
        }
        for point in &mut scenario.points {
            let metrics = &mut point.summary.metrics;
            metrics.insert(
                evil.into(),
                Estimate {
                    value: 1.0,
                    ..Estimate::default()
                },
            );
            for case in &mut point.at {
                (case.axis, case.name) = (evil.into(), format!("{evil}{}", case.name));
            }
            for audit in &mut point.audits {
                audit.words = evil.into();
            }
            for stretch in &mut point.stretches {
                for fault in &mut stretch.faults {
                    (fault.code, fault.message) = (evil.into(), evil.into());
                }
                for process in &mut stretch.processes {
                    process.name = format!("{evil}{}", process.name);
                }
                for series in &mut stretch.metrics {
                    (series.node, series.name) = (evil.into(), evil.into());
                }
            }
        }
    }
    let page = html(&report);
    check_page(&page);
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(!page.contains("<svg onload") && !page.contains('\u{202e}') && !page.contains('\u{0}'));
    let again = parse(json(&report).expect("it is written").as_bytes()).expect("it is read");
    assert_eq!(again.title, evil);
}

/// Returns a report with one scenario of one point.
fn of(stretches: Vec<Stretch>) -> Report {
    Report {
        scenarios: vec![Scenario {
            points: vec![Point {
                stretches,
                ..Point::default()
            }],
            ..Scenario::default()
        }],
        ..Report::default()
    }
}

#[test]
fn anything_that_a_report_may_hold_has_a_page() {
    let mut dice = Dice::new(3);
    let shape = Shape {
        rate: 100.0,
        p50_ms: 5.0,
        seconds: 1,
        banks: 1,
        failing: 0.0,
    };
    let one = stretch(&mut dice, shape, 0);
    let mut odd = one.clone();
    odd.seconds = f64::NAN;
    odd.generator.cpu_cores = f64::INFINITY;
    odd.series = vec![
        Second {
            at_ms: u64::MAX,
            done: u64::MAX,
            failed: u64::MAX,
            p50_ms: f64::NAN,
            p99_ms: 1e300,
            outstanding: u64::MAX,
        },
        Second {
            at_ms: 0,
            p50_ms: -1.0,
            done: 1,
            ..Second::default()
        },
    ];
    odd.tried = vec![(f64::NAN, true), (1e300, false)];
    odd.metrics[0].values = vec![
        (5, f64::NAN),
        (6, f64::INFINITY),
        (u64::MAX, 1e308),
        (3, -1e308),
    ];
    odd.processes[0].samples.reverse();
    odd.latencies.buckets = [(u64::MAX, u64::MAX), (1, 1)].into();
    let mut wild = of(vec![odd.clone(), one.clone()]);
    let metrics = &mut wild.scenarios[0].points[0].summary.metrics;
    for (at, value) in [f64::NAN, f64::INFINITY, 1e300, -5.0, 0.0, 1e-300]
        .into_iter()
        .enumerate()
    {
        let (low, high) = (Some(f64::NEG_INFINITY), Some(f64::NAN));
        metrics.insert(format!("m{at}"), Estimate { value, low, high });
    }
    metrics.insert(
        "rate_per_s".into(),
        Estimate {
            value: f64::NAN,
            low: None,
            high: None,
        },
    );
    let mut one_sample = of(vec![one.clone()]);
    one_sample.scenarios[0].points[0].stretches[0]
        .latencies
        .buckets = [(1500, 1)].into();
    for report in [
        Report::default(),
        of(vec![]),
        of(vec![Stretch::default()]),
        of(vec![one]),
        one_sample,
        wild,
    ] {
        check_page(&html(&report));
        let text = json(&report).expect("it is written");
        let again = parse(text.as_bytes()).expect("it is read");
        assert!(json(&again).expect("again") == text);
        for table in [
            csv::metrics(&report),
            csv::series(&report),
            csv::processes(&report),
        ] {
            assert!(!table.contains("NaN") && !table.contains("inf"), "{table}");
        }
    }
}

#[test]
fn a_day_of_seconds_stays_a_page() {
    let mut dice = Dice::new(5);
    let shape = Shape {
        rate: 900.0,
        p50_ms: 9.0,
        seconds: 100_000,
        banks: 2,
        failing: 0.0,
    };
    let mut clock = 0;
    let mut report = of(vec![]);
    report.scenarios[0].points = vec![point(&mut dice, &[], shape, 1, &mut clock)];
    report.scenarios[0].points[0].stretches[0].series[77_777].done = 123_456;
    let page = html(&report);
    check_page(&page);
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn pages_of_many_stretches_stay_small() {
    for (points, repeats, seconds, banks, most) in [
        (12, 3, 3, 11, 255_000),
        (8, 2, 2, 11, 165_000),
        (1, 1, 3_600, 11, 155_000),
        (60, 20, 5, 3, 1_500_000),
        (2, 1_000, 2, 3, 300_000),
    ] {
        let mut dice = Dice::new(9);
        let shape = Shape {
            rate: 900.0,
            p50_ms: 9.0,
            seconds,
            banks,
            failing: 0.01,
        };
        let mut clock = 0;
        let mut report = of(vec![]);
        let scenario = &mut report.scenarios[0];
        scenario.axes = vec!["variant".into()];
        scenario.points = (0..points)
            .map(|at| {
                let name = format!("variant {at}, with a name of some length");
                point(
                    &mut dice,
                    &[("variant", &name, None)],
                    shape,
                    repeats,
                    &mut clock,
                )
            })
            .collect();
        let page = html(&report);
        check_page(&page);
        let size = page.len();
        assert!(size < most, "{points} points of {repeats}: {size} bytes");
        // Nothing of it is lost: the page alone is thinned.
        let text = json(&report).expect("it is written");
        let again = parse(text.as_bytes()).expect("it is read");
        let looks = |report: &Report| {
            let points = report.scenarios[0].points.iter();
            let stretches = points.flat_map(|point| &point.stretches);
            stretches
                .map(|stretch| stretch.series.len() + stretch.processes.len())
                .sum::<usize>()
        };
        assert_eq!(looks(&again), looks(&report));
    }
}

#[test]
fn json_is_read_back_and_nothing_else_is() {
    let report = report();
    let text = json(&report).expect("it is written");
    assert!(parse(text.as_bytes()).expect("it is read") == report);
    let newer = text.replacen("\"schema\":1", "\"schema\":2", 1);
    let old = text.replacen("\"schema\":1", "\"schema\":0", 1);
    for (text, code) in [
        (newer.as_str(), "lab.report_newer"),
        ("{\"schema\":99999999999,\"what\":[]}", "lab.report_newer"),
        (old.as_str(), "lab.report_unreadable"),
        ("", "lab.report_unreadable"),
        ("null", "lab.report_unreadable"),
        ("{}", "lab.report_unreadable"),
        ("{\"schema\":1}", "lab.report_unreadable"),
        ("{\"schema\":-1}", "lab.report_unreadable"),
        (&text[..text.len() / 2], "lab.report_unreadable"),
        (&"[".repeat(100_000), "lab.report_unreadable"),
    ] {
        let error = parse(text.as_bytes()).expect_err("it is no report");
        assert_eq!(error.code(), code);
    }
    let missing = read(std::path::Path::new("no/such/report.json")).expect_err("it is not there");
    assert_eq!(missing.code(), "lab.report_unreadable");
}

#[test]
fn a_reports_files_are_written_together_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = report();
    let inside = folder.path().join("deep/run");
    let files = write(&report, &inside).expect("it is written");
    let names: Vec<_> = files
        .iter()
        .filter_map(|file| file.file_name()?.to_str())
        .collect();
    assert_eq!(
        names,
        [
            "report.html",
            "report.json",
            "report.csv",
            "series.csv",
            "processes.csv"
        ]
    );
    assert_eq!(std::fs::read_dir(&inside).expect("readable").count(), 5);
    assert!(read(&inside).expect("read from the folder") == report);
    // A folder where a file should be stops it: nothing is replaced, nothing is left over.
    let before = std::fs::read(inside.join("report.html")).expect("there");
    let blocked = [
        ("report.html", "new".to_owned()),
        ("no/where", String::new()),
    ];
    let error = files::write_files(&inside, &blocked).expect_err("it cannot be written");
    assert_eq!(error.code(), "lab.report_unwritten");
    assert_eq!(
        std::fs::read(inside.join("report.html")).expect("there"),
        before
    );
    assert_eq!(std::fs::read_dir(&inside).expect("readable").count(), 5);
}

#[test]
fn csv_is_what_spreadsheets_read() {
    let mut dice = Dice::new(1);
    let mut clock = 1000;
    let shape = Shape {
        rate: 10.0,
        p50_ms: 4.0,
        seconds: 2,
        banks: 1,
        failing: 0.0,
    };
    let mut report = of(vec![]);
    let scenario = &mut report.scenarios[0];
    scenario.name = "=cmd|' /C calc'!A0".into();
    scenario.axes = vec!["parties".into()];
    scenario.points = vec![point(
        &mut dice,
        &[("parties", "a \"b\", c", None)],
        shape,
        2,
        &mut clock,
    )];
    let estimates = [
        ("p50_ms", 4.25, Some(4.0)),
        ("rate_per_s", 10.5, None),
        ("error_share", 0.001, None),
    ];
    scenario.points[0].summary.metrics = estimates
        .into_iter()
        .map(|(name, value, low)| {
            (
                name.to_owned(),
                Estimate {
                    value,
                    low,
                    high: low.map(|_| 4.5),
                },
            )
        })
        .collect();
    assert_eq!(
        csv::metrics(&report),
        "scenario,point,axis_1,case_1,metric,unit,value,low_95,high_95,repeats\n\
         '=cmd|' /C calc'!A0,1,parties,\"a \"\"b\"\", c\",rate_per_s,per s,10.5,,,2\n\
         '=cmd|' /C calc'!A0,1,parties,\"a \"\"b\"\", c\",p50_ms,ms,4.25,4,4.5,2\n\
         '=cmd|' /C calc'!A0,1,parties,\"a \"\"b\"\", c\",error_share,share,0.001,,,2\n"
    );
    let series = csv::series(&report);
    assert_eq!(series.lines().count(), 1 + 2 * 2);
    let columns = |text: &str| {
        text.lines()
            .next()
            .map_or(0, |head| head.split(',').count())
    };
    assert_eq!(
        (columns(&series), columns(&csv::processes(&report))),
        (10, 18)
    );
}

#[test]
fn every_code_is_in_the_catalogue() {
    let listed: Vec<&str> = ERRORS.iter().map(|info| info.code).collect();
    assert!(listed.is_sorted());
    let io = || std::io::Error::other("why");
    for error in [
        ReportError::Newer { found: 2, known: 1 },
        ReportError::Unreadable(String::new()),
        ReportError::TooLarge { found: 2, max: 1 },
        ReportError::Read {
            path: String::new(),
            source: io(),
        },
        ReportError::Write {
            path: String::new(),
            source: io(),
        },
    ] {
        assert!(listed.contains(&error.code()));
    }
}

/// Returns a comparison with one of every kind of result.
fn comparison(evil: &str) -> Comparison {
    let estimate = |value: f64, margin: f64| Estimate {
        value,
        low: Some(value - margin),
        high: Some(value + margin),
    };
    let compared =
        |metric: &str, at: &str, before: f64, ratio: f64, margin: f64, verdict: Verdict| Compared {
            at: at.to_owned(),
            side: 1,
            metric: metric.to_owned(),
            before: estimate(before, before * 0.01),
            after: estimate(before * ratio, before * 0.01),
            scale: Scale::Ratio,
            change: estimate(ratio, margin),
            p: if verdict == Verdict::NotShown {
                0.41
            } else {
                0.00001
            },
            verdict,
            seen_from: Some(1.032),
        };
    let mut errors = compared("error_share", "parties 4", 0.0, 1.0, 0.0, Verdict::NotShown);
    (errors.scale, errors.change, errors.seen_from) =
        (Scale::Difference, estimate(0.0004, 0.0006), None);
    let mut odd = compared(
        evil,
        evil,
        f64::NAN,
        f64::INFINITY,
        f64::NAN,
        Verdict::Higher,
    );
    (odd.p, odd.seen_from) = (f64::NAN, Some(f64::INFINITY));
    Comparison {
        title: format!("Compression on and off{evil}"),
        sides: ["on", "off"]
            .map(|name| Side {
                name: format!("{name}{evil}"),
                about: format!("settings.p2p.compression = {name}{evil}"),
            })
            .into(),
        test: Test {
            method: Method::PairedRandomOrder,
            count: 12,
            error_rate: 0.01,
            drawn: None,
        },
        metrics: vec![
            compared(
                "rate_per_s",
                "parties 4",
                870.0,
                1.052,
                0.011,
                Verdict::Higher,
            ),
            compared("p99_ms", "parties 4", 23.0, 1.31, 0.09, Verdict::Higher),
            compared(
                "sent_mbit_per_s",
                "parties 4",
                11.0,
                1.44,
                0.01,
                Verdict::Higher,
            ),
            compared("p50_ms", "parties 4", 9.0, 0.997, 0.012, Verdict::NotShown),
            compared(
                "cpu_us_per_unit",
                "parties 4",
                1400.0,
                1.009,
                0.021,
                Verdict::NotShown,
            ),
            errors,
            odd,
        ],
        left_out: vec![LeftOut {
            at: "parties 6".into(),
            metric: evil.into(),
            why: "it was measured on one side only".into(),
        }],
        notes: vec![format!("The load average was 3.1, says `uptime`{evil}")],
        machine: Some(report().machine),
        seed: 4,
    }
}

#[test]
fn a_comparison_says_what_changed_and_what_did_not() {
    let page = comparison_html(&comparison(""));
    check_page(&page);
    for words in [
        "<b>4 of 7 metrics changed</b>",
        "says <code>uptime</code>",
        "+5.2 %",
        "higher, worse",
        "higher, better",
        "no change shown",
        "3.20 %",
        "12 pairs",
    ] {
        assert!(page.contains(words), "{words}");
    }
    if let Some(folder) = std::env::var_os("TALLY_REPORT_PAGES") {
        let path = std::path::Path::new(&folder).join("comparison.html");
        write_file(&path, page).expect("the folder can be written");
    }
    let evil = comparison_html(&comparison("<script>\"'"));
    check_page(&evil);
    assert_eq!(evil.matches("<script>").count(), 1);
    check_page(&comparison_html(&Comparison::default()));
}

#[test]
fn the_reference_names_every_field_and_column() {
    let reference = include_str!("../../../../docs/reference/reports.md");
    let mut report = report();
    let stretch = &mut report.scenarios[0].points[0].stretches[0];
    stretch.works = vec![WorkResult::default()];
    stretch.faults = vec![Fault::default()];
    report.scenarios[1].findings = vec![Finding::default()];
    let text = json(&report).expect("it is written");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut names = std::collections::BTreeSet::new();
    fields(&value, &mut names);
    assert!(names.len() > 70, "{names:?}");
    for table in [
        csv::metrics(&report),
        csv::series(&report),
        csv::processes(&report),
        format!("{JTL_HEAD}\n"),
    ] {
        let head = table.lines().next().unwrap_or_default();
        names.extend(head.split(',').map(str::to_owned));
    }
    names.extend(units::names().map(str::to_owned));
    for name in names {
        // Further axes are named by the first.
        if !name.ends_with("_2") {
            assert!(reference.contains(&format!("`{name}`")), "{name}");
        }
    }
}

/// Names of all fields of objects that have a fixed form.
fn fields(value: &serde_json::Value, names: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| fields(item, names)),
        serde_json::Value::Object(items) => {
            for (name, item) in items {
                names.insert(name.clone());
                match name.as_str() {
                    // By bucket, and by case.
                    "latencies" | "values" => {}
                    "metrics" if item.is_object() => {
                        let estimates = item.as_object().into_iter().flatten();
                        estimates.for_each(|(_, estimate)| fields(estimate, names));
                    }
                    _ => fields(item, names),
                }
            }
        }
        _ => {}
    }
}
