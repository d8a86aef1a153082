//! The notary's engine, seen from outside.

mod model;
mod requests;
mod shares;
mod table;
