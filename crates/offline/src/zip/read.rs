//! Reading the directory of a zip file that was not checked before.

use super::{Archive, CENTRAL, END, END_64, Entry, LOCAL, LOCATOR_64};
use crate::error::Error;

const EXTRA_64: u16 = 1;
const END_SIZE: usize = 22;

impl<'a> Archive<'a> {
    /// Reads the directory.
    pub fn read(bytes: &'a [u8]) -> Result<Archive<'a>, Error> {
        let (end, comment) = find_end(bytes).ok_or(Error::NotAZip)?;
        let cut = || Error::Damaged("its directory is cut off");
        let mut count = u64::from(u16_at(bytes, end + 10).ok_or_else(cut)?);
        let mut size = u64::from(u32_at(bytes, end + 12).ok_or_else(cut)?);
        let mut offset = u64::from(u32_at(bytes, end + 16).ok_or_else(cut)?);
        let mut directory_end = end;
        let locator = end.checked_sub(20).filter(|&at| u32_at(bytes, at) == Some(LOCATOR_64));
        if let Some(locator) = locator {
            // Not at the place it names if something was put before the archive, but always just before the locator.
            let at =
                locator.checked_sub(56).filter(|&at| u32_at(bytes, at) == Some(END_64)).ok_or_else(cut)?;
            count = u64_at(bytes, at + 32).ok_or_else(cut)?;
            size = u64_at(bytes, at + 40).ok_or_else(cut)?;
            offset = u64_at(bytes, at + 48).ok_or_else(cut)?;
            directory_end = at;
        }
        let size = usize::try_from(size).map_err(|_| cut())?;
        let start = directory_end.checked_sub(size).ok_or_else(cut)?;
        // Offsets do not count what was put before the archive later on.
        let shift =
            usize::try_from(offset).ok().and_then(|offset| start.checked_sub(offset)).ok_or_else(cut)?;
        let directory = bytes.get(start..directory_end).ok_or_else(cut)?;
        let mut entries = Vec::new();
        let mut at = 0;
        for _ in 0..count {
            let (entry, next) = read_entry(bytes, directory, at, shift, start)?;
            entries.push(entry);
            at = next;
        }
        refuse_overlaps(&entries)?;
        let first = entries.iter().map(|entry| entry.range.0).min().unwrap_or(start);
        Ok(Archive { prefix: bytes.get(..first).unwrap_or_default(), entries, comment })
    }
}

/// The entry at `at` of the directory, and where the next one is.
fn read_entry<'a>(
    bytes: &'a [u8],
    directory: &'a [u8],
    at: usize,
    shift: usize,
    directory_start: usize,
) -> Result<(Entry<'a>, usize), Error> {
    let cut = || Error::Damaged("its directory has fewer entries than it says");
    if u32_at(directory, at) != Some(CENTRAL) {
        return Err(cut());
    }
    let half = |offset: usize| u16_at(directory, at + offset).ok_or_else(cut);
    let word = |offset: usize| u32_at(directory, at + offset).ok_or_else(cut);
    let (name_end, extra_end);
    let name_at = at + 46;
    name_end = name_at + usize::from(half(28)?);
    extra_end = name_end + usize::from(half(30)?);
    let next = extra_end + usize::from(half(32)?);
    let name = directory.get(name_at..name_end).ok_or_else(cut)?;
    let extra = directory.get(name_end..extra_end).ok_or_else(cut)?;
    let comment = directory.get(extra_end..next).ok_or_else(cut)?;
    let shown = || String::from_utf8_lossy(name).into_owned();
    let outside = || Error::Entry { name: shown(), why: "lies outside of the file".to_owned() };
    if word(20)? == u32::MAX || word(24)? == u32::MAX || word(42)? == u32::MAX {
        return Err(Error::Entry { name: shown(), why: "is larger than 4 GB".to_owned() });
    }
    if points_outside(name) {
        return Err(Error::Entry {
            name: shown(),
            why: "has a name that points outside of the jar".to_owned(),
        });
    }
    let local = usize::try_from(word(42)?).ok().and_then(|at| at.checked_add(shift)).ok_or_else(outside)?;
    if u32_at(bytes, local) != Some(LOCAL) {
        return Err(outside());
    }
    let local_name = usize::from(u16_at(bytes, local + 26).ok_or_else(outside)?);
    let local_extra = usize::from(u16_at(bytes, local + 28).ok_or_else(outside)?);
    let extra_at = local + 30 + local_name;
    let data = extra_at + local_extra;
    let end = usize::try_from(word(20)?).ok().and_then(|size| data.checked_add(size)).ok_or_else(outside)?;
    if end > directory_start {
        return Err(outside());
    }
    let entry = Entry {
        name: name.into(),
        made_by: half(4)?,
        flags: half(8)?,
        method: half(10)?,
        time: word(12)?,
        crc: word(16)?,
        size: word(24)?,
        internal: half(36)?,
        external: word(38)?,
        packed: bytes.get(data..end).ok_or_else(outside)?.into(),
        extra: without_64(extra),
        local_extra: without_64(bytes.get(extra_at..data).ok_or_else(outside)?),
        comment,
        range: (local, end),
    };
    Ok((entry, next))
}

/// Names that would lead a program that unpacks the archive somewhere else.
fn points_outside(name: &[u8]) -> bool {
    name.first() == Some(&b'/')
        || name.contains(&0)
        || name.split(|&byte| byte == b'/' || byte == b'\\').any(|part| part == b"..")
}

/// Entries that share bytes are how a small archive unpacks to a huge one.
fn refuse_overlaps(entries: &[Entry<'_>]) -> Result<(), Error> {
    let mut ranges: Vec<(usize, usize)> = entries.iter().map(|entry| entry.range).collect();
    ranges.sort_unstable();
    let overlap = ranges.windows(2).any(|pair| matches!(pair, [(_, end), (next, _)] if end > next));
    if overlap { Err(Error::Damaged("entries overlap")) } else { Ok(()) }
}

fn find_end(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let last = bytes.len().checked_sub(END_SIZE)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    (first..=last).rev().find_map(|at| {
        let comment = usize::from(u16_at(bytes, at + 20)?);
        let fits = u32_at(bytes, at) == Some(END) && at + END_SIZE + comment == bytes.len();
        fits.then(|| (at, bytes.get(at + END_SIZE..).unwrap_or_default()))
    })
}

/// Extra fields but for Zip64's, whose sizes no longer hold.
fn without_64(mut extra: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    while let (Some(id), Some(size)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let end = 4 + usize::from(size);
        let Some(field) = extra.get(..end) else { break };
        if id != EXTRA_64 {
            kept.extend_from_slice(field);
        }
        extra = extra.get(end..).unwrap_or_default();
    }
    kept.extend_from_slice(extra);
    kept
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at.checked_add(2)?)?.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
}
