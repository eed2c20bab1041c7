//! What samplers and tallies put into an arena, by hand.

use quipu_arena::append::{Context, Event, Sample};
use quipu_arena::layout::{self, chunk, context, event, growth, header, object, sample, tally};

use crate::arena::Arena;

impl Arena {
    /// Contexts, each called by the one at an index before it; returns their ids.
    pub fn contexts(&mut self, contexts: &[(Option<usize>, Context)]) -> Vec<u32> {
        let first = (self.len() + chunk::HEADER) / context::SIZE;
        let ids: Vec<u32> = (0..contexts.len() as u64).map(|i| (first + i) as u32).collect();
        let mut bytes = Vec::new();
        for (parent, new) in contexts {
            bytes.extend(new.code.to_ne_bytes());
            bytes.extend(parent.map_or(0, |parent| ids[parent]).to_ne_bytes());
            bytes.extend(new.place.to_ne_bytes());
        }
        self.chunk(layout::CHUNK_CONTEXTS, 0, &bytes);
        ids
    }

    /// Samples.
    pub fn samples(&mut self, samples: &[Sample]) {
        let mut bytes = vec![0; samples.len() * sample::SIZE as usize];
        for (room, new) in bytes.chunks_exact_mut(sample::SIZE as usize).zip(samples) {
            let mut put = |at: u64, value: &[u8]| room[at as usize..][..value.len()].copy_from_slice(value);
            put(sample::TIME, &new.time.to_ne_bytes());
            put(sample::VALUE, &new.value.to_ne_bytes());
            put(sample::CONTEXT, &new.context.to_ne_bytes());
            put(sample::THREAD, &new.thread.to_ne_bytes());
            put(sample::LABELS, &new.labels.to_ne_bytes());
            put(sample::COUNT, &new.count.to_ne_bytes());
            put(sample::DETAIL, &new.detail.to_ne_bytes());
            put(sample::METRIC, &(u32::from(new.metric) | new.state << 16).to_ne_bytes());
        }
        self.chunk(layout::CHUNK_SAMPLES, 0, &bytes);
    }

    /// Objects that are watched, as samples of when they were made, each of an age; and a series of two points for each.
    pub fn objects(&mut self, objects: &[(Sample, u32)]) {
        let (mut bytes, mut series) = (Vec::new(), Vec::new());
        for (new, age) in objects {
            let mut room = vec![0; object::SIZE as usize];
            let mut put = |at: u64, value: &[u8]| room[at as usize..][..value.len()].copy_from_slice(value);
            put(sample::TIME, &new.time.to_ne_bytes());
            put(sample::VALUE, &new.value.to_ne_bytes());
            put(sample::CONTEXT, &new.context.to_ne_bytes());
            put(sample::THREAD, &new.thread.to_ne_bytes());
            put(sample::COUNT, &new.count.to_ne_bytes());
            put(sample::DETAIL, &new.detail.to_ne_bytes());
            put(sample::METRIC, &u32::from(new.metric).to_ne_bytes());
            put(object::BORN, &3_u32.to_ne_bytes());
            put(object::SEEN, &(3 + age).to_ne_bytes());
            bytes.extend(room);
            let mut room = vec![0; growth::SIZE as usize];
            let mut put = |at: u64, value: &[u8]| room[at as usize..][..value.len()].copy_from_slice(value);
            put(growth::CONTEXT, &new.context.to_ne_bytes());
            put(growth::THREAD, &new.thread.to_ne_bytes());
            put(growth::DETAIL, &new.detail.to_ne_bytes());
            put(growth::WHAT, &(growth::BYTES | 2 << 16).to_ne_bytes());
            put(growth::POINTS, &7_u64.to_ne_bytes());
            put(growth::POINTS + 8, &new.value.to_ne_bytes());
            series.extend(room);
        }
        self.chunk(layout::CHUNK_OBJECTS, 0, &bytes);
        self.chunk(layout::CHUNK_GROWTH, 0, &series);
    }

    /// Events of the timeline.
    pub fn events(&mut self, events: &[Event]) {
        let mut bytes = vec![0; events.len() * event::SIZE as usize];
        for (room, new) in bytes.chunks_exact_mut(event::SIZE as usize).zip(events) {
            let mut put = |at: u64, value: &[u8]| room[at as usize..][..value.len()].copy_from_slice(value);
            put(event::TIME, &new.time.to_ne_bytes());
            put(event::DURATION, &new.duration.to_ne_bytes());
            put(event::VALUES, &new.values[0].to_ne_bytes());
            put(event::VALUES + 8, &new.values[1].to_ne_bytes());
            put(event::KIND, &new.kind.to_ne_bytes());
            put(event::THREAD, &new.thread.to_ne_bytes());
            put(event::DETAIL, &new.detail.to_ne_bytes());
            put(event::CONTEXT, &new.context.to_ne_bytes());
        }
        self.chunk(layout::CHUNK_EVENTS, 0, &bytes);
    }

    /// Tallies of the first roots of these trees, with calls and bytecodes of the methods from 1 on. Nothing can come behind
    /// them.
    pub fn tallies(&mut self, trees: &[u32], cells: &[[u64; 2]]) {
        let used = (cells.len() as u64 + 1) * tally::CELL;
        for tree in trees {
            let at = self.len();
            self.0.resize((at + tally::CELL) as usize, 0);
            self.put(at + tally::TREE, &tree.to_ne_bytes());
            self.0.extend(cells.iter().flatten().flat_map(|number| number.to_ne_bytes()));
        }
        self.put(header::TALLIES, &(trees.len() as u64).to_ne_bytes());
        self.put(header::TALLY_USED, &used.to_ne_bytes());
    }
}
