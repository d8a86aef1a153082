//! Coin selection and soft locks, seen from outside.

mod coins;
mod locks;
mod model;
mod table;
