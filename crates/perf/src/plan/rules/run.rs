//! `[run]`.

use super::Rules;
use crate::plan::limits::EACH_UNIT_MAX;
use crate::plan::model::{FaultKind, Load, Restart};

impl Rules<'_, '_> {
    pub(super) fn run(&mut self) {
        let (plan, run) = (self.plan, &self.plan.run);
        self.each_unit();
        self.fault();
        let chain_target = plan.chain.as_ref().and_then(|chain| chain.target.as_ref());
        if plan.network.target.is_some() || chain_target.is_some() {
            let why = "would change the target, which the laboratory does not own";
            if run.restart != Restart::Needed {
                self.forbid("run", &["restart"], why);
            }
            if run.fresh {
                self.forbid("run", &["fresh"], why);
            }
            self.forbid("run", &["fault"], why);
        }
        if run.fresh && run.interleave {
            let why = "would wipe the network between turns of `interleave`; take one of the two";
            self.forbid("run", &["fresh"], why);
        }
    }

    /// Refuses to keep each unit of a stretch whose units are not counted, or are too many for a report.
    fn each_unit(&mut self) {
        let (plan, run) = (self.plan, &self.plan.run);
        if !run.each_unit {
            return;
        }
        if matches!(plan.load, Load::Knee(_)) {
            let why = "applies to one load, and a search makes several";
            self.forbid("run", &["each_unit"], why);
        } else if run.count.is_none_or(|count| count > EACH_UNIT_MAX) {
            let message = format!(
                "a report keeps each unit of at most {EACH_UNIT_MAX}; set `run.count` to no more"
            );
            self.wrong("run.each_unit", message);
        }
    }

    fn fault(&mut self) {
        let (plan, run) = (self.plan, &self.plan.run);
        let Some(fault) = &run.fault else {
            return;
        };
        let nodes = match &plan.chain {
            Some(chain) => chain.node_names(),
            None => plan.network.node_names(),
        };
        if !nodes.contains(&fault.node) {
            let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
            let at = self.document.at("run.fault.node");
            self.problems.not_one_of(at, "node", &fault.node, &names);
        }
        if fault.kind == FaultKind::Kill {
            let why = "applies only with `run.fault.kind = \"freeze\"`";
            self.forbid("run.fault", &["for_s"], why);
        }
        if fault.at_s >= run.seconds {
            let message = format!(
                "the fault comes after {} s, and the stretch ends after {} s; make `run.fault.at_s` smaller or `run.seconds` larger",
                fault.at_s, run.seconds
            );
            self.wrong("run.fault", message);
        }
    }
}
