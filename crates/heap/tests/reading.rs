//! A dump whose contents are known, read in every way.

mod support;

use quipu_heap::{
    Analysis, Condition, Dump, GroupBy, HeapError, InMemory, Objects, Paths, Unwatched, collections, list,
    strings, suspects,
};
use support::{OBJECTS, SESSION, Writer, shop};

fn with_shop(body: impl Fn(&Dump<'_>)) {
    for id_size in [4, 8] {
        let bytes = shop(id_size);
        let dump = Dump::open(&bytes, &Unwatched).unwrap();
        assert_eq!(dump.damage(), []);
        body(&dump);
    }
}

#[test]
fn objects_are_counted_by_class() {
    with_shop(|dump| {
        let of = |name: &str| {
            dump.histogram().rows.iter().find(|row| row.class == name).map_or(0, |row| row.objects)
        };
        assert_eq!((of("com.acme.Session"), of("java.lang.String"), of("byte[]")), (22, 21, 22));
        assert_eq!((of("java.util.ArrayList"), of("java.lang.Object[]"), of("java.lang.Class")), (1, 1, 10));
        assert_eq!(dump.histogram().objects(), dump.objects());
    });
    let bytes = shop(8);
    let counted = Dump::count(&bytes, &Unwatched).unwrap();
    assert_eq!(&counted.histogram, Dump::open(&bytes, &Unwatched).unwrap().histogram());
}

#[test]
fn what_is_held_is_added_up() {
    with_shop(|dump| {
        let analysis = Analysis::new(dump, &InMemory, &Unwatched).unwrap();
        let reachable = analysis.reachable();
        assert_eq!((reachable.weakly.0, reachable.not.0), (1, 1));
        let all: u64 = reachable.strongly.1 + reachable.weakly.1 + reachable.not.1;
        assert_eq!(all, dump.histogram().bytes());
        // The thread holds its local variable, the registry's list its sessions.
        let thread = analysis.retained_by(0x50_000).unwrap();
        assert!(thread > 100_000);
        let biggest = analysis.biggest(2).unwrap();
        assert_eq!(biggest[0].id, 0x50_000);
        assert_eq!(biggest[0].summary.as_deref(), Some("\"worker-1\""));
        assert_eq!(analysis.dominator_of(0x20_000).unwrap().unwrap().id, 0x10_018);
        // The string of the first session is referred to by garbage, too, which holds nothing.
        assert_eq!(analysis.dominator_of(0x20_018).unwrap().unwrap().id, 0x20_000);
        let groups = analysis.groups(GroupBy::Class, &Unwatched).unwrap();
        let of = |name: &str| groups.iter().find(|group| group.name == name).unwrap();
        assert_eq!(of("com.acme.Session").objects, 20);
        let held: u64 = (0..20).map(|i| analysis.retained_by(0x20_000 + i * 0x100).unwrap()).sum();
        assert_eq!(of("com.acme.Session").retained, held);
        let packages = analysis.groups(GroupBy::Package, &Unwatched).unwrap();
        assert!(packages.iter().any(|group| group.name == "com.acme" && group.retained >= held));
        let unreachable = analysis.unreachable();
        assert_eq!(
            (unreachable.len(), unreachable[0].name.as_str(), unreachable[0].objects),
            (1, "com.acme.Session", 1)
        );
    });
}

#[test]
fn paths_lead_from_roots_and_not_through_weak_references() {
    with_shop(|dump| {
        let paths = Paths::new(dump, &InMemory, &Unwatched).unwrap();
        let found = paths.to_ids(&[0x20_300, 0x30_100, 0x60_000, 0xdead], &Unwatched).unwrap();
        let text: Vec<Option<String>> =
            found.iter().map(|path| path.as_ref().map(ToString::to_string)).collect();
        let session = "static com.acme.Registry.SESSIONS → java.util.ArrayList.elementData → java.lang.Object[] [3] → com.acme.Session";
        assert_eq!(text[0].as_deref(), Some(session));
        assert_eq!(text[1], None);
        assert_eq!(text[2].as_deref(), Some("java.lang.Thread <local variable> → byte[]"));
        assert_eq!(found[2].as_ref().unwrap().root, "thread \"worker-1\"");
        assert_eq!(text[3], None);
    });
}

#[test]
fn a_leak_is_named_with_the_field_that_holds_it() {
    with_shop(|dump| {
        let analysis = Analysis::new(dump, &InMemory, &Unwatched).unwrap();
        let suspects = suspects(&analysis, 3, &Unwatched).unwrap();
        // The array of 100,000 bytes is nearly everything here.
        assert_eq!(suspects[0].gathers.class, "byte[]");
        assert_eq!(suspects[0].place(), "thread \"worker-1\", <local variable>");
    });
}

/// Fifty lists, each held by a root of its own, of which none holds a tenth of the heap.
#[test]
fn a_leak_in_many_places_is_one_suspect() {
    let mut writer = Writer::new(8);
    for i in 0..50 {
        let id = 0x10_000 + 0x100 * i;
        writer.array(id, OBJECTS, &[id + 0x80]);
        writer.byte_array(id + 0x80, &[0; 2000]);
        writer.root(id);
    }
    writer.byte_array(0x90_000, &[0; 15_000]);
    writer.root(0x90_000);
    let bytes = writer.finish();
    let dump = Dump::open(&bytes, &Unwatched).unwrap();
    let analysis = Analysis::new(&dump, &InMemory, &Unwatched).unwrap();
    let suspects = suspects(&analysis, 3, &Unwatched).unwrap();
    let found: Vec<(&str, u64)> =
        suspects.iter().map(|suspect| (suspect.holder.class.as_str(), suspect.objects)).collect();
    assert_eq!(found, [("byte[]", 1), ("java.lang.Object[]", 50)]);
    assert!(suspects[1].share > 80.0 && suspects[1].path.is_some(), "{:?}", suspects[1]);
}

#[test]
fn strings_with_the_same_text_are_found() {
    with_shop(|dump| {
        let strings = strings(dump, 10, &Unwatched).unwrap();
        assert_eq!((strings.strings, strings.arrays, strings.distinct), (21, 21, 3));
        let seen: Vec<(&str, u64)> =
            strings.duplicates.iter().map(|one| (one.text.as_str(), one.copies)).collect();
        assert_eq!(seen, [("Grace Hopper", 10), ("Ada", 10)]);
    });
}

#[test]
fn room_in_collections_is_found() {
    with_shop(|dump| {
        let rows = collections(dump, &Unwatched).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].collections, rows[0].elements, rows[0].capacity, rows[0].empty), (1, 20, 32, 0));
        assert_eq!(rows[0].wasted, 12 * dump.layout().reference);
    });
}

