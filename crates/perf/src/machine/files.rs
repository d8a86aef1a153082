//! Measures the machine's file throughput in bytes per second: the disk under a folder, TLS and hashes, each alone and
//! all together.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use primitives::Hasher;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};

use super::connection::{self, NAME, ready};
use super::hashing;
use crate::results::FileLimits;

/// Size of the files that are written: a common attachment's.
const FILE_BYTES: usize = 10_000_000;
/// The size of one read or write.
const BLOCK_BYTES: usize = 64 * 1024;
/// Files written concurrently, so that one is filled while another is synced. At most twice as many files are on the
/// disk.
const SIDE_BY_SIDE: usize = 2;
/// How long each is measured.
const SLICE: Duration = Duration::from_millis(800);

/// Measures for about three seconds, during which nothing else should run. Writes some tens of megabytes below `folder`
/// and removes them again. Blocks the calling thread.
pub fn file_limits(folder: &Path) -> io::Result<FileLimits> {
    limits(folder, SLICE, FILE_BYTES)
}

fn limits(folder: &Path, slice: Duration, file_bytes: usize) -> io::Result<FileLimits> {
    let folder = tempfile::Builder::new()
        .prefix("tally-disk-")
        .tempdir_in(folder)?;
    let disk = written(folder.path(), slice, file_bytes)?;
    let tls = connection::ceiling(slice / 2)?;
    let together = together(folder.path(), slice, file_bytes)?;
    Ok(FileLimits {
        disk_mb_per_s: disk,
        tls_mb_per_s: tls.mbit_per_s / 8.0,
        hash_mb_per_s: hashing::megabytes_per_s(slice / 4),
        together_mb_per_s: together,
    })
}

/// Returns the megabytes per second of files written, synced and removed: the better of sequential and concurrent writes.
fn written(folder: &Path, slice: Duration, file_bytes: usize) -> io::Result<f64> {
    let alone = side_by_side(1, |at| write_files(folder, at, slice / 2, file_bytes))?;
    let several = side_by_side(SIDE_BY_SIDE, |at| {
        write_files(folder, at, slice / 2, file_bytes)
    })?;
    Ok(alone.max(several))
}

/// Returns the sum of the threads' results.
fn side_by_side(
    count: usize,
    work: impl Fn(usize) -> io::Result<f64> + Send + Sync,
) -> io::Result<f64> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count).map(|at| scope.spawn(move || work(at))).collect();
        let mut sum = 0.0;
        for thread in threads {
            let panicked = |_| io::Error::other("a measuring thread panicked");
            sum += thread.join().map_err(panicked)??;
        }
        Ok(sum)
    })
}

fn write_files(folder: &Path, at: usize, slice: Duration, file_bytes: usize) -> io::Result<f64> {
    let block = [0x5a; BLOCK_BYTES];
    let begun = Instant::now();
    let mut bytes = 0u64;
    loop {
        let path = folder.join(format!("written-{at}"));
        let mut file = create(&path)?;
        let mut left = file_bytes;
        while left > 0 {
            let most = left.min(BLOCK_BYTES);
            file.write_all(&block[..most])?;
            left -= most;
        }
        file.sync_data()?;
        bytes += file_bytes as u64;
        let seconds = begun.elapsed();
        std::fs::remove_file(&path)?;
        if seconds >= slice {
            return Ok(megabytes_per_s(bytes, seconds));
        }
    }
}

/// Returns the megabytes per second from one file in the page cache through TLS into another file that is hashed and
/// synced. This is the best that one node can send to another if both are on this machine.
fn together(folder: &Path, slice: Duration, file_bytes: usize) -> io::Result<f64> {
    let source = folder.join("source");
    let mut file = create(&source)?;
    file.write_all(&vec![0x5a; file_bytes])?;
    file.sync_data()?;
    let (server, client) = connection::configs().map_err(io::Error::other)?;
    let (server, client) = (Arc::new(server), Arc::new(client));
    side_by_side(SIDE_BY_SIDE, |at| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        std::thread::scope(|scope| {
            let (server, client) = (Arc::clone(&server), Arc::clone(&client));
            let target = folder.join(format!("target-{at}"));
            let far = scope.spawn(move || take(&listener, server, &target, file_bytes));
            let sent = send(&source, near, client, slice);
            let panicked = |_| io::Error::other("the far end panicked");
            let taken = far.join().map_err(panicked)?;
            sent?;
            taken
        })
    })
}

fn send(
    source: &Path,
    socket: TcpStream,
    config: Arc<ClientConfig>,
    slice: Duration,
) -> io::Result<()> {
    let file = File::open(source)?;
    let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
    let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, ready(socket)?);
    let mut block = vec![0; BLOCK_BYTES];
    let begun = Instant::now();
    // Whole files only: the far end counts the files that it has synced.
    while begun.elapsed() < slice {
        let mut offset = 0;
        loop {
            let read = file.read_at(&mut block, offset)?;
            if read == 0 {
                break;
            }
            stream.write_all(&block[..read])?;
            offset += read as u64;
        }
    }
    stream.conn.send_close_notify();
    stream.flush()?;
    // Waits until the far end has closed. Its messages after the handshake must be read, or the system would reset the
    // connection.
    let _ = stream.read(&mut block);
    Ok(())
}

fn take(
    listener: &TcpListener,
    config: Arc<ServerConfig>,
    target: &Path,
    file_bytes: usize,
) -> io::Result<f64> {
    let (socket, _) = listener.accept()?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, ready(socket)?);
    let mut block = vec![0; BLOCK_BYTES];
    let begun = Instant::now();
    let mut bytes = 0u64;
    loop {
        let mut file = create(target)?;
        let mut hasher = Hasher::new();
        let mut left = file_bytes;
        while left > 0 {
            let most = left.min(BLOCK_BYTES);
            let read = stream.read(&mut block[..most])?;
            if read == 0 {
                return Ok(megabytes_per_s(bytes, begun.elapsed()));
            }
            hasher.update(&block[..read]);
            file.write_all(&block[..read])?;
            left -= read;
        }
        file.sync_data()?;
        std::hint::black_box(hasher.finish());
        bytes += file_bytes as u64;
        std::fs::remove_file(target)?;
    }
}

/// Creates a file that can also be read.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(path)
}

fn megabytes_per_s(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_measured_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let slice = Duration::from_millis(40);
        let limits = limits(folder.path(), slice, 100_000).expect("the folder is writable");
        for (name, value) in [
            ("disk", limits.disk_mb_per_s),
            ("tls", limits.tls_mb_per_s),
            ("hash", limits.hash_mb_per_s),
            ("together", limits.together_mb_per_s),
        ] {
            assert!(value > 0.0 && value.is_finite(), "{name}");
            assert!(limits.least_mb_per_s() <= value || name == "together");
        }
        let left = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(left, 0);
        assert!(file_limits(Path::new("/nowhere/at/all")).is_err());
    }
}
