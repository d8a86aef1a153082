//! Joint charts of scenarios that vary the same thing in different places, such as the cores of the payer, of the payee and
//! of the notary.

mod group;
mod groups;
mod lines;

pub use groups::groups;
