//! The target's side: makes the file, maps it, gives it pages, keeps the log.
//!
//! The whole limit is mapped at once over a sparse file, so nothing ever moves. Pages are
//! allocated to the file *before* they are touched ([`ArenaWriter::commit`]): a full disk is then an
//! error here, where it only stops the tree from growing, and not a SIGBUS in the target.
#![allow(unsafe_code)] // Maps a file that the JVM's threads write to as well; see each block.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::layout::{self, chunk, header, node, slot};
use crate::record::{GROUP_THREADS, RECORD_HEADER, Record};
use crate::tally::Tallies;

/// The file grows by at least this much at a time.
const COMMIT_STEP: u64 = 4 << 20;
/// Size of a log chunk, unless a record needs more.
const LOG_CHUNK: u64 = 256 << 10;

/// A mapped arena. It is never unmapped: the JVM's threads may write to it until the process ends.
pub struct ArenaWriter {
    base: *mut u8,
    limit: u64,
    file: File,
    path: PathBuf,
    /// Held while pages are given to the file.
    tallies: Mutex<Tallies>,
    /// Held while a chunk is added.
    chunks: Mutex<()>,
    /// Chunks for samples and events that an earlier profile used; those that come first in the file are the last.
    free_chunks: Mutex<Vec<u64>>,
    log: Mutex<Log>,
}

/// The chunk that takes the next record.
struct Log {
    at: u64,
    used: u64,
    size: u64,
    scratch: Vec<u8>,
}

// SAFETY: `base` points to a mapping that lives as long as the process; the words shared between
// threads are accessed as atomics, the log behind its mutex.
unsafe impl Send for ArenaWriter {}
// SAFETY: as above.
unsafe impl Sync for ArenaWriter {}

