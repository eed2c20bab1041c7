//! Tables of an analysis in files that are mapped, so that the system can put away what is not being looked at.

#![allow(unsafe_code, reason = "a file is mapped, which nobody else can open: it has no name")]

use std::io;
use std::path::PathBuf;

use memmap2::MmapMut;
use quipu_heap::{Bytes, Scratch};

/// Files without names in a directory: they are gone with this process, however it ends.
pub struct InFiles {
    /// Where they are.
    pub directory: PathBuf,
}

struct Mapped(MmapMut);

impl Bytes for Mapped {
    fn get(&self) -> &[u8] {
        &self.0
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Scratch for InFiles {
    fn bytes(&self, size: usize) -> io::Result<Box<dyn Bytes>> {
        let file = tempfile::tempfile_in(&self.directory)?;
        // Room is taken now: a disk that is full later would end this process with a signal.
        let size = size.max(1);
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size as u64) {
            Ok(()) => {}
            // A file system that cannot say in advance.
            Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(size as u64)?,
            Err(error) => return Err(error.into()),
        }
        // SAFETY: nobody else has this file, so nobody else changes or cuts it.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Box::new(Mapped(map)))
    }
}
