//! Where HotSpot keeps what a walk needs, asked by name.
//!
//! Versions differ: the parts of a compiled method are found by pointers in some and by distances in others, and some
//! lie in memory of their own. A name that is missing makes the whole walk impossible, and is told.

use std::ffi::CStr;
use std::fmt;

use crate::hotspot::Structs;
use crate::hotspot::methods::MethodLayout;

/// Why stacks cannot be walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwalkable {
    /// HotSpot's tables do not have this name.
    Missing(String),
    /// Nobody has told us of this machine's registers.
    Machine,
}

impl fmt::Display for Unwalkable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unwalkable::Missing(name) => write!(f, "this HotSpot's structure tables have no {name}"),
            Unwalkable::Machine => write!(f, "only stacks of x86-64 are known"),
        }
    }
}

/// A place in a structure: a pointer to it, or how far it is from something.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// The field has the address.
    Pointer(usize),
    /// The field has 32 bits of distance.
    Distance(usize),
    /// The field has 16 bits of distance.
    ShortDistance(usize),
}

/// Where debug information of compiled code is.
#[derive(Debug, Clone, Copy)]
pub enum Scopes {
    /// In the blob: distances of the first place and of what follows the last, and where the descriptions are.
    Inside { places: usize, behind: usize, descriptions: Place },
    /// In memory of its own: the pointer to that, and distances in it; descriptions follow places.
    Apart { memory: usize, places: usize, descriptions: usize },
}

/// Where the table of methods of compiled code is.
#[derive(Debug, Clone, Copy)]
pub enum Metadata {
    /// In the blob, so far.
    Inside(usize),
    /// In memory of its own, behind so many bytes of something else.
    Apart { memory: usize, behind: usize },
}

/// Fields of the VM's structures.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub feature: i32,
    // Threads, and where they left Java.
    pub thread_anchor: usize,
    pub thread_stack_base: usize,
    pub thread_state: usize,
    pub thread_in_java: i32,
    pub thread_deoptimising: usize,
    pub anchor_sp: usize,
    pub anchor_pc: usize,
    pub anchor_fp: usize,
    pub call_wrapper_anchor: usize,
    /// In words from the frame pointer of the stub that calls Java.
    pub call_wrapper: isize,
    pub call_stub_return: usize,
    /// Where a continuation returns to, if there are any.
    pub continuation_return: usize,
    pub methods: MethodLayout,
    // The interpreter.
    pub interpreter: (usize, usize),
    /// Where its frames have the bytecode pointer, in words below the frame pointer.
    pub interpreted_bytecode: usize,
    // Code.
    pub code: (usize, usize),
    pub heaps: [Heap; MOST_HEAPS],
    pub block_used: usize,
    pub block_size: usize,
    pub blob_name: usize,
    pub blob_size: usize,
    pub blob_frame_size: usize,
    pub blob_frame_complete: usize,
    pub blob_code: Place,
    pub compiled_method: usize,
    pub compiled_level: usize,
    pub compiled_entry_bci: usize,
    pub compiled_entry: Place,
    pub compiled_loop_entry: usize,
    pub compiled_original_pc: usize,
    pub compiled_deoptimised: [Place; 2],
    pub scopes: Scopes,
    pub metadata: Metadata,
}

/// More code heaps than any version has.
pub const MOST_HEAPS: usize = 8;

/// A part of the code cache.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heap {
    pub low: usize,
    pub high: usize,
    pub segments: usize,
    pub shift: u32,
}