impl ArenaWriter {
    /// Makes a new arena file, readable by its owner only, that may grow to `limit` bytes.
    pub fn create(path: &Path, limit: u64) -> io::Result<ArenaWriter> {
        let limit =
            limit.clamp(COMMIT_STEP, layout::MAX_LIMIT - layout::HEADER_SIZE) & !(layout::HEADER_SIZE - 1);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        // Tells a process that cleans up, in other containers too, that it is in use. File systems without locks have none.
        // SAFETY: our own descriptor; the lock goes with it.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) };
        file.set_len(limit)?;
        let length = usize::try_from(limit).map_err(io::Error::other)?;
        // SAFETY: a fresh shared mapping of a file we just made, at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        let arena = ArenaWriter {
            base: base.cast(),
            limit,
            file,
            path: path.to_owned(),
            tallies: Mutex::default(),
            chunks: Mutex::default(),
            free_chunks: Mutex::default(),
            log: Mutex::new(Log { at: 0, used: 0, size: 0, scratch: Vec::new() }),
        };
        if !arena.commit(COMMIT_STEP) {
            let _ = std::fs::remove_file(path);
            return Err(io::Error::other("no room for the arena's first pages"));
        }
        arena.word(header::VERSION).store(layout::VERSION, Ordering::Relaxed);
        arena.long(header::LIMIT).store(limit, Ordering::Relaxed);
        arena.long(header::USED).store(layout::HEADER_SIZE, Ordering::Relaxed);
        arena.word(header::PID).store(std::process::id(), Ordering::Relaxed);
        arena.begin();
        // Tree 0 stands for no thread.
        arena.word(header::NEXT_TREE).store(1, Ordering::Relaxed);
        // The magic word last: a reader never sees half a header.
        arena.word(header::MAGIC).store(layout::MAGIC, Ordering::Release);
        Ok(arena)
    }

    /// A profile begins now.
    pub(crate) fn begin(&self) {
        self.long(header::CREATED).store(now(), Ordering::Relaxed);
        self.word(header::STATE).store(layout::state::RUNNING, Ordering::Relaxed);
    }

    /// These chunks, in the order of the file, are empty and can be used again. In that order: readers tell by their place
    /// in the file which samples are newer.
    pub(crate) fn set_free_chunks(&self, mut chunks: Vec<u64>) {
        chunks.reverse();
        *lock(&self.free_chunks) = chunks;
    }

    /// One of them, of this kind.
    pub(crate) fn take_free_chunk(&self, kind: u32) -> Option<u64> {
        let mut free = lock(&self.free_chunks);
        let at = free.iter().rposition(|&at| self.word(at + chunk::KIND).load(Ordering::Relaxed) == kind)?;
        Some(free.remove(at))
    }

    /// Address of the first byte.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file pages up to `end`; `false` if the limit or the disk does not allow it.
    pub fn commit(&self, end: u64) -> bool {
        let tallies = self.tallies();
        let committed = self.long(header::COMMITTED).load(Ordering::Relaxed);
        if end <= committed {
            return true;
        }
        let limit = self.limit.saturating_sub(tallies.committed());
        if end > limit {
            return false;
        }
        // An eighth more than what is there keeps the number of system calls logarithmic.
        let step = COMMIT_STEP.max(committed / 8);
        let target = end.max(committed.saturating_add(step)).min(limit);
        let mut reached = target;
        if !self.allocate_pages(committed, target) {
            if !self.allocate_pages(committed, end) {
                return false;
            }
            reached = end;
        }
        self.long(header::COMMITTED).store(reached, Ordering::Release);
        true
    }

    /// Whether tallies can have so many bytes in all, beside the chunks that are there.
    pub(crate) fn has_room(&self, tallies: u64) -> bool {
        let committed = self.long(header::COMMITTED).load(Ordering::Relaxed);
        committed.checked_add(tallies).is_some_and(|sum| sum <= self.limit)
    }

    pub(crate) fn tallies(&self) -> MutexGuard<'_, Tallies> {
        lock(&self.tallies)
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn allocate_pages(&self, from: u64, to: u64) -> bool {
        let (Ok(from), Ok(len)) = (libc::off_t::try_from(from), libc::off_t::try_from(to - from)) else {
            return false;
        };
        // SAFETY: a system call on our own descriptor.
        unsafe { libc::posix_fallocate(self.file.as_raw_fd(), from, len) == 0 }
    }

    /// Address of an offset below the limit.
    pub fn address(&self, offset: u64) -> *mut u8 {
        debug_assert!(offset < self.limit);
        self.base.wrapping_add(offset as usize)
    }

    /// The offset of a slot in memory, if it is one of a context that is shown: of a node of a tree that is no root. Whatever
    /// the address is, nothing outside the arena is touched. For signal handlers.
    pub fn slot_in_tree(&self, address: u64) -> Option<u64> {
        let used = self.long(header::USED).load(Ordering::Acquire);
        let inside = |at: u64, size: u64| {
            (layout::HEADER_SIZE..=used.saturating_sub(size)).contains(&at) && at.is_multiple_of(8)
        };
        let at = address.checked_sub(self.base as u64).filter(|&at| inside(at, slot::SIZE))?;
        let distance = self.word(at + slot::NODE).load(Ordering::Relaxed).cast_signed();
        let linked = at.checked_add_signed(i64::from(distance) * layout::LINK_UNIT.cast_signed())?;
        let linked = Some(linked).filter(|&at| inside(at, node::SLOTS))?;
        let owner = match self.word(at + slot::METHOD).load(Ordering::Relaxed) {
            0 => linked,
            _ => u64::from(self.word(linked + node::PARENT).load(Ordering::Relaxed)) * layout::ID_UNIT,
        };
        let owner = Some(owner).filter(|&at| inside(at, node::SLOTS))?;
        let word = self.word(owner + node::METHOD).load(Ordering::Relaxed);
        let depth = self.word(owner + node::DEPTH).load(Ordering::Relaxed);
        let shown = word & 1 == 1 && depth & layout::HIDDEN == 0;
        (shown && word != layout::method_word(layout::ROOT_METHOD)).then_some(at)
    }

    /// Room that readers pass over; returns its offset, or `None` when the arena is full.
    pub fn add_private(&self, size: u64) -> Option<u64> {
        self.add_chunk(layout::CHUNK_PRIVATE, chunk::HEADER + size).map(|at| at + chunk::HEADER)
    }

    /// Adds a chunk for nodes of a tree; returns its address, or `None` when the arena is full. The caller fills it.
    pub fn add_nodes(&self, tree: u32, size: u64) -> Option<*mut u8> {
        self.add_chunk_of(layout::CHUNK_NODES, tree, size).map(|at| self.address(at))
    }

    /// Adds a chunk for so many entries of a ledger, all of them empty; returns its address. Readers pass over it until the
    /// thread that fills it makes it a [`layout::CHUNK_LEDGER`]; from then on they pass over the one at the offset `replaces`.
    pub fn add_ledger(&self, tree: u32, entries: u64, replaces: u64) -> Option<*mut u8> {
        let size = chunk::HEADER.checked_add(entries.checked_mul(layout::ledger::SIZE)?)?;
        let at = self.add_chunk_of(layout::CHUNK_PRIVATE, tree, size)?;
        self.long(at + chunk::REPLACES).store(replaces, Ordering::Relaxed);
        self.long(at + chunk::USED).store(size, Ordering::Release);
        Some(self.address(at))
    }

    /// Adds a chunk and returns its offset.
    pub(crate) fn add_chunk(&self, kind: u32, size: u64) -> Option<u64> {
        self.add_chunk_of(kind, 0, size)
    }

    fn add_chunk_of(&self, kind: u32, tree: u32, size: u64) -> Option<u64> {
        let size = size.checked_next_multiple_of(layout::CHUNK_ALIGN)?;
        let _adding = lock(&self.chunks);
        let at = self.long(header::USED).load(Ordering::Relaxed);
        let end = at.checked_add(size)?;
        if !self.commit(end) {
            return None;
        }
        self.word(at + chunk::KIND).store(kind, Ordering::Relaxed);
        self.word(at + chunk::TREE).store(tree, Ordering::Relaxed);
        self.long(at + chunk::SIZE).store(size, Ordering::Relaxed);
        self.long(at + chunk::USED).store(chunk::HEADER, Ordering::Relaxed);
        self.long(header::USED).store(end, Ordering::Release);
        Some(at)
    }

    /// Appends a record; returns the offset of its payload, or `None` when the arena is full.
    pub fn log(&self, record: &Record<'_>) -> Option<u64> {
        let mut log = lock(&self.log);
        let mut scratch = std::mem::take(&mut log.scratch);
        scratch.clear();
        record.encode(&mut scratch);
        let at = self.append(&mut log, &scratch);
        log.scratch = scratch;
        at.map(|at| at + RECORD_HEADER)
    }

    /// Appends records that were encoded elsewhere, all or none.
    pub fn log_encoded(&self, records: &[u8]) -> Option<u64> {
        self.append(&mut lock(&self.log), records)
    }

    fn append(&self, log: &mut Log, record: &[u8]) -> Option<u64> {
        let len = record.len() as u64;
        if log.used + len > log.size {
            let size = LOG_CHUNK.max(chunk::HEADER + len);
            log.at = self.add_chunk(layout::CHUNK_LOG, size)?;
            log.size = size.next_multiple_of(layout::CHUNK_ALIGN);
            log.used = chunk::HEADER;
        }
        let at = log.at + log.used;
        // SAFETY: [at, at + len) lies in the chunk just checked, which only the holder of the log's
        // mutex writes to, and its pages are committed.
        unsafe { std::ptr::copy_nonoverlapping(record.as_ptr(), self.base.add(at as usize), record.len()) };
        log.used += len;
        self.long(log.at + chunk::USED).store(log.used, Ordering::Release);
        Some(at)
    }

    /// A copy of what lies at an offset, as far as the arena has been used; of the log, which is only ever added to.
    pub(crate) fn copy(&self, at: u64, len: u64) -> Vec<u8> {
        let end = at.saturating_add(len).min(self.read(header::USED));
        let mut bytes = vec![0; end.saturating_sub(at) as usize];
        // SAFETY: what is in use has pages, and `bytes` has as much room as is copied; records do not change once they
        // are in the log, except for a thread count that is not copied.
        unsafe { std::ptr::copy_nonoverlapping(self.base.add(at as usize), bytes.as_mut_ptr(), bytes.len()) };
        bytes
    }

    /// Counts one more thread in a group whose record's payload is at `payload`.
    pub fn count_thread(&self, payload: u64) {
        self.long(payload + GROUP_THREADS).fetch_add(1, Ordering::Relaxed);
    }

    /// Adds to one of the header's counters.
    pub fn add(&self, field: u64, n: u64) {
        debug_assert!(field + 8 <= layout::HEADER_SIZE);
        self.long(field).fetch_add(n, Ordering::Relaxed);
    }

    /// Sets one of the header's numbers.
    pub fn set(&self, field: u64, value: u64) {
        debug_assert!(field + 8 <= layout::HEADER_SIZE);
        self.long(field).store(value, Ordering::Relaxed);
    }

    /// One of the header's numbers.
    pub fn read(&self, field: u64) -> u64 {
        debug_assert!(field + 8 <= layout::HEADER_SIZE);
        self.long(field).load(Ordering::Relaxed)
    }

    /// Says that the target ended in an orderly way.
    pub fn end(&self) {
        self.long(header::ENDED).store(now(), Ordering::Relaxed);
        self.word(header::STATE).store(layout::state::ENDED, Ordering::Release);
    }

    pub(crate) fn word(&self, at: u64) -> &AtomicU32 {
        debug_assert!(at + 4 <= self.limit && at.is_multiple_of(4));
        // SAFETY: every caller passes an aligned offset below the committed part of the mapping;
        // these words are accessed as atomics on the Rust side and with Unsafe on the Java side.
        unsafe { AtomicU32::from_ptr(self.base.add(at as usize).cast()) }
    }

    pub(crate) fn long(&self, at: u64) -> &AtomicU64 {
        debug_assert!(at + 8 <= self.limit && at.is_multiple_of(8));
        // SAFETY: as for `word`.
        unsafe { AtomicU64::from_ptr(self.base.add(at as usize).cast()) }
    }
}

