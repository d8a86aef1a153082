//! The encoding of a genesis (`docs/formats/chain.md`), which its hash covers and a store keeps.

use std::collections::BTreeMap;

use super::{BALANCES_MAX, CHAINS_MAX, ChainInfo, Genesis, NAME_BYTES_MAX, overrides};
use crate::{AccountId, ChainId, MinorUnits, Rejection};

/// Maximum number of constants, far above the actual number.
const NUMBERS_MAX: usize = 255;

impl Genesis {
    /// Encodes the genesis.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (version, numbers) = overrides::numbers(&self.params);
        let mut out = vec![version];
        put_text(&mut out, &self.network);
        out.extend_from_slice(&self.time_ms.to_be_bytes());
        out.push(numbers.len() as u8);
        for number in numbers {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.push(self.chains.len() as u8);
        for chain in self.chains.values() {
            out.extend_from_slice(&[chain.id.0, chain.decimals]);
            put_text(&mut out, &chain.name);
            put_text(&mut out, &chain.symbol);
        }
        out.extend_from_slice(&(self.balances.len() as u32).to_be_bytes());
        for ((account, chain), balance) in &self.balances {
            out.extend_from_slice(&account.0);
            out.push(chain.0);
            out.extend_from_slice(&balance.to_be_bytes());
        }
        out
    }

    /// Decodes and checks a genesis.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Rejection> {
        let mut reader = Reader(bytes);
        let [version] = reader.take()?;
        let network = reader.text()?;
        let time_ms = u64::from_be_bytes(reader.take()?);
        let [count] = reader.take()?;
        let numbers = (0..usize::from(count).min(NUMBERS_MAX))
            .map(|_| reader.take().map(u64::from_be_bytes))
            .collect::<Result<Vec<_>, _>>()?;
        let params = overrides::of_numbers(version, numbers).ok_or_else(|| {
            malformed(format!("the constants do not fit format version {version}"))
        })?;
        let [count] = reader.take()?;
        if usize::from(count) > CHAINS_MAX {
            return Err(malformed(format!("{count} chains, at most {CHAINS_MAX}")));
        }
        let mut chains = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let [id, decimals] = reader.take()?;
            chains.push(ChainInfo {
                id: ChainId(id),
                name: reader.text()?,
                symbol: reader.text()?,
                decimals,
                supply: MinorUnits::ZERO,
            });
        }
        let count = u32::from_be_bytes(reader.take()?) as usize;
        if count > BALANCES_MAX {
            let detail = format!("{count} balances, at most {BALANCES_MAX}");
            return Err(malformed(detail));
        }
        let mut balances = BTreeMap::new();
        for _ in 0..count {
            let account = AccountId(reader.take()?);
            let [chain] = reader.take()?;
            let place = (account, ChainId(chain));
            // Balances are ascending and unique, so that each genesis has one encoding.
            if balances
                .last_key_value()
                .is_some_and(|(last, _)| *last >= place)
            {
                return Err(malformed("the balances are not in ascending order"));
            }
            balances.insert(place, MinorUnits::from_be_bytes(reader.take()?));
        }
        if !reader.0.is_empty() {
            return Err(malformed(format!("{} bytes are left over", reader.0.len())));
        }
        if chains.windows(2).any(|pair| pair[0].id >= pair[1].id) {
            return Err(malformed("the chains are not in ascending order"));
        }
        Self::new(network, time_ms, params, chains, balances)
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Rejection> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or_else(|| malformed("the bytes end too early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn text(&mut self) -> Result<String, Rejection> {
        let [length] = self.take()?;
        let length = usize::from(length);
        if length > NAME_BYTES_MAX || length > self.0.len() {
            return Err(malformed("a name is too long"));
        }
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| malformed("a name is not UTF-8"))
    }
}

fn malformed(detail: impl Into<String>) -> Rejection {
    Rejection::new("chain_genesis.malformed", detail)
}
