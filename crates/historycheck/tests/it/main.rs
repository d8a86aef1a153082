//! The checker against histories that break exactly one rule, and against random changes of a clean history.

mod malformed;
mod mutations;
mod program;
mod rules;
mod script;