impl Layout {
    /// Asks for everything.
    pub fn of(structs: &Structs) -> Result<Layout, Unwalkable> {
        let ask = Ask(structs);
        let version = || missing(c"Abstract_VM_Version", c"_vm_major_version");
        let feature = structs.feature().ok_or_else(version)?;
        // What other places are distances from, as most versions have it, and pointers to them, from JDK 9 to JDK 22.
        let pointers = structs.offset(c"CompiledMethod", c"_method").is_some();
        let apart = structs.offset(c"nmethod", c"_immutable_data").is_some();
        let compiled = if pointers { c"CompiledMethod" } else { c"nmethod" };
        let place = |pointer: &'static CStr, distance: &'static CStr| match pointers {
            true => ask.offset(c"CompiledMethod", pointer).map(Place::Pointer),
            false => ask.offset(c"nmethod", distance).map(Place::Distance),
        };
        let places = ask.offset(c"nmethod", c"_scopes_pcs_offset")?;
        let scopes = if apart {
            Scopes::Apart {
                memory: ask.offset(c"nmethod", c"_immutable_data")?,
                places,
                descriptions: ask.offset(c"nmethod", c"_scopes_data_offset")?,
            }
        } else {
            Scopes::Inside {
                places,
                behind: ask.offset(c"nmethod", c"_dependencies_offset")?,
                descriptions: place(c"_scopes_data_begin", c"_scopes_data_offset")?,
            }
        };
        let metadata = match apart {
            true => Metadata::Apart {
                memory: ask.offset(c"CodeBlob", c"_mutable_data")?,
                behind: ask.offset(c"CodeBlob", c"_relocation_size")?,
            },
            false => Metadata::Inside(ask.offset(c"nmethod", c"_metadata_offset")?),
        };
        let heaps = heaps(&ask)?;
        let interpreter = ask.word(c"AbstractInterpreter", c"_code")?;
        let buffer = read_word(interpreter + ask.offset(c"StubQueue", c"_stub_buffer")?);
        let limit = read_int(interpreter + ask.offset(c"StubQueue", c"_buffer_limit")?);
        Ok(Layout {
            feature,
            thread_anchor: ask.offset(c"JavaThread", c"_anchor")?,
            thread_stack_base: ask.offset(c"JavaThread", c"_stack_base")?,
            thread_state: ask.offset(c"JavaThread", c"_thread_state")?,
            thread_in_java: ask.constant(c"_thread_in_Java")?,
            thread_deoptimising: ask.offset(c"JavaThread", c"_vframe_array_head")?,
            anchor_sp: ask.offset(c"JavaFrameAnchor", c"_last_Java_sp")?,
            anchor_pc: ask.offset(c"JavaFrameAnchor", c"_last_Java_pc")?,
            anchor_fp: ask.offset(c"JavaFrameAnchor", c"_last_Java_fp")?,
            call_wrapper_anchor: ask.offset(c"JavaCallWrapper", c"_anchor")?,
            call_wrapper: ask.constant(c"frame::entry_frame_call_wrapper_offset")? as isize,
            call_stub_return: ask.word(c"StubRoutines", c"_call_stub_return_address")?,
            continuation_return: ask.word(c"ContinuationEntry", c"_return_pc").unwrap_or(0),
            methods: MethodLayout::of(structs).map_err(Unwalkable::Missing)?,
            interpreter: (buffer, buffer + limit.max(0) as usize),
            // Since JDK 9 they also have the class, in front of it.
            interpreted_bytecode: if feature < 9 { 7 } else { 8 },
            code: code_bounds(&ask, &heaps)?,
            heaps,
            block_used: ask.offset(c"HeapBlock::Header", c"_used")?,
            block_size: ask.size(c"HeapBlock")?,
            blob_name: ask.offset(c"CodeBlob", c"_name")?,
            blob_size: ask.offset(c"CodeBlob", c"_size")?,
            blob_frame_size: ask.offset(c"CodeBlob", c"_frame_size")?,
            blob_frame_complete: ask.offset(c"CodeBlob", c"_frame_complete_offset")?,
            blob_code: match pointers {
                true => Place::Pointer(ask.offset(c"CodeBlob", c"_code_begin")?),
                false => Place::Distance(ask.offset(c"CodeBlob", c"_code_offset")?),
            },
            compiled_method: ask.offset(compiled, c"_method")?,
            compiled_level: ask.offset(c"nmethod", c"_comp_level")?,
            compiled_entry_bci: ask.offset(c"nmethod", c"_entry_bci")?,
            compiled_entry: match apart {
                true => Place::ShortDistance(ask.offset(c"nmethod", c"_verified_entry_offset")?),
                false => Place::Pointer(ask.offset(c"nmethod", c"_verified_entry_point")?),
            },
            compiled_loop_entry: ask.offset(c"nmethod", c"_osr_entry_point")?,
            compiled_original_pc: ask.offset(c"nmethod", c"_orig_pc_offset")?,
            compiled_deoptimised: match feature {
                // Since JDK 26 calls of method handles have no place of their own.
                26.. => [place(c"", c"_deopt_handler_entry_offset")?; 2],
                ..9 => [place(c"", c"_deoptimize_offset")?, place(c"", c"_deoptimize_mh_offset")?],
                _ => [
                    place(c"_deopt_handler_begin", c"_deopt_handler_offset")?,
                    place(c"_deopt_mh_handler_begin", c"_deopt_mh_handler_offset")?,
                ],
            },
            scopes,
            metadata,
        })
    }
}

