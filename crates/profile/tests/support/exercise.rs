//! What must hold of whatever is read, and files whose checksums are right whatever is in them: for the tests, and for
//! the fuzzer.

use quipu_profile::Profile;

/// Tag, claimed length and bytes of a section.
pub type Section = ([u8; 4], u64, Vec<u8>);

/// A file with right checksums, whatever is in it: the damage gets past the first line of defence.
pub fn assemble(sections: &[Section], packed: bool) -> Vec<u8> {
    let mut file = b"QUIPU\x1a\r\n\x01\0\0\0".to_vec();
    for (tag, claimed, raw) in sections {
        let stored = if packed { miniz_oxide::deflate::compress_to_vec(raw, 1) } else { raw.clone() };
        let start = file.len();
        file.extend_from_slice(tag);
        file.extend_from_slice(&[u8::from(packed), 0, 0, 0]);
        file.extend_from_slice(&claimed.to_le_bytes());
        file.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&file[start..]);
        checksum.update(&stored);
        file.extend_from_slice(&checksum.finalize().to_le_bytes());
        file.extend_from_slice(&stored);
    }
    file
}

/// The profile's invariants, checked the slow way.
pub fn check(profile: &Profile) {
    let tree = profile.tree();
    for node in 0..tree.len() as u32 {
        if let Some(parent) = tree.parent(node) {
            assert!(parent < node && tree.subtree(parent).contains(&node));
        }
        let children: Vec<_> =
            tree.children(node).map(|c| (tree.methods()[c as usize], tree.sites()[c as usize])).collect();
        assert!(children.is_sorted_by(|a, b| a < b));
        assert!(tree.children(node).all(|child| tree.parent(child) == Some(node)));
    }
    let names = |m: &quipu_profile::Method| {
        [m.class, m.name, m.descriptor, m.loader].map(|id| profile.str(id).to_owned())
    };
    assert!(profile.methods().is_sorted_by(|a, b| names(a) < names(b)));
    assert!(profile.strings().iter().is_sorted_by(|a, b| a < b));
    assert_eq!(Profile::from_bytes(&profile.to_bytes(quipu_profile::Contents::All)).as_ref(), Ok(profile));
}
