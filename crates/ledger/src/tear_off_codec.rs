//! Encoding and decoding of tear-offs.

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash};

use crate::group::{GROUPS, TRANSACTION_VERSION};
use crate::limits::{
    COMPONENT_BYTES_MAX, INPUTS_AND_REFERENCES_MAX, TEAR_OFF_BYTES_MAX, TEAR_OFF_HASHES_MAX,
};
use crate::{Component, FilteredGroup, FilteredTransaction, TxId};

impl Encode for FilteredGroup {
    fn encode(&self, e: &mut Encoder) {
        match self {
            FilteredGroup::Hidden(hash) => {
                e.array(2);
                e.u64(0);
                hash.encode(e);
            }
            FilteredGroup::Whole(components) => {
                e.array(2);
                e.u64(1);
                components.encode(e);
            }
            FilteredGroup::Part {
                count,
                components,
                hashes,
            } => {
                e.array(4);
                e.u64(2);
                count.encode(e);
                e.array(components.len());
                for (index, component) in components {
                    e.array(3);
                    index.encode(e);
                    component.nonce.encode(e);
                    component.bytes.encode(e);
                }
                hashes.encode(e);
            }
        }
    }
}

impl Decode for FilteredGroup {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let fields = d.array()?;
        match (d.u8()?, fields) {
            (0, 2) => Ok(FilteredGroup::Hidden(Hash::decode(d)?)),
            (1, 2) => {
                let components: Vec<Component> = d.vec_of(INPUTS_AND_REFERENCES_MAX)?;
                if components
                    .iter()
                    .any(|c| c.bytes.len() > COMPONENT_BYTES_MAX)
                {
                    return Err(d.invalid("a component has too many bytes"));
                }
                Ok(FilteredGroup::Whole(components))
            }
            (2, 4) => {
                let count = d.u32()?;
                let shown = d.array_within(INPUTS_AND_REFERENCES_MAX)?;
                let mut components = Vec::new();
                for _ in 0..shown {
                    d.expect_array(3)?;
                    let index = d.u32()?;
                    let nonce = Hash::decode(d)?;
                    let bytes = d.bytes_within(COMPONENT_BYTES_MAX)?.to_vec();
                    components.push((index, Component { nonce, bytes }));
                }
                if components.is_empty() {
                    return Err(d.invalid("a group of which nothing is shown is hidden"));
                }
                let hashes = d.vec_of(TEAR_OFF_HASHES_MAX)?;
                Ok(FilteredGroup::Part {
                    count,
                    components,
                    hashes,
                })
            }
            _ => Err(d.invalid("a filtered group is hidden, whole or a part")),
        }
    }
}

impl Encode for FilteredTransaction {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        e.u64(u64::from(TRANSACTION_VERSION));
        self.id.encode(e);
        e.array(GROUPS);
        for group in &self.groups {
            group.encode(e);
        }
    }
}

impl Decode for FilteredTransaction {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if d.clone().raw()?.len() > TEAR_OFF_BYTES_MAX {
            return Err(d.invalid("a tear-off has too many bytes"));
        }
        d.expect_array(3)?;
        if d.u8()? != TRANSACTION_VERSION {
            return Err(d.invalid("a tear-off of an unknown version"));
        }
        let id = TxId::decode(d)?;
        d.expect_array(GROUPS)?;
        let mut groups = [const { FilteredGroup::Hidden(Hash::ZERO) }; GROUPS];
        for group in &mut groups {
            *group = FilteredGroup::decode(d)?;
        }
        Ok(Self { id, groups })
    }
}
