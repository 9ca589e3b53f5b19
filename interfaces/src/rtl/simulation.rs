//! One simulated instance of a hardware design that yosys's CXXRTL has compiled.
//!
//! ```text
//!   Verilog, Amaranth ─► yosys ─► C++ ─► shared object      (narthex.cosimulation, in Python)
//!                                             │ Design::load, once a run
//!                                             ▼
//!   set(input) ─► settle ─► get(output) ─► tick ─► ...      one Simulation an instance
//! ```
//!
//! Inputs and outputs are found by name, with the width that the caller expects, before the run
//! starts; setting and getting one is then an access to memory. A cycle is: set the inputs,
//! [`Simulation::settle`], read the outputs, [`Simulation::tick`]. Between two calls the clock is
//! low and all outputs follow from state and inputs.
//!
//! The state of an instance is what its inputs, flip-flops and memories hold. It can be saved and
//! restored, into another instance of the same design too; everything else follows from it.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use super::capi::{DRIVEN_SYNC, Functions, Handle, INPUT, MEMORY, OUTPUT, Object, VALUE, Vcd, WIRE};

/// Why a design cannot be used.
#[derive(Debug, Error)]
pub enum DesignError {
    /// It cannot be loaded.
    #[error("the compiled hardware {file} cannot be loaded: {problem}")]
    Load {
        /// The shared object.
        file: PathBuf,
        /// What the system says.
        problem: libloading::Error,
    },
    /// It lacks a port.
    #[error("it has no {direction} '{port}' of {width} bits; it has {known}")]
    NoPort {
        /// `input` or `output`.
        direction: &'static str,
        /// The port's name.
        port: String,
        /// The bits that it should have.
        width: usize,
        /// The ports of this direction.
        known: String,
    },
    /// A port has another width.
    #[error("its {direction} '{port}' has {found} bits; it has to have {width}")]
    Width {
        /// `input` or `output`.
        direction: &'static str,
        /// The port's name.
        port: String,
        /// The bits that it should have.
        width: usize,
        /// The bits that it has.
        found: usize,
    },
}

/// A compiled design, of which there may be any number of instances.
#[derive(Clone)]
pub struct Design(Arc<Functions>);

impl std::fmt::Debug for Design {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a compiled design")
    }
}

impl Design {
    /// Loads the shared object of a design.
    ///
    /// # Errors
    /// If the file is none.
    pub fn load(file: &Path) -> Result<Self, DesignError> {
        let loaded = Functions::load(file);
        let functions = loaded.map_err(|problem| DesignError::Load { file: file.into(), problem })?;
        Ok(Design(Arc::new(functions)))
    }

    /// An instance, all of whose inputs are 0, its memories and flip-flops as the design
    /// initialises them.
    pub fn instance(&self) -> Simulation {
        let functions = Arc::clone(&self.0);
        // SAFETY: the design that `design_create` makes is owned by the handle that `create`
        // returns, and that by the simulation, which destroys it once.
        let handle = unsafe { (functions.create)((functions.design_create)()) };
        let mut objects = BTreeMap::<String, Vec<Node>>::new();
        // SAFETY: `visit` gets back the pointer to `objects`, which nothing else uses meanwhile.
        unsafe { (functions.enumerate)(handle, (&raw mut objects).cast(), visit) };
        let mut simulation = Simulation { functions, handle, objects, ports: Vec::new(), waves: None };
        simulation.settle();
        simulation
    }
}

/// Gathers a named object and its parts.
///
/// # Safety
/// `objects` is the map of [`Design::instance`]; the others are what CXXRTL hands over: a name, and
/// the first of `parts` objects.
unsafe extern "C" fn visit(objects: *mut c_void, name: *const c_char, object: *mut Object, parts: usize) {
    // SAFETY: see above; both are valid while this function runs.
    let (objects, name) =
        unsafe { (&mut *objects.cast::<BTreeMap<String, Vec<Node>>>(), CStr::from_ptr(name)) };
    // SAFETY: CXXRTL keeps the parts of a name in one array.
    let parts = unsafe { std::slice::from_raw_parts(object, parts) };
    let nodes = parts.iter().map(|&Object { kind, flags, width, depth, curr, next, .. }| Node {
        kind,
        flags,
        width,
        chunks: width.div_ceil(32) * depth,
        curr,
        next,
    });
    objects.insert(name.to_string_lossy().into_owned(), nodes.collect());
}

/// Where an object of the netlist is. The pointers are valid for as long as its simulation is.
#[derive(Clone, Copy)]
struct Node {
    kind: u32,
    flags: u32,
    width: usize,
    /// Of 32 bits.
    chunks: usize,
    curr: *mut u32,
    next: *mut u32,
}

