//! The driver and its fake against recorded exchanges with a real Ardor node: `tests/data/ardor-recorded`.

mod answers;
mod driver;
mod recording;
mod refusals;
mod replay;
mod shapes;
