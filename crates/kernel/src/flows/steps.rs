//! Steps of the progress of flows, kept only while a client follows them.

use flow::FlowId;

/// Maximum number of steps kept between two calls of `take_steps`. Further ones are dropped; a client sees the flow's next step.
const STEPS_MAX: usize = 16_384;

/// The progress steps since the last call of `take_steps`, while a client watches.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    watched: bool,
    noted: Vec<(FlowId, &'static str)>,
}

impl Steps {
    pub(crate) fn note(&mut self, flow: FlowId, step: &'static str) {
        if self.watched && self.noted.len() < STEPS_MAX {
            self.noted.push((flow, step));
        }
    }

    /// Returns the steps that flows came to since the last call, in order.
    pub(crate) fn take(&mut self, watched: bool) -> Vec<(FlowId, &'static str)> {
        self.watched = watched;
        std::mem::take(&mut self.noted)
    }
}
