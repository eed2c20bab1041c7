//! From the id of an object, its address, to its number.
//!
//! Objects are numbered as they stand in the dump, and a VM writes them mostly in the order of their addresses. So the
//! address space is cut into pages of 256 places where an object can begin; a page has a bit for each place and the number
//! of its first object, and an object's number is that plus the bits below its own. That takes about 2 bytes for every
//! 100 of heap instead of 8 for every object, and a lookup touches two or three lines of memory. Pages in which the dump
//! jumps back and forth, few in real ones, have a list of their own.

use rayon::prelude::*;

/// Places for objects in a page.
const PLACES: u64 = 256;
/// Set in `Page::first` if the rest is a place in the lists.
const LISTED: u64 = 1 << 63;

/// Ascending objects of one page with numbers that follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    key: u64,
    bits: [u64; 4],
    first: u64,
}

impl Page {
    fn highest(&self) -> u32 {
        let word = self.bits.iter().rposition(|&bits| bits != 0).unwrap_or(0);
        word as u32 * 64 + 63_u32.saturating_sub(self.bits[word].leading_zeros())
    }

    fn lowest(&self) -> u32 {
        let word = self.bits.iter().position(|&bits| bits != 0).unwrap_or(0);
        word as u32 * 64 + self.bits[word].trailing_zeros()
    }

    fn count(&self) -> u32 {
        self.bits.iter().map(|bits| bits.count_ones()).sum()
    }

    #[inline]
    fn below(&self, place: u32) -> u32 {
        let (word, bit) = ((place / 64) as usize, place % 64);
        let whole: u32 = self.bits[..word].iter().map(|bits| bits.count_ones()).sum();
        whole + (self.bits[word] & ((1 << bit) - 1)).count_ones()
    }

    #[inline]
    fn has(&self, place: u32) -> bool {
        self.bits[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    fn places(&self) -> impl Iterator<Item = u32> + '_ {
        (0..PLACES as u32).filter(|&place| self.has(place))
    }
}

/// Collects pages while objects come by.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Addresses are multiples of 1 << shift.
    shift: u32,
    pub pages: Vec<Page>,
    last: u64,
    next: u64,
}

impl Pages {
    pub fn new(shift: u32) -> Pages {
        Pages { shift, pages: Vec::new(), last: 0, next: 0 }
    }

    /// What ids are multiples of, as a power of two.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The object with the next number; whether the id is a multiple of what ids are taken to be.
    #[inline]
    pub fn add(&mut self, id: u64, number: u64) -> bool {
        let place = id >> self.shift;
        let (key, bit) = (place / PLACES, (place % PLACES) as u32);
        let goes_on = place > self.last && number == self.next;
        self.last = place;
        self.next = number + 1;
        match self.pages.last_mut() {
            Some(page) if goes_on && page.key == key => page.bits[(bit / 64) as usize] |= 1 << (bit % 64),
            _ => {
                let mut bits = [0; 4];
                bits[(bit / 64) as usize] = 1 << (bit % 64);
                self.pages.push(Page { key, bits, first: number });
            }
        }
        place << self.shift == id
    }

    /// Numbers from here on are so much higher.
    pub fn raise(&mut self, from: usize, by: u64) {
        self.pages[from..].iter_mut().for_each(|page| page.first += by);
    }
}

/// All addresses.
#[derive(Debug)]
pub(crate) struct Addresses {
    shift: u32,
    pages: Vec<Page>,
    /// Places and numbers, sorted, of the pages that are not in order.
    lists: Vec<Vec<(u32, u64)>>,
    /// Where the pages of a range of keys begin.
    buckets: Vec<u32>,
    bucket_shift: u32,
    /// Objects that have the id of another.
    pub duplicates: u64,
}