/// Where the heaps of the code cache are; that does not change once the VM is up.
fn heaps(ask: &Ask<'_>) -> Result<[Heap; MOST_HEAPS], Unwalkable> {
    let (length, data) = match ask.0.address(c"CodeCache", c"_heap") {
        // Before JDK 9 there is one.
        Some(only) => (1, only as usize),
        None => {
            let list = ask.word(c"CodeCache", c"_heaps")?;
            let old = ask.0.offset(c"GenericGrowableArray", c"_len");
            let length = old.map_or_else(|| ask.offset(c"GrowableArrayBase", c"_len"), Ok)?;
            (read_int(list + length), read_word(list + ask.offset(c"GrowableArray<int>", c"_data")?))
        }
    };
    let memory = ask.offset(c"CodeHeap", c"_memory")?;
    let segments = ask.offset(c"CodeHeap", c"_segmap")?;
    let shift = ask.offset(c"CodeHeap", c"_log2_segment_size")?;
    let low = ask.offset(c"VirtualSpace", c"_low_boundary")?;
    let high = ask.offset(c"VirtualSpace", c"_high_boundary")?;
    let mut heaps = [Heap::default(); MOST_HEAPS];
    for (i, heap) in heaps.iter_mut().enumerate().take(length.max(0) as usize) {
        let at = read_word(data + i * size_of::<usize>());
        *heap = Heap {
            low: read_word(at + memory + low),
            high: read_word(at + memory + high),
            segments: read_word(at + segments + low),
            shift: read_int(at + shift) as u32 & 31,
        };
    }
    Ok(heaps)
}

/// Where code is, all heaps together.
fn code_bounds(ask: &Ask<'_>, heaps: &[Heap]) -> Result<(usize, usize), Unwalkable> {
    match (ask.0.address(c"CodeCache", c"_heap"), heaps) {
        (Some(_), [only, ..]) => Ok((only.low, only.high)),
        _ => Ok((ask.word(c"CodeCache", c"_low_bound")?, ask.word(c"CodeCache", c"_high_bound")?)),
    }
}

/// Questions that must have an answer.
struct Ask<'s>(&'s Structs);

impl Ask<'_> {
    fn offset(&self, structure: &CStr, field: &CStr) -> Result<usize, Unwalkable> {
        self.0.offset(structure, field).ok_or_else(|| missing(structure, field))
    }

    fn size(&self, structure: &CStr) -> Result<usize, Unwalkable> {
        self.0.size(structure).ok_or_else(|| Unwalkable::Missing(structure.to_string_lossy().into_owned()))
    }

    fn constant(&self, name: &CStr) -> Result<i32, Unwalkable> {
        self.0.constant(name).ok_or_else(|| Unwalkable::Missing(name.to_string_lossy().into_owned()))
    }

    fn word(&self, structure: &CStr, field: &CStr) -> Result<usize, Unwalkable> {
        let address = self.0.address(structure, field).ok_or_else(|| missing(structure, field))?;
        Ok(read_word(address as usize))
    }
}

fn missing(structure: &CStr, field: &CStr) -> Unwalkable {
    Unwalkable::Missing(format!("{}::{}", structure.to_string_lossy(), field.to_string_lossy()))
}

/// A word of the VM's own structures, which stay where they are.
fn read_word(address: usize) -> usize {
    // SAFETY: callers add an offset that the VM told to the address of one of its structures.
    unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_unaligned() }
}

fn read_int(address: usize) -> i32 {
    // SAFETY: as above.
    unsafe { std::ptr::with_exposed_provenance::<i32>(address).read_unaligned() }
}
