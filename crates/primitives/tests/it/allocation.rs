//! Decoding allocates only in proportion to the bytes that are present, even if they claim larger lengths.

// A counting allocator is the only way to observe allocations, and an allocator is unsafe by its nature.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use primitives::{Decode, Hash, MerkleProof, PartialTree, PublicKey, Signature, variants};
use proptest::prelude::*;

/// Allocation allowed for any input: the reserve of a list, at a few levels of nesting.
const FREE_BYTES: usize = 32 * 1024;

/// Allocation allowed for each byte of input: one byte can be a value of a hundred and more bytes in memory, in a list
/// that has grown to twice its length and is being moved.
const BYTES_A_BYTE: usize = 512;

struct Counting;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

// Every call goes to the system's allocator unchanged; counting touches only thread-local cells that need no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.get() + layout.size();
        LIVE.set(live);
        PEAK.set(PEAK.get().max(live));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().saturating_sub(layout.size()));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that were allocated at a time while `work` ran, beyond those before.
fn peak(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    PEAK.get().saturating_sub(before)
}

#[derive(Debug)]
enum Wide {
    Nothing,
    Much([u8; 96]),
    More(Vec<Wide2>),
}

#[derive(Debug)]
enum Wide2 {
    Nothing,
    Much([u8; 64]),
}

variants!(Wide { 0 => Nothing, 1 => Much(bytes), 2 => More(list) });
variants!(Wide2 { 0 => Nothing, 1 => Much(bytes) });

fn check<T: Decode>(bytes: &[u8]) {
    let peak = peak(|| drop(T::from_bytes(bytes)));
    let justified = FREE_BYTES + BYTES_A_BYTE * bytes.len();
    assert!(
        peak <= justified,
        "{peak} bytes for {} of {}",
        bytes.len(),
        std::any::type_name::<T>()
    );
}

fn check_all(bytes: &[u8]) {
    check::<Vec<u8>>(bytes);
    check::<String>(bytes);
    check::<Vec<u64>>(bytes);
    check::<Vec<Hash>>(bytes);
    check::<Vec<Vec<Vec<Hash>>>>(bytes);
    check::<Vec<Option<[u8; 96]>>>(bytes);
    check::<Vec<Wide>>(bytes);
    check::<BTreeMap<u64, Vec<Wide>>>(bytes);
    check::<BTreeSet<u64>>(bytes);
    check::<Vec<PublicKey>>(bytes);
    check::<MerkleProof>(bytes);
    check::<PartialTree>(bytes);
    check::<Vec<Signature>>(bytes);
}

/// Heads of arrays, maps and strings with lengths far beyond the input.
#[test]
fn claims_without_content() {
    for major in 2u8..=5 {
        for length in [1u64, 1000, 65_536, 1 << 20, 1 << 31, 1 << 32, u64::MAX] {
            let head = |first: u8| {
                let mut bytes = vec![major << 5 | first];
                match first {
                    25 => bytes.extend_from_slice(&(length as u16).to_be_bytes()),
                    26 => bytes.extend_from_slice(&(length as u32).to_be_bytes()),
                    _ => bytes.extend_from_slice(&length.to_be_bytes()),
                }
                bytes
            };
            for first in [25, 26, 27] {
                check_all(&head(first));
                check_all(&head(first).repeat(50));
                check_all(&[head(first), vec![0; 5000]].concat());
                check_all(&[vec![0x9a, 0, 0, 0x20, 0], head(first), vec![0x81; 8192]].concat());
            }
        }
    }
}

/// A list whose elements are one byte each, where `Option` makes a large value of one.
#[test]
fn dense_lists() {
    for count in [1000u32, 100_000, 1_000_000] {
        let mut bytes = vec![0x9a];
        bytes.extend_from_slice(&count.to_be_bytes());
        bytes.resize(bytes.len() + count as usize, 0xf6);
        check::<Vec<Option<[u8; 96]>>>(&bytes);
    }
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_all(&bytes);
    }

    #[test]
    fn arbitrary_bytes_in_a_list(bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0u8..24) {
        check_all(&[vec![0x80 | count], bytes].concat());
    }
}
