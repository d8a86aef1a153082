//! The parameters of a request, from its URL or its form.

use super::refusal::Refusal;
use crate::chain::{Chain, ChainId};

/// Names and values, in order. A name may occur several times.
#[derive(Clone, Debug, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a query or a form.
    pub fn read(text: &str) -> Self {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        Self(
            pairs
                .map(|(name, value)| (decoded(name), decoded(value)))
                .collect(),
        )
    }

    /// Returns the first value of a name, unless it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|pair| pair.0 == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns all values of a name.
    pub fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        let pairs = self.0.iter().filter(move |pair| pair.0 == name);
        pairs.map(|pair| pair.1.as_str())
    }

    /// Returns the value of a parameter that must be there.
    pub fn field(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::missing(name))
    }

    /// Returns a whole number that must be there.
    pub fn whole(&self, name: &str) -> Result<u64, Refusal> {
        let value = self.field(name)?;
        value.parse().map_err(|_| Refusal::incorrect(name))
    }

    /// Returns the chain of a request, by its number or name. The parent chain is the default.
    pub fn chain(&self, chains: &[Chain]) -> Result<ChainId, Refusal> {
        match self.get("chain") {
            None => Ok(ChainId::PARENT),
            Some(name) => chain_of(name, chains),
        }
    }
}

/// Returns a chain by its number or name.
pub fn chain_of(name: &str, chains: &[Chain]) -> Result<ChainId, Refusal> {
    let mut all = chains.iter();
    let found = all.find(|chain| chain.name == name || chain.id.0.to_string() == name);
    found
        .map(|chain| chain.id)
        .ok_or_else(|| Refusal::incorrect("chain"))
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|two| std::str::from_utf8(two).ok());
        match (byte, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (other, _) => out.push(*other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
