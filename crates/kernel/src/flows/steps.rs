//! Steps of the progress of flows, kept only while a client follows them.

use flow::FlowId;

/// Steps kept between two takings; further ones are passed over, and a follower sees the next.
const STEPS_MAX: usize = 16_384;

/// The steps since the last call of `take_steps`.
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
