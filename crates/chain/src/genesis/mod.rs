//! Genesis: the initial state of a network. Its hash identifies the network and is part of every id and signature.

mod bytes;
mod document;
mod overrides;
mod rows;
mod spec;

pub use document::{
    BALANCES_MAX, CHAINS_MAX, ChainInfo, DECIMALS_MAX, Genesis, NAME_BYTES_MAX, SUPPLY_MAX,
    SYMBOL_BYTES_MAX,
};
pub use overrides::ParamsOverrides;
pub use rows::write_genesis;
#[cfg(test)]
pub(crate) use spec::small_genesis;
pub use spec::{BalanceSpec, ChainSpec, GenesisSpec};
