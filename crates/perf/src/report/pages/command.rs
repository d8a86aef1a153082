//! The command that makes a run, and whether it still makes the saved one.

use super::catalogue::Run;
use crate::plan::{NoChecks, Options, Plan, parse, shipped};
use crate::results::Scenario;

/// Returns the lines that make a run and save it.
pub fn lines(run: &Run) -> String {
    let mut command = format!("tally lab run {}", run.scenario);
    if run.full {
        command.push_str(" --full");
    }
    for set in &run.set {
        command.push_str(&format!(" --set {}", quoted(set)));
    }
    let folder = format!("run-{}", run.file);
    let name = match run.file == run.scenario {
        true => String::new(),
        false => format!(" --name {}", run.file),
    };
    format!("{command} --out {folder}\ntally lab save {folder}{name}\nmake results\n")
}

/// Returns the lines that make a run of the scenario that a saved run file holds.
pub fn lines_of_file(run: &Run) -> String {
    let file = &run.file;
    format!(
        "jq -r '.scenarios[0].source' docs/results/runs/{file}.json > {file}.toml\ntally lab run {file}.toml --out run-{file}\n"
    )
}

fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._=-/:,".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Returns the plan that the command runs, or the reason why there is none.
pub fn plan(run: &Run) -> Result<Plan, String> {
    let name = run.scenario.as_str();
    let Some(shipped) = shipped(name) else {
        return Err(format!("{name:?} is no shipped scenario"));
    };
    let options = Options {
        full: run.full,
        set: run.set.clone(),
    };
    let label = format!("{name} (shipped)");
    let plan = parse(name, &label, shipped.text.as_bytes(), &options, &NoChecks);
    plan.map_err(|error| error.to_string())
}

/// Returns whether a saved scenario does the same as a plan. Texts and published figures may differ.
pub fn is_same(plan: &Plan, saved: &Scenario) -> bool {
    let (options, source) = (Options::default(), saved.source.as_bytes());
    let Ok(mut other) = parse(&plan.name, "saved", source, &options, &NoChecks) else {
        return false;
    };
    other.name.clone_from(&plan.name);
    other.title.clone_from(&plan.title);
    other.about.clone_from(&plan.about);
    other.published.clone_from(&plan.published);
    other.to_toml() == plan.to_toml()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(set: &[&str]) -> Run {
        Run {
            file: "issue".to_owned(),
            scenario: "issue".to_owned(),
            set: set.iter().map(|set| (*set).to_owned()).collect(),
            ..Run::default()
        }
    }

    #[test]
    fn a_saved_scenario_is_that_of_the_command_unless_a_setting_differs() {
        let saved = |set: &[&str]| {
            let plan = plan(&run(set)).expect("shipped");
            Scenario {
                source: plan.to_toml().replace("Issue", "Another title"),
                ..Scenario::default()
            }
        };
        let plan = plan(&run(&["run.seconds=60"])).expect("shipped");
        for (set, expected) in [
            (&["run.seconds=60"][..], true),
            (&["run.seconds=61"], false),
            (&[], false),
        ] {
            assert_eq!(is_same(&plan, &saved(set)), expected, "{set:?}");
        }
        assert!(!is_same(&plan, &Scenario::default()));
    }

    #[test]
    fn settings_are_quoted_for_a_shell() {
        let mut run = run(&["run.seconds=60", "sweep.states.only=[1, 160]"]);
        run.full = true;
        run.file = "other".to_owned();
        assert_eq!(
            lines(&run),
            "tally lab run issue --full --set run.seconds=60 --set 'sweep.states.only=[1, 160]' --out run-other\n\
             tally lab save run-other --name other\nmake results\n"
        );
    }

    #[test]
    fn unknown_scenarios_and_settings_are_refused() {
        let mut missing = run(&[]);
        missing.scenario = "absent".to_owned();
        for run in [missing, run(&["run.secnds=1"])] {
            assert!(plan(&run).is_err(), "{run:?}");
        }
    }
}