impl Node {
    /// Whether all that follows is determined by this and its like: an input, a flip-flop, a memory.
    /// State without a name of the user's has flags of its own, and can be written.
    fn is_state(&self) -> bool {
        match self.kind {
            MEMORY => true,
            VALUE | WIRE => !self.next.is_null() && self.flags & (INPUT | DRIVEN_SYNC) != 0,
            _ => false,
        }
    }

    /// Where it is written to.
    fn target(&self) -> *mut u32 {
        if self.kind == MEMORY { self.curr } else { self.next }
    }
}

/// An input of a design, by its place among the ports of its simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input(usize);

/// An output of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Output(usize);

/// An instance of a design; see the module's description.
pub struct Simulation {
    functions: Arc<Functions>,
    handle: Handle,
    /// All that CXXRTL tells of, by hierarchical name.
    objects: BTreeMap<String, Vec<Node>>,
    /// Those that the caller has asked for.
    ports: Vec<Node>,
    waves: Option<Waves>,
}

// SAFETY: an instance and what its pointers lead to belong to it alone: the compiled design keeps no
// state outside its instances, and none that is a thread's. All calls need `&mut Simulation`, but for
// reading outputs.
unsafe impl Send for Simulation {}

impl Simulation {
    /// The input of this name with this many bits.
    ///
    /// # Errors
    /// If there is none.
    pub fn input(&mut self, name: &str, width: usize) -> Result<Input, DesignError> {
        self.port("input", INPUT, name, width).map(Input)
    }

    /// The output of this name with this many bits.
    ///
    /// # Errors
    /// If there is none.
    pub fn output(&mut self, name: &str, width: usize) -> Result<Output, DesignError> {
        self.port("output", OUTPUT, name, width).map(Output)
    }

    fn port(
        &mut self,
        direction: &'static str,
        flag: u32,
        name: &str,
        width: usize,
    ) -> Result<usize, DesignError> {
        let is_port = |nodes: &[Node]| nodes.len() == 1 && nodes[0].flags & flag != 0;
        let port = name.to_owned();
        let Some(nodes) = self.objects.get(name).filter(|nodes| is_port(nodes)) else {
            let ports = self.objects.iter().filter(|(_, nodes)| is_port(nodes));
            let known = ports.map(|(name, nodes)| format!("{name} ({})", nodes[0].width));
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(DesignError::NoPort { direction, port, width, known });
        };
        if nodes[0].width != width {
            return Err(DesignError::Width { direction, port, width, found: nodes[0].width });
        }
        self.ports.push(nodes[0]);
        Ok(self.ports.len() - 1)
    }

    /// Sets an input of at most 64 bits; what does not fit is cut off.
    #[inline]
    pub fn set(&mut self, Input(port): Input, value: u64) {
        let chunks = [value as u32, (value >> 32) as u32];
        self.set_wide(Input(port), &chunks);
    }

    /// Sets an input of any width, in chunks of 32 bits, lowest first; those that are missing are 0.
    #[inline]
    pub fn set_wide(&mut self, Input(port): Input, value: &[u32]) {
        let node = self.ports[port];
        for chunk in 0..node.chunks {
            let bits = node.width - chunk * 32;
            let mask = if bits < 32 { (1 << bits) - 1 } else { u32::MAX };
            let value = value.get(chunk).copied().unwrap_or(0) & mask;
            // SAFETY: an input can be written, and has `chunks` chunks.
            unsafe { *node.next.add(chunk) = value };
        }
    }

    /// An output's lowest 64 bits, as of the last [`settle`](Self::settle) or [`tick`](Self::tick).
    #[inline]
    pub fn get(&self, Output(port): Output) -> u64 {
        let node = self.ports[port];
        // SAFETY: what is read lies within its chunks.
        let chunk = |place| if place < node.chunks { unsafe { *node.curr.add(place) } } else { 0 };
        u64::from(chunk(0)) | u64::from(chunk(1)) << 32
    }

    /// A bit of an output of one bit.
    #[inline]
    pub fn is_set(&self, output: Output) -> bool {
        self.get(output) != 0
    }

    /// Reads an output of any width, in chunks of 32 bits, lowest first.
    #[inline]
    pub fn get_wide(&self, Output(port): Output, value: &mut [u32]) {
        let node = self.ports[port];
        for (place, target) in value.iter_mut().enumerate() {
            // SAFETY: what is read lies within its chunks.
            *target = if place < node.chunks { unsafe { *node.curr.add(place) } } else { 0 };
        }
    }

    /// Lets all outputs follow from the state and the inputs.
    #[inline]
    pub fn settle(&mut self) {
        // SAFETY: the handle is this simulation's.
        unsafe { (self.functions.step)(self.handle) };
    }

