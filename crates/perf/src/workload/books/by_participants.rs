//! Serialises a map whose keys are lists as a list of pairs.

use std::collections::BTreeMap;

use primitives::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[derive(Serialize, Deserialize)]
struct Pair {
    participants: Vec<u32>,
    ids: Vec<String>,
}

pub fn serialize<S: Serializer>(
    map: &BTreeMap<Vec<u32>, Vec<Hash>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let pairs = map.iter().map(|(participants, ids)| Pair {
        participants: participants.clone(),
        ids: ids.iter().map(Hash::to_string).collect(),
    });
    to.collect_seq(pairs)
}

pub fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<Vec<u32>, Vec<Hash>>, D::Error> {
    let mut map = BTreeMap::new();
    for pair in Vec::<Pair>::deserialize(from)? {
        let ids = pair.ids.iter().map(|id| id.parse::<Hash>());
        let ids: Result<Vec<Hash>, _> = ids.collect();
        map.insert(pair.participants, ids.map_err(de::Error::custom)?);
    }
    Ok(map)
}