impl Addresses {
    pub fn new(shift: u32, mut pieces: Vec<Page>) -> Addresses {
        pieces.par_sort_unstable_by_key(|page| (page.key, page.first));
        let mut pages: Vec<Page> = Vec::with_capacity(pieces.len());
        let (mut lists, mut duplicates) = (Vec::new(), 0);
        let mut from = 0;
        while let Some(&first) = pieces.get(from) {
            let same = pieces[from..].iter().take_while(|page| page.key == first.key).count();
            let group = &pieces[from..from + same];
            from += same;
            let mut whole = first;
            let mut in_order = true;
            for page in &group[1..] {
                in_order &=
                    page.lowest() > whole.highest() && page.first == whole.first + u64::from(whole.count());
                whole.bits.iter_mut().zip(page.bits).for_each(|(bits, more)| *bits |= more);
            }
            if !in_order {
                let mut list: Vec<(u32, u64)> =
                    group.iter().flat_map(|page| page.places().zip(page.first..)).collect();
                list.sort_unstable();
                let before = list.len();
                list.dedup_by_key(|(place, _)| *place);
                duplicates += (before - list.len()) as u64;
                whole.first = LISTED | lists.len() as u64;
                lists.push(list);
            }
            pages.push(whole);
        }
        pages.shrink_to_fit();
        let (low, high) = (pages.first().map_or(0, |p| p.key), pages.last().map_or(0, |p| p.key));
        let spread = (high - low) / (2 * pages.len() as u64 + 1);
        let bucket_shift = 64 - spread.leading_zeros();
        let mut buckets = Vec::new();
        for (i, page) in pages.iter().enumerate() {
            let bucket = ((page.key - low) >> bucket_shift) as usize;
            while buckets.len() <= bucket {
                buckets.push(i as u32);
            }
        }
        buckets.push(pages.len() as u32);
        Addresses { shift, pages, lists, buckets, bucket_shift, duplicates }
    }

    /// The number of the object with this id.
    #[inline]
    pub fn number(&self, id: u64) -> Option<u64> {
        let place = id >> self.shift;
        let (key, bit) = (place / PLACES, (place % PLACES) as u32);
        let low = self.pages.first()?.key;
        let bucket = (key.checked_sub(low)? >> self.bucket_shift) as usize;
        let (&begin, &end) = (self.buckets.get(bucket)?, self.buckets.get(bucket + 1)?);
        let pages = &self.pages[begin as usize..end as usize];
        let page = &pages[pages.binary_search_by_key(&key, |page| page.key).ok()?];
        if !page.has(bit) || place << self.shift != id {
            return None;
        }
        if page.first & LISTED == 0 {
            return Some(page.first + u64::from(page.below(bit)));
        }
        let list = &self.lists[(page.first & !LISTED) as usize];
        list.binary_search_by_key(&bit, |(place, _)| *place).ok().map(|i| list[i].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn check(ids: &[u64], shift: u32, parts: usize) {
        let mut pieces = Vec::new();
        for (i, part) in ids.chunks(ids.len().div_ceil(parts).max(1)).enumerate() {
            let mut pages = Pages::new(shift);
            for (j, &id) in part.iter().enumerate() {
                assert!(pages.add(id, j as u64));
            }
            pages.raise(0, (i * ids.len().div_ceil(parts)) as u64);
            pieces.extend(pages.pages);
        }
        let addresses = Addresses::new(shift, pieces);
        let mut first: HashMap<u64, u64> = HashMap::new();
        for (number, &id) in ids.iter().enumerate() {
            first.entry(id).or_insert(number as u64);
        }
        for (&id, &number) in &first {
            assert_eq!(addresses.number(id), Some(number), "{id:#x}");
            for near in [id + (1 << shift), id.wrapping_sub(1 << shift), id + 1] {
                assert_eq!(addresses.number(near), first.get(&near).copied(), "{near:#x}");
            }
        }
        assert_eq!(addresses.duplicates, (ids.len() - first.len()) as u64);
    }

    #[test]
    fn objects_in_order_need_no_lists() {
        let ids: Vec<u64> = (0..10_000).map(|i| 0x7000_0000 + i * 24).collect();
        check(&ids, 3, 1);
        check(&ids, 3, 7);
        let mut pages = Pages::new(3);
        ids.iter().enumerate().for_each(|(i, &id)| _ = pages.add(id, i as u64));
        assert_eq!(Addresses::new(3, pages.pages).lists.len(), 0);
    }

    proptest! {
        #[test]
        fn any_order_any_place(
            near in proptest::collection::vec(0_u64..5_000, 1..300),
            far in proptest::collection::vec(1_u64..u64::MAX >> 4, 0..20),
            parts in 1_usize..5,
        ) {
            let ids: Vec<u64> = near.iter().map(|i| 0x6_0000_0000 + i * 8).chain(far.iter().map(|i| i << 3)).collect();
            check(&ids, 3, parts);
            let ids: Vec<u64> = near.into_iter().chain(far).collect();
            check(&ids, 0, parts);
        }
    }
}
