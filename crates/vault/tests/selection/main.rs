//! Coin selection and soft locks, seen from outside.

mod coins;
mod model;
mod table;
