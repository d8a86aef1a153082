//! The notary's engine, seen from outside.

mod model;
mod requests;
mod shared;
mod shares;
mod table;
