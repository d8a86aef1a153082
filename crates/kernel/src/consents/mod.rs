//! What this node signs although others propose it: the rows of operators, and the checks.

pub(crate) mod checks;
pub(crate) mod rows;
