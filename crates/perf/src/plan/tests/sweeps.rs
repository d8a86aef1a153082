//! Sweeps and their points.

use toml::Value;

use super::{SWAP, good, read};
use crate::plan::{Load, Shape};

#[test]
fn a_sweep_is_every_combination_and_the_last_axis_is_fastest() {
    let plan = good(SWAP);
    let points = plan.points().expect("points");
    let names: Vec<String> = points
        .iter()
        .map(|point| format!("{} {}", point.at[0].name, point.at[1].name))
        .collect();
    assert_eq!(names, ["4 slow", "4 fast", "6 slow", "6 fast"]);
    assert_eq!(points[2].at[0].number, Some(6.0));
    assert_eq!(points[2].at[1].number, None);
    let last = &points[2].plan;
    assert_eq!(last.work[0].knobs["parties"], Value::Integer(6));
    assert_eq!(last.work[0].knobs["sessions"], Value::from("sequential"));
    assert!(!points[3].plan.work[0].knobs.contains_key("sessions"));
    assert!(last.sweep.is_empty());
    assert_eq!(last.network, plan.network);
    assert_eq!(last.main_metric, plan.main_metric);
}

#[test]
fn without_a_sweep_the_scenario_is_its_only_point() {
    let plan = good("[work]\nkind = 'swap'");
    let points = plan.points().expect("points");
    assert_eq!(points.len(), 1);
    assert!(points[0].at.is_empty());
    assert_eq!(points[0].plan, plan);
}

#[test]
fn a_case_can_change_the_load_altogether() {
    let plan = good(
        "[work]\nkind = 'swap'\n[load]\noutstanding = 4\nthink_ms = 3\n[[sweep]]\nlabel = 'load'\n\
         [[sweep.case]]\nname = 'closed'\n[[sweep.case]]\nname = 'open'\nset.load.rate = 50\n\
         [[sweep.case]]\nname = 'steps'\nset.load.steps = [{ per_s = 1, seconds = 2 }, { per_s = 3, seconds = 4.5 }]\n\
         [[sweep.case]]\nname = 'knee'\nset.load.knee = { from_per_s = 1, to_per_s = 9, latency_ms = 5 }",
    );
    let points = plan.points().expect("points");
    assert_eq!(points[0].plan.load, plan.load);
    let Load::Open(open) = &points[1].plan.load else {
        panic!("{:?}", points[1].plan.load);
    };
    assert_eq!(open.shape, Shape::Constant(50.0));
    assert_eq!(points[2].plan.run.seconds, 6.5);
    assert!(matches!(points[3].plan.load, Load::Knee(_)));
    // The main metric belongs to the scenario, not to a point.
    assert_eq!(points[3].plan.main_metric, "rate_per_s");
}

#[test]
fn a_case_counts_before_settings_of_all_nodes_and_of_one() {
    let plan = good(
        "[work]\nkind = 'swap'\n[network]\nbanks = 11\nsettings.store.linger_us = 1\nnodes.bank-1.settings.store.linger_us = 2\n\
         [[sweep]]\nlabel = 'linger'\n[[sweep.case]]\nname = 'as it is'\n\
         [[sweep.case]]\nname = 'other'\nset.network.settings.store.linger_us = 3\n\
         set.network.nodes.bank-1.settings.store.linger_us = 4",
    );
    let points = plan.points().expect("points");
    for (point, all, one) in [(0, 1, 2), (1, 3, 4)] {
        let network = &points[point].plan.network;
        let linger = |settings: &std::collections::BTreeMap<String, Value>| {
            settings["store.linger_us"].as_integer()
        };
        assert_eq!(linger(&network.settings), Some(all));
        assert_eq!(linger(&network.nodes["bank-1"].settings), Some(one));
    }
}

#[test]
fn an_axis_is_numeric_as_a_whole_or_not_at_all() {
    for (values, numbers) in [
        ("[1, 2.5]", vec![Some(1.0), Some(2.5)]),
        ("['4', '6']", vec![Some(4.0), Some(6.0)]),
        ("[1, 'two']", vec![None, None]),
        ("[true, false]", vec![None, None]),
        ("['inf', 'nan']", vec![None, None]),
    ] {
        let text =
            format!("[work]\nkind = 'swap'\n[[sweep]]\nset = 'work.depth'\nvalues = {values}");
        let plan = good(&text);
        let found: Vec<Option<f64>> = plan.sweep[0].cases.iter().map(|c| c.number).collect();
        assert_eq!(found, numbers, "{values}");
        assert_eq!(plan.sweep[0].label, "depth");
    }
}

#[test]
fn a_bad_case_is_told_before_anything_runs_at_its_own_line() {
    let error = read(&SWAP.replace("[4, 6]", "[4, 16]"), false, &[]).expect_err("16 parties");
    assert!(error.starts_with("test.toml:20:14"), "{error}");
    assert!(error.contains("16 parties of 11"), "{error}");
    assert!(error.contains("at parties = 16, variant = slow"), "{error}");
    let error = read(
        &SWAP.replace("work.sessions =", "work.sesions ="),
        false,
        &[],
    )
    .expect_err("a typo");
    assert!(error.starts_with("test.toml:25:20"), "{error}");
    assert!(error.contains("did you mean `sessions`?"), "{error}");
}

#[test]
fn what_a_flag_is_set_to_is_called_on_or_off() {
    for (sweep, only, names) in [
        ("set = 'run.fresh'\nvalues = [true, false]", "", "on off"),
        (
            "set = 'run.fresh'\nvalues = [true, false]",
            "[false]",
            "off",
        ),
        ("set = 'run.fresh'\nvalues = [true, false]", "['on']", "on"),
        ("set = 'run.fresh'\nvalues = [true, false]", "true", "on"),
        (
            "[[sweep.case]]\nname = 'false'\n[[sweep.case]]\nname = 'both'",
            "",
            "off both",
        ),
    ] {
        let text = format!(
            "[work]\nkind = 'swap'\n[[sweep]]\nlabel = 'x'\n{sweep}\n[[published]]\nlabel = 'a'\nsource = 'b'\nvalues = {{ true = 1, off = 2 }}"
        );
        let set = format!("sweep.x.only={only}");
        let set: &[&str] = if only.is_empty() { &[] } else { &[&set] };
        let plan = read(&text, false, set).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
        let found: Vec<&str> = plan.sweep[0]
            .cases
            .iter()
            .map(|case| case.name.as_str())
            .collect();
        assert_eq!(found.join(" "), names, "{text}");
        let figures: Vec<&str> = plan.published[0]
            .values
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(figures, ["off", "on"]);
        assert_eq!(good(&plan.to_toml()).sweep, plan.sweep);
    }
    let twice = "[work]\nkind = 'swap'\n[[published]]\nlabel = 'a'\nsource = 'b'\nvalues = { true = 1, on = 2 }";
    let error = read(twice, false, &[]).expect_err("two figures of one case");
    assert!(error.contains("two figures"), "{error}");
}
