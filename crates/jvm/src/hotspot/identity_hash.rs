//! The state from which HotSpot makes identity hash codes, of each thread its own (`-XX:hashCode=5`, its default): four
//! words of Marsaglia's xor-shift.
//!
//! No table names their place. It is found by making a hash code: the place is where that very step was taken.

use crate::Result;
use crate::jni::Env;
use crate::jvmti::Jvmti;

/// The words in the order in which they lie in a thread: w, x, y, z.
pub type State = [u32; 4];

/// Hash codes have so many bits.
const MASK: u32 = 0x7fff_ffff;

/// A thread has its environment behind the state, and not more words from its beginning.
const MOST: usize = 1 << 10;

/// Where threads have their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdentityHashes {
    /// From a state to the thread's environment.
    before_env: usize,
}

impl IdentityHashes {
    /// Looks for it in the current thread; `None` if hash codes are made in another way.
    pub fn find(env: &Env<'_>, jvmti: Jvmti) -> Result<Option<IdentityHashes>> {
        let current = jvmti.current_thread(env)?;
        let eetop = env.field(env.find_class(c"java/lang/Thread")?, c"eetop", c"J")?;
        // SAFETY: every thread has that field.
        let thread = unsafe { env.long_field(current, eetop) } as usize;
        let words = (env.raw() as usize).wrapping_sub(thread) / size_of::<u32>();
        // A virtual thread has none of its own.
        if thread == 0 || words > MOST {
            return Ok(None);
        }
        let fresh = env.new_text("")?;
        // SAFETY: from its beginning to its environment, the current thread's own structure.
        let before = unsafe { copy(thread, words) };
        let hash = jvmti.object_hash_code(fresh)?.cast_unsigned();
        // SAFETY: as above.
        let after = unsafe { copy(thread, words) };
        let mut steps = before.windows(4).zip(after.windows(4));
        let at = steps.position(|(before, after)| match (before, after) {
            (&[w, x, y, z], &[v, ..]) => next([w, x, y, z]) == after && v & MASK == hash,
            _ => false,
        });
        Ok(at.map(|at| IdentityHashes { before_env: env.raw() as usize - (thread + at * size_of::<u32>()) }))
    }

    /// Lets the current thread's hash codes go on from what a number stands for; returns where they were.
    pub fn seed(self, env: &Env<'_>, seed: u64) -> State {
        // Not all zero.
        let [low, high] = [seed as u32, (seed >> 32) as u32];
        self.replace(env, [low, high, low.rotate_left(16), high | 1])
    }

    /// Lets the current thread's hash codes go on from a state; returns the one before.
    pub fn replace(self, env: &Env<'_>, state: State) -> State {
        let place = std::ptr::with_exposed_provenance_mut::<State>(env.raw() as usize - self.before_env);
        // SAFETY: every thread has its state there, only it uses it, and it is here.
        unsafe { place.replace(state) }
    }
}

/// Words of a structure as they are now.
///
/// # Safety
/// So many can be read there. Other threads may change some meanwhile: whatever is read of these is a number.
unsafe fn copy(from: usize, words: usize) -> Vec<u32> {
    let from = std::ptr::with_exposed_provenance::<u32>(from);
    // SAFETY: the caller's promise.
    (0..words).map(|i| unsafe { from.add(i).read_volatile() }).collect()
}

/// HotSpot's step.
fn next([w, x, y, z]: State) -> State {
    let t = x ^ (x << 11);
    [(w ^ (w >> 19)) ^ (t ^ (t >> 8)), y, z, w]
}
