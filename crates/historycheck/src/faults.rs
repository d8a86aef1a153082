//! The faults that the test has begun, for messages.

use crate::book::seconds;

/// Faults of the service that are active or were healed last.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    active: Vec<(u64, String)>,
    healed: Option<(u64, String)>,
}

impl Faults {
    pub(crate) fn begin(&mut self, at_us: u64, kind: String) {
        self.active.push((at_us, kind));
    }

    /// Ends a fault. One that has not begun is remembered as the last one.
    pub(crate) fn heal(&mut self, at_us: u64, kind: String) {
        let place = self.active.iter().position(|(_, active)| *active == kind);
        if let Some(place) = place {
            self.active.remove(place);
        }
        self.healed = Some((at_us, kind));
    }

    /// Returns the end of a message: the active faults, or the one that was healed last.
    pub(crate) fn text(&self) -> String {
        if !self.active.is_empty() {
            let active = self.active.iter();
            let active = active.map(|(at_us, kind)| format!("{kind} since {}", seconds(*at_us)));
            return format!(" (faults: {})", active.collect::<Vec<_>>().join(", "));
        }
        match &self.healed {
            Some((at_us, kind)) => format!(" (last fault: {kind}, healed at {})", seconds(*at_us)),
            None => String::new(),
        }
    }
}
