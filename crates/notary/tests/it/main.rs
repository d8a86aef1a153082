//! The notary's engine, seen from outside.

mod late;
mod model;
mod requests;
mod shared;
mod shares;
mod table;
