//! The encodings of plain Rust types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::skip::check_ascending;
use super::{Decode, DecodeError, Decoder, Encode, Encoder};

macro_rules! unsigned {
    ($($type:ident)*) => {$(
        impl Encode for $type {
            fn encode(&self, e: &mut Encoder) {
                e.u64(u64::from(*self));
            }
        }

        impl Decode for $type {
            fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                d.$type()
            }
        }
    )*};
}

unsigned!(u16 u32 u64);

/// One byte is a number; several are a byte string, so that `Vec<u8>` is one.
impl Encode for u8 {
    fn encode(&self, e: &mut Encoder) {
        e.u64(u64::from(*self));
    }

    fn encode_all(values: &[Self], e: &mut Encoder) {
        e.bytes(values);
    }
}

impl Decode for u8 {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.u8()
    }

    fn decode_all(d: &mut Decoder<'_>, limit: usize) -> Result<Vec<Self>, DecodeError> {
        d.bytes_within(limit).map(<[u8]>::to_vec)
    }
}

impl Encode for i64 {
    fn encode(&self, e: &mut Encoder) {
        e.i64(*self);
    }
}

impl Decode for i64 {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.i64()
    }
}

impl Encode for bool {
    fn encode(&self, e: &mut Encoder) {
        e.bool(*self);
    }
}

impl Decode for bool {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.bool()
    }
}

impl Encode for str {
    fn encode(&self, e: &mut Encoder) {
        e.text(self);
    }
}

impl Encode for String {
    fn encode(&self, e: &mut Encoder) {
        e.text(self);
    }
}

impl Decode for String {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.text().map(str::to_owned)
    }
}

/// Nothing is null. Do not nest options: `Some(None)` and `None` would be one.
impl<T: Encode> Encode for Option<T> {
    fn encode(&self, e: &mut Encoder) {
        match self {
            Some(value) => value.encode(e),
            None => e.null(),
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if d.peek_null() {
            d.null()?;
            Ok(None)
        } else {
            T::decode(d).map(Some)
        }
    }
}

/// An array; of bytes a byte string.
impl<T: Encode> Encode for [T] {
    fn encode(&self, e: &mut Encoder) {
        T::encode_all(self, e);
    }
}

/// An array; of bytes a byte string.
impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, e: &mut Encoder) {
        T::encode_all(self, e);
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(usize::MAX)
    }
}

/// A byte string of a fixed length.
impl<const N: usize> Encode for [u8; N] {
    fn encode(&self, e: &mut Encoder) {
        e.bytes(self);
    }
}

impl<const N: usize> Decode for [u8; N] {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.byte_array()
    }
}

/// An array of nothing.
impl Encode for () {
    fn encode(&self, e: &mut Encoder) {
        e.array(0);
    }
}

impl Decode for () {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(0)
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.0.encode(e);
        self.1.encode(e);
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok((A::decode(d)?, B::decode(d)?))
    }
}

impl<A: Encode, B: Encode, C: Encode> Encode for (A, B, C) {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        self.0.encode(e);
        self.1.encode(e);
        self.2.encode(e);
    }
}

impl<A: Decode, B: Decode, C: Decode> Decode for (A, B, C) {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        Ok((A::decode(d)?, B::decode(d)?, C::decode(d)?))
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, e: &mut Encoder) {
        (**self).encode(e);
    }
}

impl<T: Encode> Encode for Box<T> {
    fn encode(&self, e: &mut Encoder) {
        (**self).encode(e);
    }
}

impl<T: Decode> Decode for Box<T> {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::decode(d).map(Self::new)
    }
}

impl<T: Encode> Encode for Arc<T> {
    fn encode(&self, e: &mut Encoder) {
        (**self).encode(e);
    }
}

impl<T: Decode> Decode for Arc<T> {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::decode(d).map(Self::new)
    }
}

/// A map whose keys ascend by their encoded bytes.
impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    fn encode(&self, e: &mut Encoder) {
        let mut pairs: Vec<(Vec<u8>, &V)> = self
            .iter()
            .map(|(key, value)| (key.to_bytes(), value))
            .collect();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        e.map(pairs.len());
        for (key, value) in pairs {
            e.raw(&key);
            value.encode(e);
        }
    }
}

impl<K: Decode + Ord, V: Decode> Decode for BTreeMap<K, V> {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = d.map()?;
        let mut map = Self::new();
        let mut before: Option<&[u8]> = None;
        for _ in 0..count {
            let offset = d.offset();
            let mut key_only = d.clone();
            let raw = key_only.raw()?;
            check_ascending(offset, before, raw)?;
            before = Some(raw);
            let key = K::decode(d)?;
            if map.insert(key, V::decode(d)?).is_some() {
                return Err(d.invalid("two keys of a map are the same"));
            }
        }
        Ok(map)
    }
}

/// An array whose values ascend by their order in Rust, each once.
impl<T: Encode> Encode for BTreeSet<T> {
    fn encode(&self, e: &mut Encoder) {
        e.array(self.len());
        for value in self {
            value.encode(e);
        }
    }
}

impl<T: Decode + Ord> Decode for BTreeSet<T> {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = d.array()?;
        let mut set = Self::new();
        for _ in 0..count {
            let value = T::decode(d)?;
            if set.last().is_some_and(|last| *last >= value) {
                return Err(d.invalid("the values of a set are not in ascending order"));
            }
            set.insert(value);
        }
        Ok(set)
    }
}

/// A byte string. It has the same encoding as `Vec<u8>`; use it to show in a type that the bytes are one string.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteBuf(pub Vec<u8>);

impl Encode for ByteBuf {
    fn encode(&self, e: &mut Encoder) {
        e.bytes(&self.0);
    }
}

impl Decode for ByteBuf {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.bytes().map(|bytes| Self(bytes.to_vec()))
    }
}