/// A poisoned lock only says that some callback failed half-way; the data is append-only.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Contents;
    use crate::record::Record;

    fn scratch_path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn what_is_logged_can_be_read_while_running() {
        let path = scratch_path("log");
        let arena = ArenaWriter::create(&path, 64 << 20).unwrap();
        let group = Record::Group { id: 1, is_virtual: 0, threads: 1, first: b"main", pattern: b"main" };
        let payload = arena.log(&group).unwrap();
        arena.count_thread(payload);
        for i in 0..20_000u32 {
            let name = format!("some/package/Class{i}");
            arena.log(&Record::Class { id: i, loader: 0, name: name.as_bytes(), source: b"C.java" }).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        let contents = Contents::read(&bytes).unwrap();
        assert_eq!(contents.damage, Default::default());
        assert_eq!(contents.records.len(), 20_001);
        assert!(matches!(contents.records[0], Record::Group { threads: 2, .. }));
        assert!(!contents.header.ended);
        arena.end();
        assert!(Contents::read(&std::fs::read(&path).unwrap()).unwrap().header.ended);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_limit_holds() {
        let path = scratch_path("limit");
        let arena = ArenaWriter::create(&path, 8 << 20).unwrap();
        assert!(arena.commit(8 << 20));
        assert!(!arena.commit((8 << 20) + 1));
        let long = vec![b'x'; 1 << 20];
        let logged =
            (0..20).filter(|_| arena.log(&Record::Info { key: b"k", value: &long }).is_some()).count();
        assert!((5..8).contains(&logged), "{logged} records of 1 MB in 8 MB");
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(Contents::read(&bytes).unwrap().records.len(), logged);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let path = scratch_path("exists");
        std::fs::write(&path, b"precious").unwrap();
        assert!(ArenaWriter::create(&path, 1 << 20).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        std::fs::remove_file(path).unwrap();
    }
}