#[test]
fn objects_are_found_by_conditions() {
    with_shop(|dump| {
        let classes = dump.classes().matching("com.acme.Sess*");
        let found = |condition: &str| {
            let condition = Condition::parse(condition).unwrap();
            let listing = list(dump, &classes, Some(&condition), 3, &Unwatched).unwrap();
            assert!(listing.objects.len() <= 3);
            listing.matching
        };
        assert_eq!(found("number >= 10"), 12);
        assert_eq!(found("number >= 10 and user.length > 3"), 5);
        assert_eq!(found("user = \"Ada\" or number = 1"), 12);
        assert_eq!(found("user ~ 'opp'"), 10);
        assert_eq!(found("user = null"), 1);
        assert_eq!(found("not user = null"), 21);
        let wrong =
            list(dump, &classes, Some(&Condition::parse("nmber = 1").unwrap()), 3, &Unwatched).unwrap_err();
        assert!(wrong.to_string().contains("number, user"), "{wrong}");
    });
}

#[test]
fn an_object_is_looked_at() {
    with_shop(|dump| {
        let mut objects = Objects::new(dump);
        let session = objects.with_id(0x20_100).unwrap();
        let fields: Vec<String> =
            objects.fields(&session).map(|(_, field, value)| format!("{} {value}", field.name)).collect();
        assert_eq!(fields, ["user 0x20118", "number 1"]);
        let user = objects.follow(&session, "user").unwrap();
        assert_eq!(objects.text(&user).as_deref(), Some("Grace Hopper"));
        let class = objects.with_id(SESSION).unwrap();
        assert_eq!(objects.summary(&class).as_deref(), Some("com.acme.Session"));
        assert!(matches!(objects.with_id(0x99_999), Err(HeapError::Question(_))));
    });
}

#[test]
fn what_is_held_is_added_up_by_loader() {
    use quipu_heap::Kind;
    use support::{OBJECT, Val, Writer};
    const LOADER: u64 = 0x2100;
    const PLUGIN: u64 = 0x2108;
    let mut w = Writer::new(8);
    w.class(LOADER, "com/acme/Loader", OBJECT, &[], &[("name", Kind::Object)]);
    w.class_of_loader(
        0x10_000,
        PLUGIN,
        "com/acme/Plugin",
        OBJECT,
        &[("ALL", 0x20_000)],
        &[("page", Kind::Object)],
    );
    w.root(PLUGIN);
    w.instance(0x10_000, LOADER, &[Val::Ref(0x10_018)]);
    w.string(0x10_018, "plugins");
    w.root(0x10_000);
    // Two of the plug-in's objects, one below the other, and what they hold, which is the boot loader's.
    w.instance(0x20_000, PLUGIN, &[Val::Ref(0x20_100)]);
    w.instance(0x20_100, PLUGIN, &[Val::Ref(0x20_200)]);
    w.byte_array(0x20_200, &[0; 1000]);
    let bytes = w.finish();
    let dump = Dump::open(&bytes, &Unwatched).unwrap();
    let analysis = Analysis::new(&dump, &InMemory, &Unwatched).unwrap();
    let groups = analysis.groups(GroupBy::Loader, &Unwatched).unwrap();
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["boot loader", "com.acme.Loader 'plugins' @10000"]);
    let plugin = &groups[1];
    let own = |id| analysis.retained_by(id).unwrap();
    assert_eq!((plugin.objects, plugin.retained), (2, own(0x20_000)));
    assert_eq!(plugin.bytes, own(0x20_000) - own(0x20_200));
    assert!(plugin.retained > 1000 && plugin.bytes < 100, "{plugin:?}");
}
