//! CXXRTL's C interface (cxxrtl_capi.h and cxxrtl_capi_vcd.h of yosys 0.70): the functions that a
//! compiled design exports, found by name in its shared object.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use libloading::Library;

/// A netlist's node or memory, as the simulation describes it.
#[repr(C)]
pub struct Object {
    pub kind: u32,
    pub flags: u32,
    /// In bits.
    pub width: usize,
    pub lsb_at: usize,
    /// Words of a memory; 1 for anything else.
    pub depth: usize,
    pub zero_at: usize,
    /// Its bits in chunks of 32, lowest first, padded with zeros; for reading.
    pub curr: *mut u32,
    /// The same for writing; null where that is impossible, and for memories.
    pub next: *mut u32,
    pub outline: *mut c_void,
    pub attributes: *mut c_void,
}

/// An object of combinational logic, or an input.
pub const VALUE: u32 = 0;
/// An object with a present and a next value.
pub const WIRE: u32 = 1;
/// A memory.
pub const MEMORY: u32 = 2;

/// The object is an input of the design.
pub const INPUT: u32 = 1;
/// The object is an output of the design.
pub const OUTPUT: u32 = 1 << 1;
/// Flip-flops drive it.
pub const DRIVEN_SYNC: u32 = 1 << 2;

pub type Toplevel = *mut c_void;
pub type Handle = *mut c_void;
pub type Vcd = *mut c_void;
pub type Visit = unsafe extern "C" fn(*mut c_void, *const c_char, *mut Object, usize);

/// The exported functions. Each pointer is valid for as long as the library is loaded.
pub struct Functions {
    pub design_create: unsafe extern "C" fn() -> Toplevel,
    pub create_at: unsafe extern "C" fn(Toplevel, *const c_char) -> Handle,
    pub destroy: unsafe extern "C" fn(Handle),
    pub step: unsafe extern "C" fn(Handle) -> usize,
    /// Whether all that is combinational follows now, if nothing is to be committed.
    pub eval: unsafe extern "C" fn(Handle) -> c_int,
    /// Whether anything changed.
    pub commit: unsafe extern "C" fn(Handle) -> c_int,
    pub enumerate: unsafe extern "C" fn(Handle, *mut c_void, Visit),
    pub vcd_create: unsafe extern "C" fn() -> Vcd,
    pub vcd_destroy: unsafe extern "C" fn(Vcd),
    pub vcd_timescale: unsafe extern "C" fn(Vcd, c_int, *const c_char),
    pub vcd_add_from_without_memories: unsafe extern "C" fn(Vcd, Handle),
    pub vcd_sample: unsafe extern "C" fn(Vcd, u64),
    pub vcd_read: unsafe extern "C" fn(Vcd, *mut *const c_char, *mut usize),
    /// Keeps the pointers above valid.
    _library: Library,
}

impl Functions {
    /// Loads a compiled design.
    ///
    /// # Errors
    /// If the file is no shared object of this computer, or no compiled design.
    pub fn load(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: loading runs the initialisers of the file, which `narthex.cosimulation` has
        // compiled: CXXRTL's have no effect beyond the library.
        let library = unsafe { Library::new(path)? };
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of the declaration in cxxrtl_capi.h or
                // cxxrtl_capi_vcd.h, whose version the build pins; the library is kept beside it.
                unsafe { *library.get($name)? }
            };
        }
        Ok(Functions {
            design_create: function!(b"cxxrtl_design_create\0"),
            create_at: function!(b"cxxrtl_create_at\0"),
            destroy: function!(b"cxxrtl_destroy\0"),
            step: function!(b"cxxrtl_step\0"),
            eval: function!(b"cxxrtl_eval\0"),
            commit: function!(b"cxxrtl_commit\0"),
            enumerate: function!(b"cxxrtl_enum\0"),
            vcd_create: function!(b"cxxrtl_vcd_create\0"),
            vcd_destroy: function!(b"cxxrtl_vcd_destroy\0"),
            vcd_timescale: function!(b"cxxrtl_vcd_timescale\0"),
            vcd_add_from_without_memories: function!(b"cxxrtl_vcd_add_from_without_memories\0"),
            vcd_sample: function!(b"cxxrtl_vcd_sample\0"),
            vcd_read: function!(b"cxxrtl_vcd_read\0"),
            _library: library,
        })
    }
}
