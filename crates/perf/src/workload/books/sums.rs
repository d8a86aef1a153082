//! Serialises sums as text: they may not fit a number of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub fn serialize<S: Serializer>(sums: &BTreeMap<String, u128>, to: S) -> Result<S::Ok, S::Error> {
    let text: BTreeMap<&String, String> = sums
        .iter()
        .map(|(token, sum)| (token, sum.to_string()))
        .collect();
    text.serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, u128>, D::Error> {
    let text = BTreeMap::<String, String>::deserialize(from)?;
    let parsed = text
        .into_iter()
        .map(|(token, sum)| Ok((token, sum.parse()?)));
    parsed
        .collect::<Result<_, std::num::ParseIntError>>()
        .map_err(de::Error::custom)
}