    /// Whether an input of one bit is set.
    #[inline]
    pub fn input_is_set(&self, Input(port): Input) -> bool {
        self.is_set(Output(port))
    }

    /// A rising and a falling edge of the input `clock`.
    #[inline]
    pub fn tick(&mut self, clock: Input) {
        self.rise(clock);
        self.fall(clock);
    }

    /// A rising edge of the input `clock`.
    #[inline]
    pub fn rise(&mut self, clock: Input) {
        self.set(clock, 1);
        self.settle();
    }

    /// The falling edge that follows it; then outputs follow from the new state.
    #[inline]
    pub fn fall(&mut self, clock: Input) {
        self.set(clock, 0);
        self.settle();
    }

    /// All that determines what follows, in chunks of 32 bits; taken between cycles.
    pub fn state(&self) -> Vec<u32> {
        let nodes = self.objects.values().flatten().filter(|node| node.is_state());
        let chunks = nodes.flat_map(|node| (0..node.chunks).map(|chunk| (node.curr, chunk)));
        // SAFETY: what is read lies within the node's chunks.
        chunks.map(|(curr, chunk)| unsafe { *curr.add(chunk) }).collect()
    }

    /// Takes over the state of an instance of the same design; false, and nothing is done, if it has
    /// another length.
    #[must_use]
    pub fn restore(&mut self, state: &[u32]) -> bool {
        let nodes: Vec<Node> =
            self.objects.values().flatten().filter(|node| node.is_state()).copied().collect();
        if nodes.iter().map(|node| node.chunks).sum::<usize>() != state.len() {
            return false;
        }
        let places = nodes.iter().flat_map(|node| (0..node.chunks).map(|chunk| (node.target(), chunk)));
        for ((target, chunk), &value) in places.zip(state) {
            // SAFETY: what is written lies within the node's chunks, and state can be written.
            unsafe { *target.add(chunk) = value };
        }
        // SAFETY: the handle is this simulation's. The clock is low before and after, so that no
        // edge is seen and flip-flops take what was written.
        unsafe { (self.functions.commit)(self.handle) };
        self.settle();
        true
    }

    /// Writes how all named signals change into a VCD file from now on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record(&mut self, file: &Path) -> io::Result<()> {
        let file = BufWriter::new(File::create(file)?);
        let functions = &self.functions;
        // SAFETY: the recorder is owned by `Waves`, which lives no longer than the simulation whose
        // signals it reads: `drop` below destroys it first.
        let vcd = unsafe {
            let vcd = (functions.vcd_create)();
            (functions.vcd_timescale)(vcd, 1, c"ps".as_ptr());
            (functions.vcd_add_from_without_memories)(vcd, self.handle);
            vcd
        };
        self.waves = Some(Waves { functions: Arc::clone(functions), vcd, file });
        Ok(())
    }

    /// Ends the recording.
    pub fn end_record(&mut self) {
        self.waves = None;
    }

    /// Whether its signals are recorded.
    #[inline]
    pub fn is_recorded(&self) -> bool {
        self.waves.is_some()
    }

    /// Records the signals as they are at an instant, if they are recorded. Instants only grow.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn sample(&mut self, picoseconds: u64) -> io::Result<()> {
        self.waves.as_mut().map_or(Ok(()), |waves| waves.sample(picoseconds))
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.waves = None;
        // SAFETY: the handle is this simulation's, and nothing uses it any more.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

impl std::fmt::Debug for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.objects.iter().filter(|(_, nodes)| nodes.iter().any(Node::is_state));
        f.debug_list().entries(state.map(|(name, _)| name)).finish()
    }
}

/// A VCD file that is being written.
struct Waves {
    functions: Arc<Functions>,
    vcd: Vcd,
    file: BufWriter<File>,
}

impl Waves {
    fn sample(&mut self, picoseconds: u64) -> io::Result<()> {
        // SAFETY: the recorder is alive, as is the simulation whose signals it reads.
        unsafe { (self.functions.vcd_sample)(self.vcd, picoseconds) };
        loop {
            let (mut data, mut size) = (std::ptr::null(), 0);
            // SAFETY: as above; what comes back stays valid until the next call.
            let bytes = unsafe {
                (self.functions.vcd_read)(self.vcd, &mut data, &mut size);
                if size == 0 {
                    return Ok(());
                }
                std::slice::from_raw_parts(data.cast::<u8>(), size)
            };
            self.file.write_all(bytes)?;
        }
    }
}

impl Drop for Waves {
    fn drop(&mut self) {
        // What cannot be written any more is lost with the file's end.
        let _ = self.file.flush();
        // SAFETY: the recorder is its own, and nothing uses it any more.
        unsafe { (self.functions.vcd_destroy)(self.vcd) };
    }
}
