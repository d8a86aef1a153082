//! Mock files: pseudo-random bytes that follow from a seed, a number and an offset. No file is ever whole in memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use primitives::{Hash, Hasher};
use tokio::io::{AsyncRead, ReadBuf};

/// The size of the blocks that are made and hashed.
const BLOCK_BYTES: usize = 64 * 1024;
/// Bytes of one word.
const WORD: u64 = 8;
/// The constants of splitmix64 (Steele et al. 2014).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A file of a given size. Files with the same seed, number and size are equal; all others differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MockFile {
    key: u64,
    number: u64,
    size: u64,
}

/// Sizes of mock files, in bytes: all equal, or uniformly distributed between two limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MockSizes {
    /// The smallest size.
    pub from: u64,
    /// The largest size; at least `from`.
    pub to: u64,
}

impl MockSizes {
    /// Returns the size of the file with a number.
    pub fn of(self, seed: u64, number: u64) -> u64 {
        let span = self.to - self.from;
        // The modulo favours small sizes by less than a billionth. If every size is allowed, the largest does not occur.
        let extra = word(seed ^ STEP, number) % span.saturating_add(1);
        self.from + extra
    }

    /// Returns the mean.
    pub fn mean(self) -> f64 {
        (self.from as f64 + self.to as f64) / 2.0
    }
}

impl MockFile {
    /// Creates the file with a number.
    pub fn new(seed: u64, number: u64, sizes: MockSizes) -> Self {
        Self {
            key: word(seed, number),
            number,
            size: sizes.of(seed, number),
        }
    }

    /// Returns its size in bytes.
    pub fn size(self) -> u64 {
        self.size
    }

    /// Returns its name: `mock-000042.bin`.
    pub fn name(self) -> String {
        format!("mock-{:06}.bin", self.number)
    }

    /// Fills the buffer with its bytes from an offset on. Returns how many there were.
    pub fn fill(self, offset: u64, buffer: &mut [u8]) -> usize {
        // Nothing is left after its end.
        let left = self.size.saturating_sub(offset);
        let count = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let mut at = offset;
        let mut rest = &mut buffer[..count];
        while !rest.is_empty() {
            let skip = (at % WORD) as usize;
            let most = rest.len().min(WORD as usize - skip);
            if most == WORD as usize {
                let words = rest.len() / WORD as usize;
                let (whole, tail) = rest.split_at_mut(words * WORD as usize);
                for (index, bytes) in whole.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    *bytes = word(self.key, at / WORD + index as u64).to_le_bytes();
                }
                at += (words * WORD as usize) as u64;
                rest = tail;
            } else {
                let bytes = word(self.key, at / WORD).to_le_bytes();
                let (head, tail) = rest.split_at_mut(most);
                head.copy_from_slice(&bytes[skip..skip + most]);
                at += most as u64;
                rest = tail;
            }
        }
        count
    }

    /// Returns its SHA-256, computed from the seed alone. Every node must report it. It takes a millisecond of processor
    /// time per megabyte.
    pub fn hash(self) -> Hash {
        let mut hasher = Hasher::new();
        let mut block = vec![0; BLOCK_BYTES];
        let mut offset = 0;
        loop {
            let count = self.fill(offset, &mut block);
            if count == 0 {
                return hasher.finish();
            }
            hasher.update(&block[..count]);
            offset += count as u64;
        }
    }

    /// Returns a reader of its bytes from an offset on.
    pub fn reader(self, offset: u64) -> MockReader {
        MockReader { file: self, offset }
    }
}

/// The bytes of a mock file, one after the other.
#[derive(Clone, Debug)]
pub struct MockReader {
    file: MockFile,
    offset: u64,
}

impl io::Read for MockReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.fill(self.offset, buffer);
        self.offset += count as u64;
        Ok(count)
    }
}

impl AsyncRead for MockReader {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        // Limits the block even if there is more room, so that other tasks on this thread get their turn.
        let most = buffer.remaining().min(BLOCK_BYTES);
        let count = own
            .file
            .fill(own.offset, buffer.initialize_unfilled_to(most));
        buffer.advance(count);
        own.offset += count as u64;
        Poll::Ready(Ok(()))
    }
}

/// Returns the word at a position of a sequence, in constant time.
fn word(key: u64, place: u64) -> u64 {
    let x = key.wrapping_add(place.wrapping_add(1).wrapping_mul(STEP));
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read;

    use super::*;

    const SIZES: MockSizes = MockSizes { from: 1, to: 5_000 };

    fn whole(file: MockFile) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.reader(0).read_to_end(&mut bytes).expect("no failure");
        bytes
    }

    #[test]
    fn any_part_of_a_file_is_that_part_of_the_whole() {
        for number in 0..20 {
            let file = MockFile::new(7, number, SIZES);
            let bytes = whole(file);
            assert_eq!(bytes.len() as u64, file.size());
            assert_eq!(file.hash(), Hash::plain(&bytes));
            for from in [0, 1, 7, 8, 9, 100, bytes.len() / 2, bytes.len()] {
                for length in [0, 1, 7, 8, 9, 16, 1_000] {
                    let mut part = vec![0; length];
                    let count = file.fill(from as u64, &mut part);
                    let from = from.min(bytes.len());
                    let to = (from + length).min(bytes.len());
                    assert_eq!(part[..count], bytes[from..to], "{from} {length}");
                }
            }
            assert_eq!(file.fill(u64::MAX, &mut [0; 9]), 0);
        }
    }

    #[test]
    fn files_differ_by_seed_and_number_and_nothing_else() {
        let same = MockSizes { from: 64, to: 64 };
        let hashes: BTreeSet<Hash> = (0..3)
            .flat_map(|seed| (0..100).map(move |number| MockFile::new(seed, number, same).hash()))
            .collect();
        assert_eq!(hashes.len(), 300);
        assert_eq!(MockFile::new(1, 2, SIZES), MockFile::new(1, 2, SIZES));
        assert_eq!(MockFile::new(1, 42, SIZES).name(), "mock-000042.bin");
    }

    #[test]
    fn sizes_lie_between_their_ends_and_are_spread_over_them() {
        let sizes = MockSizes {
            from: 1_000,
            to: 50_000,
        };
        let all: Vec<u64> = (0..1_000).map(|number| sizes.of(3, number)).collect();
        assert!(all.iter().all(|size| (1_000..=50_000).contains(size)));
        let mean = all.iter().sum::<u64>() as f64 / 1_000.0;
        assert!((mean - sizes.mean()).abs() < 2_000.0, "{mean}");
        let widest = MockSizes {
            from: 0,
            to: u64::MAX,
        };
        assert!(widest.of(1, 1) > 0);
    }

    #[tokio::test]
    async fn it_is_read_without_blocking_too() {
        let file = MockFile::new(
            1,
            1,
            MockSizes {
                from: 200_001,
                to: 200_001,
            },
        );
        let mut bytes = Vec::new();
        let mut reader = file.reader(1);
        tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut bytes)
            .await
            .expect("no failure");
        assert_eq!(bytes, whole(file)[1..]);
    }
}
