//! Encoding, decoding and hashing of whole transactions.

use std::ops::Range;
use std::sync::Arc;

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash, PublicKey};

use crate::group::{
    GROUPS, Group, TRANSACTION_VERSION, group_of_leaves, leaf, nonce, transaction_id,
};
use crate::limits::{
    ATTACHMENTS_MAX, COMMAND_SIGNERS_MAX, COMMANDS_MAX, COMPONENT_BYTES_MAX,
    INPUTS_AND_REFERENCES_MAX, OUTPUTS_MAX, TRANSACTION_BYTES_MAX,
};
use crate::state::StateReader;
use crate::structure::Components;
use crate::wire::Wire;
use crate::{Command, ContractName, Party, StateRef, StructureError, TimeWindow, WireTransaction};

impl WireTransaction {
    /// Decodes a transaction from the whole input and checks its structure.
    pub fn parse(bytes: &[u8]) -> Result<Self, StructureError> {
        let mut d = Decoder::new(bytes);
        let transaction = Self::read(&mut d)?;
        d.finish()?;
        Ok(transaction)
    }

    /// Encodes checked components. `components` has passed [`Components::check`].
    pub(crate) fn from_components(
        components: Components,
        salt: [u8; 32],
    ) -> Result<Self, StructureError> {
        let mut assembly = Assembly::new(salt);
        assembly.group(Group::Inputs, &components.inputs, Encode::encode)?;
        assembly.group(Group::Outputs, &components.outputs, Encode::encode)?;
        assembly.group(Group::Commands, &components.commands, |command, e| {
            e.array(2);
            command.contract.encode(e);
            e.bytes(&command.value);
        })?;
        assembly.group(Group::Attachments, &components.attachments, Encode::encode)?;
        assembly.group(Group::Notary, components.notary.as_slice(), Encode::encode)?;
        assembly.group(
            Group::TimeWindow,
            components.time_window.as_slice(),
            Encode::encode,
        )?;
        assembly.group(Group::Signers, &components.commands, |command, e| {
            command.signers.encode(e);
        })?;
        assembly.group(Group::References, &components.references, Encode::encode)?;
        assembly.group(
            Group::Parameters,
            components.parameters.as_slice(),
            Encode::encode,
        )?;
        let Assembly {
            encoder,
            ranges,
            starts,
            ..
        } = assembly;
        if encoder.len() > TRANSACTION_BYTES_MAX {
            return Err(StructureError::TooLarge);
        }
        Ok(Self::finish(
            encoder.into_bytes(),
            salt,
            ranges,
            starts,
            components,
        ))
    }

    fn finish(
        bytes: Vec<u8>,
        salt: [u8; 32],
        ranges: Vec<Range<u32>>,
        starts: [u32; GROUPS + 1],
        components: Components,
    ) -> Self {
        let mut leaves = Vec::new();
        let group_hashes = Group::ALL.map(|group| {
            let first = starts[group.index()] as usize;
            let last = starts[group.index() + 1] as usize;
            leaves.clear();
            leaves.extend((0u32..).zip(&ranges[first..last]).map(|(index, range)| {
                let component = &bytes[range.start as usize..range.end as usize];
                leaf(&nonce(&salt, group, index), component)
            }));
            group_of_leaves(group, &leaves)
        });
        let id = transaction_id(&group_hashes);
        Self(Arc::new(Wire {
            id,
            bytes,
            salt,
            group_hashes,
            ranges,
            starts,
            components,
        }))
    }

