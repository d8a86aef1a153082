//! The proposals of others that this node signs: the consents of operators, and the checks.

pub(crate) mod checks;
pub(crate) mod rows;
