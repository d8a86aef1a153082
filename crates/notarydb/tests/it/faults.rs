//! Faults of the databases.

use crate::backends::Backend;

pub fn of_cluster(_: Backend) {}

pub fn of_server(_: Backend) {}