    fn read(d: &mut Decoder<'_>) -> Result<Self, StructureError> {
        let start = d.offset();
        let mut outline = d.clone();
        let bytes = outline.raw()?;
        if bytes.len() > TRANSACTION_BYTES_MAX {
            return Err(StructureError::TooLarge);
        }
        d.expect_array(3)?;
        if d.u8()? != TRANSACTION_VERSION {
            return Err(d.invalid("a transaction of an unknown version").into());
        }
        let salt: [u8; 32] = d.byte_array()?;
        d.expect_array(GROUPS)?;
        let mut reading = Reading::new(start);
        let inputs = reading.group(d, INPUTS_AND_REFERENCES_MAX, "inputs", StateRef::decode)?;
        let mut states = StateReader::default();
        let outputs = reading.group(d, OUTPUTS_MAX, "outputs", |d| states.read(d))?;
        let commands = reading.group(d, COMMANDS_MAX, "commands", |d| {
            d.expect_array(2)?;
            Ok((ContractName::decode(d)?, d.bytes()?.to_vec()))
        })?;
        let attachments = reading.group(d, ATTACHMENTS_MAX, "attachments", Hash::decode)?;
        let notary = reading.group(d, 1, "notaries", Party::decode)?.pop();
        let time_window = reading
            .group(d, 1, "time windows", TimeWindow::decode)?
            .pop();
        let signers = reading.group(d, COMMANDS_MAX, "lists of signers", |d| {
            d.vec_of::<PublicKey>(COMMAND_SIGNERS_MAX)
        })?;
        let references =
            reading.group(d, INPUTS_AND_REFERENCES_MAX, "references", StateRef::decode)?;
        let parameters = reading.group(d, 1, "parameters", Hash::decode)?.pop();
        if signers.len() != commands.len() {
            return Err(d
                .invalid("a transaction lists signers for each command")
                .into());
        }
        let commands = commands
            .into_iter()
            .zip(signers)
            .map(|((contract, value), signers)| Command {
                contract,
                value,
                signers,
            })
            .collect();
        let components = Components {
            inputs,
            outputs,
            commands,
            attachments,
            notary,
            time_window,
            references,
            parameters,
        };
        components.check()?;
        Ok(Self::finish(
            bytes.to_vec(),
            salt,
            reading.ranges,
            reading.starts,
            components,
        ))
    }
}

/// A transaction being encoded.
struct Assembly {
    encoder: Encoder,
    scratch: Encoder,
    ranges: Vec<Range<u32>>,
    starts: [u32; GROUPS + 1],
}

impl Assembly {
    fn new(salt: [u8; 32]) -> Self {
        let mut encoder = Encoder::with_capacity(1024);
        encoder.array(3);
        encoder.u64(u64::from(TRANSACTION_VERSION));
        encoder.bytes(&salt);
        encoder.array(GROUPS);
        let scratch = Encoder::with_capacity(512);
        Self {
            encoder,
            scratch,
            ranges: Vec::with_capacity(12),
            starts: [0; GROUPS + 1],
        }
    }

    fn group<T>(
        &mut self,
        group: Group,
        values: &[T],
        encode: impl Fn(&T, &mut Encoder),
    ) -> Result<(), StructureError> {
        self.encoder.array(values.len());
        for value in values {
            self.scratch.clear();
            encode(value, &mut self.scratch);
            if self.scratch.len() > COMPONENT_BYTES_MAX
                || self.encoder.len() > TRANSACTION_BYTES_MAX
            {
                return Err(StructureError::TooLarge);
            }
            self.encoder.bytes(self.scratch.as_bytes());
            // Both sizes were just bounded far below 2^32.
            let end = self.encoder.len() as u32;
            self.ranges.push(end - self.scratch.len() as u32..end);
        }
        self.starts[group.index() + 1] = self.ranges.len() as u32;
        Ok(())
    }
}

/// A transaction being decoded.
struct Reading {
    start: usize,
    ranges: Vec<Range<u32>>,
    starts: [u32; GROUPS + 1],
    groups: usize,
}

impl Reading {
    fn new(start: usize) -> Self {
        Self {
            start,
            ranges: Vec::with_capacity(12),
            starts: [0; GROUPS + 1],
            groups: 0,
        }
    }

    fn group<'a, T>(
        &mut self,
        d: &mut Decoder<'a>,
        count_max: usize,
        what: &'static str,
        mut decode: impl FnMut(&mut Decoder<'a>) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, StructureError> {
        let count = d.array()?;
        if count > count_max {
            return Err(StructureError::TooMany(what, count_max));
        }
        let mut values = Vec::with_capacity(count.min(32));
        for _ in 0..count {
            let component = d.bytes()?;
            if component.len() > COMPONENT_BYTES_MAX {
                return Err(StructureError::TooLarge);
            }
            let mut inner = Decoder::new(component);
            values.push(decode(&mut inner)?);
            inner.finish()?;
            // The whole transaction was bounded far below 2^32 bytes.
            let end = (d.offset() - self.start) as u32;
            self.ranges.push(end - component.len() as u32..end);
        }
        self.groups += 1;
        self.starts[self.groups] = self.ranges.len() as u32;
        Ok(values)
    }
}

impl Encode for WireTransaction {
    fn encode(&self, e: &mut Encoder) {
        e.raw(&self.0.bytes);
    }
}

impl Decode for WireTransaction {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Self::read(d).map_err(|error| error.into_decode_error(d))
    }
}
