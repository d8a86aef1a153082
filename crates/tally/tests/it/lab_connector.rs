//! Other systems behind connectors: the shipped one for PostgreSQL, and scripts that are honest or not.

use std::fs;

use perf::plan::{self, NoChecks, Plan};
use perf::results::Scenario;

use crate::lab_run::options;

fn plan(text: &str) -> Plan {
    let parsed = plan::parse(
        "x",
        "x",
        text.as_bytes(),
        &plan::Options::default(),
        &NoChecks,
    );
    parsed.unwrap_or_else(|error| panic!("{error}"))
}

async fn run(text: &str) -> Scenario {
    let quiet: perf::run::Events = std::sync::Arc::new(|_| {});
    let mut report = perf::run::run(&[plan(text)], &options(), &quiet).await;
    report.scenarios.remove(0)
}

#[tokio::test]
async fn plain_postgresql_is_measured_and_audited_like_a_network() {
    let scenario = run(r#"
        [network.target]
        connector = "postgres"
        [work]
        kind = "command"
        accounts = 50
        [load]
        outstanding = 16
        [run]
        warm_up_s = 0.1
        seconds = 0.5
        repeats = 2
        [[sweep]]
        label = "connections"
        set = "work.connections"
        values = [2, 8]
        [monitors]
        every_ms = 100
        machine = false
    "#)
    .await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{scenario:#?}");
    for point in &scenario.points {
        // The tables are made anew for other knobs, so each point has an audit of its own.
        assert_eq!(point.audits.len(), 1, "{:?}", point.audits);
        let done: u64 = point.stretches.iter().map(|stretch| stretch.done).sum();
        // Warm-ups are not counted as done, but are there.
        assert!(done > 0 && point.audits[0].transactions >= done);
        // The processes that serve the connections count.
        assert!(point.summary.metrics["cpu_us_per_unit"].value > 0.0);
        for stretch in &point.stretches {
            assert!(stretch.faults.is_empty(), "{:?}", stretch.faults);
            let mut names: Vec<&str> = stretch.processes.iter().map(|p| p.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, ["connector", "generator", "postgres"]);
            let commits = |series: &&perf::results::MetricSeries| series.name == "pg_commits";
            assert!(stretch.metrics.iter().any(|series| commits(&series)));
        }
    }
}

/// A connector that answers everything with `{}`, and says `recorded` in its audit.
fn script(recorded: &str) -> String {
    format!(
        r#"echo '{{"protocol":1,"name":"a script"}}'
while read -r line; do
  id=${{line#*:}}; id=${{id%%,*}}
  case $line in
    *'"do":"audit"'*) n=${{line#*acknowledged\":}}; n=${{n%%,*}}; echo "{{\"id\":$id,\"ok\":{{\"recorded\":{recorded}}}}}";;
    *) echo "{{\"id\":$id,\"ok\":{{}}}}";;
  esac
done
"#
    )
}

#[tokio::test]
async fn audits_count_units_and_an_ended_connector_fails_the_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text, good, code) in [
        ("honest", script("$n"), true, None),
        ("forgets one", script("$((n - 1))"), false, None),
        (
            "ends in the middle",
            script("$n").replace("do\n", "do\n  k=$((k + 1)); [ $k -gt 40 ] && exit\n"),
            false,
            Some("lab.connector_ended"),
        ),
    ] {
        let path = folder.path().join("connector.sh");
        fs::write(&path, text).expect("written");
        let scenario = run(&format!(
            "[network.target]\ncommand = ['sh', '{}']\n[work]\nkind = 'command'\n[load]\noutstanding = 4\n\
             [run]\nwarm_up_s = 0\nseconds = 0.3\nrepeats = 1\n[monitors]\nmachine = false\n",
            path.display()
        ))
        .await;
        assert_eq!(scenario.is_good(), good, "{name}: {scenario:#?}");
        let failure = scenario.failure.clone().unwrap_or_default();
        assert!(
            failure.starts_with(code.unwrap_or_default()),
            "{name}: {failure}"
        );
        assert_eq!(failure.is_empty(), code.is_none(), "{name}: {failure}");
    }
}
