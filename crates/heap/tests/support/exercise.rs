//! Everything that can be asked of a dump; for tests and for the fuzzer.

use quipu_heap::{
    Analysis, Condition, Dump, GroupBy, HeapError, InMemory, Objects, Paths, Unwatched, collections, list,
    strings, suspects,
};

/// Asks everything.
pub fn exercise(bytes: &[u8]) -> Result<(), HeapError> {
    let counted = Dump::count(&bytes, &Unwatched)?;
    let dump = Dump::open(&bytes, &Unwatched)?;
    assert_eq!(&counted.histogram, dump.histogram());
    let analysis = Analysis::new(&dump, &InMemory, &Unwatched)?;
    for by in [GroupBy::Class, GroupBy::Loader, GroupBy::Package] {
        analysis.groups(by, &Unwatched)?;
    }
    analysis.unreachable();
    suspects(&analysis, 3, &Unwatched)?;
    let ids: Vec<u64> = analysis.biggest(5)?.into_iter().map(|holder| holder.id).collect();
    Paths::of(&analysis).to_ids(&ids, &Unwatched)?;
    strings(&dump, 5, &Unwatched)?;
    collections(&dump, &Unwatched)?;
    let all = dump.classes().matching("*");
    let condition = Condition::parse("size > 1 or this != null").unwrap();
    let listing = list(&dump, &all, Some(&condition), 1_000, &Unwatched)?;
    let mut objects = Objects::new(&dump);
    for object in &listing.objects {
        objects.summary(object);
        objects.elements(object, 10);
    }
    Ok(())
}
