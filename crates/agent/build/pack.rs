//! Packs bytes as a block of LZ4, for `src/classes.rs` to unpack. It may take its time: it runs when the agent is compiled.

use std::collections::HashMap;

/// Shorter repetitions are not worth what it takes to name them.
const SHORTEST: usize = 4;
/// How far back one may be: what two bytes can say.
const FARTHEST: usize = u16::MAX as usize;
/// So many places with the same beginning are looked at, the latest first.
const LOOKED_AT: usize = 128;

/// The block.
pub fn pack(data: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let (mut at, mut written) = (0, 0);
    while at < data.len() {
        let found = longest(data, at, &places);
        // One byte later there may be a better one.
        let skipped = match found {
            Some((_, length)) => {
                remember(data, at, &mut places);
                longest(data, at + 1, &places).is_some_and(|(_, later)| later > length + 1)
            }
            None => {
                remember(data, at, &mut places);
                true
            }
        };
        let Some((distance, length)) = found.filter(|_| !skipped) else {
            at += 1;
            continue;
        };
        sequence(&mut packed, &data[written..at], Some((distance, length)));
        for place in at + 1..at + length {
            remember(data, place, &mut places);
        }
        at += length;
        written = at;
    }
    sequence(&mut packed, &data[written..], None);
    packed
}

/// The longest repetition of what was there before: how far back, and its length.
fn longest(data: &[u8], at: usize, places: &HashMap<&[u8], Vec<usize>>) -> Option<(usize, usize)> {
    let same =
        |place: usize| data[place..].iter().zip(&data[at..]).take_while(|(one, other)| one == other).count();
    let places = places.get(data.get(at..at + SHORTEST)?)?;
    let near = places.iter().rev().take_while(|&&place| at - place <= FARTHEST).take(LOOKED_AT);
    near.map(|&place| (at - place, same(place)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn remember<'a>(data: &'a [u8], at: usize, places: &mut HashMap<&'a [u8], Vec<usize>>) {
    if let Some(beginning) = data.get(at..at + SHORTEST) {
        places.entry(beginning).or_default().push(at);
    }
}

/// Bytes as they are, and a repetition behind them; the last sequence has none.
fn sequence(packed: &mut Vec<u8>, plain: &[u8], repetition: Option<(usize, usize)>) {
    let repeated = repetition.map_or(0, |(_, length)| length - SHORTEST);
    packed.push((plain.len().min(15) << 4 | repeated.min(15)) as u8);
    rest(packed, plain.len());
    packed.extend_from_slice(plain);
    if let Some((distance, _)) = repetition {
        packed.extend_from_slice(&(distance as u16).to_le_bytes());
        rest(packed, repeated);
    }
}

/// What of a length four bits do not say.
fn rest(packed: &mut Vec<u8>, length: usize) {
    if let Some(mut rest) = length.checked_sub(15) {
        while rest >= 255 {
            packed.push(255);
            rest -= 255;
        }
        packed.push(rest as u8);
    }
}
