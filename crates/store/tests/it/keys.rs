//! With a million fresh keys of a node and a million of others, opening and one look-up cost the same as with a few keys, and so
//! does the memory.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kernel::port::{Table, WriteBatch};
use kernel::{is_own_key, key_owner};
use primitives::{Encode, PublicKey};
use store::{Embedded, Options};

use crate::workload::Sequence;

const FEW: u64 = 10_000;
const MANY: u64 = 1_000_000;
/// Keys in a commit.
const COMMIT: u64 = 10_000;
/// Keys looked up in a measurement: half of them are there.
const LOOKED_UP: u64 = 20_000;
/// Memory that reading may add: the store's caches, and pages that the allocator keeps.
const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// Set in the process that measures. In the process of the other tests, their memory would count as well.
const ALONE: &str = "STORE_KEYS_ALONE";

fn key(table: Table, number: u64) -> PublicKey {
    let seed = number.wrapping_mul(2) + u64::from(table == Table::KeyOwners);
    let bytes = Sequence(seed).bytes(32);
    PublicKey::Ed25519(bytes.try_into().expect("32 bytes"))
}

/// Adds keys, as the kernel writes them: a key's row, and one in the ring of its peer.
fn fill(folder: &Path, numbers: std::ops::Range<u64>) {
    let store = Embedded::open(folder, &Options::default()).expect("opens");
    for first in numbers.clone().step_by(COMMIT as usize) {
        let mut batch = WriteBatch::default();
        for number in first..(first + COMMIT).min(numbers.end) {
            let own = key(Table::OwnKeys, number).to_bytes();
            let value = [&number.to_be_bytes()[..], &[0]].concat();
            batch.put(Table::OwnKeys, [&[0], &own[..]].concat(), value);
            let known = key(Table::KeyOwners, number).to_bytes();
            let owner = [[7; 32].as_slice(), &number.to_be_bytes(), &[1; 200]].concat();
            batch.put(Table::KeyOwners, [&[0], &known[..]].concat(), owner);
            let slot = [&[1], [7; 32].as_slice(), &number.to_be_bytes()].concat();
            batch.put(Table::KeyOwners, slot, known);
        }
        store.write(vec![batch]).expect("written");
    }
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages = text.split(' ').nth(1).expect("a second number");
    pages.parse::<u64>().expect("a number") * 4096
}

/// The time to open, and to look keys up.
fn measure(folder: &Path, there: u64) -> (Duration, Duration) {
    let before = resident_bytes();
    let began = Instant::now();
    let store = Embedded::open(folder, &Options::default()).expect("opens");
    let opened = began.elapsed();
    let mut numbers = Sequence(99);
    let began = Instant::now();
    for i in 0..LOOKED_UP {
        let number = numbers.below(there) + (i % 2) * there;
        let own = is_own_key(&key(Table::OwnKeys, number), &store).expect("readable");
        assert_eq!(own, i % 2 == 0, "own key {number}");
        let owner = key_owner(&key(Table::KeyOwners, number), &store).expect("readable");
        assert_eq!(owner.is_some(), i % 2 == 0, "known key {number}");
    }
    let looked_up = began.elapsed();
    let more = resident_bytes().saturating_sub(before);
    assert!(
        more < MEMORY_BYTES_MAX,
        "{more} bytes more with {there} keys"
    );
    (opened, looked_up)
}

#[test]
fn a_million_keys_open_and_are_looked_up_like_a_few() {
    if std::env::var_os(ALONE).is_none() {
        let name = "keys::a_million_keys_open_and_are_looked_up_like_a_few";
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", name, "--nocapture"])
            .env(ALONE, "1")
            .output()
            .expect("the process starts");
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains("1 passed"));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), 0..FEW);
    let few = measure(folder.path(), FEW);
    fill(folder.path(), FEW..MANY);
    // Merges that are left over from the start do not count as reading.
    let many = measure(folder.path(), MANY);
    println!("to open and to look up: {few:?} with {FEW} keys, {many:?} with {MANY}");
    // Far below the time of a scan; on a busy machine any time may double.
    assert!(
        many.0 < few.0 * 10 + Duration::from_secs(2),
        "{few:?} {many:?}"
    );
    assert!(
        many.1 < few.1 * 20 + Duration::from_secs(2),
        "{few:?} {many:?}"
    );
}
