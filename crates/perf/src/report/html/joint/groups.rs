//! Which scenarios share charts.

use std::collections::BTreeSet;

use super::group::Group;
use super::lines;
use crate::plan::{NoChecks, Options, PointPlan, is_same_work, parse};
use crate::report::headline::{is_numeric, main_metric};
use crate::results::{Report, Scenario};

/// A scenario with the plans of its points.
struct Planned<'a> {
    scenario: &'a Scenario,
    /// The last names of the settings that the first axis varies, such as `cores`.
    varied: BTreeSet<String>,
    points: Vec<PointPlan>,
}

impl<'a> Planned<'a> {
    /// Reads the plans; `None` if the scenario has no curve, or its source cannot be read.
    fn of(scenario: &'a Scenario) -> Option<Self> {
        let is_curve = !scenario.axes.is_empty() && scenario.points.len() > 1;
        if !is_curve || !scenario.is_good() || !is_numeric(scenario) {
            return None;
        }
        let source = scenario.source.as_bytes();
        let plan = parse(
            &scenario.name,
            "report",
            source,
            &Options::default(),
            &NoChecks,
        );
        let plan = plan.ok()?;
        let settings = plan.sweep.first()?.cases.iter();
        let settings = settings.flat_map(|case| case.set.keys());
        let last = |name: &String| name.rsplit('.').next().unwrap_or(name).to_owned();
        Some(Self {
            scenario,
            varied: settings.map(last).collect(),
            points: plan.points().ok()?,
        })
    }

    /// Returns whether the curves of both can share axes.
    fn fits(&self, other: &Self) -> bool {
        let (one, two) = (self.scenario, other.scenario);
        let is_same_axis = one.axes == two.axes && self.varied == other.varied;
        is_same_axis && main_metric(one) == main_metric(two) && self.does_same_work(other)
    }

    /// Returns whether points with the same further cases do the same work in both.
    fn does_same_work(&self, other: &Self) -> bool {
        let further = |point: &PointPlan| point.at.get(1..).unwrap_or_default().to_vec();
        self.points.iter().all(|one| {
            let alike = other.points.iter();
            let mut alike = alike.filter(|two| lines::same_names(&further(one), &further(two)));
            alike.all(|two| is_same_work(&one.plan, &two.plan))
        })
    }
}

/// Returns the groups of at least two scenarios. A scenario that failed is in none, since its figures are not valid. One with other
/// work, or with another varied setting, has its own section alone.
pub fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Vec<Planned<'_>>> = Vec::new();
    for planned in report.scenarios.iter().filter_map(Planned::of) {
        let fits = |group: &&mut Vec<Planned<'_>>| group.iter().all(|one| one.fits(&planned));
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(planned),
            None => groups.push(vec![planned]),
        }
    }
    groups.retain(|group| group.len() > 1);
    let groups = groups.into_iter().map(|group| Group {
        scenarios: group.into_iter().map(|one| one.scenario).collect(),
    });
    groups.collect()
}
