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
use std::ffi::{CStr, CString, c_char, c_void};
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
    /// initialises them. Waves show its signals in `scope`, whose levels spaces divide.
    ///
    /// # Panics
    /// If `scope` has a zero byte.
    pub fn instance(&self, scope: &str) -> Simulation {
        let functions = Arc::clone(&self.0);
        let path = CString::new(scope).expect("a scope is a name");
        // SAFETY: the design that `design_create` makes is owned by the handle that `create_at`
        // returns, and that by the instance, which destroys it once; the path is copied.
        let handle = unsafe { (functions.create_at)((functions.design_create)(), path.as_ptr()) };
        let mut objects = Objects { prefix: format!("{scope} "), nodes: BTreeMap::new() };
        // SAFETY: `visit` gets back the pointer to `objects`, which nothing else uses meanwhile.
        unsafe { (functions.enumerate)(handle, (&raw mut objects).cast(), visit) };
        let instance = Arc::new(Instance { functions, handle });
        let mut simulation = Simulation { instance, objects: objects.nodes, ports: Vec::new(), waves: None };
        simulation.settle();
        simulation
    }
}

/// All that CXXRTL tells of an instance, by hierarchical name behind that of its scope.
struct Objects {
    prefix: String,
    nodes: BTreeMap<String, Vec<Node>>,
}

/// Gathers a named object and its parts.
///
/// # Safety
/// `objects` is that of [`Design::instance`]; the others are what CXXRTL hands over: a name, and
/// the first of `parts` objects.
unsafe extern "C" fn visit(objects: *mut c_void, name: *const c_char, object: *mut Object, parts: usize) {
    // SAFETY: see above; both are valid while this function runs.
    let (objects, name) = unsafe { (&mut *objects.cast::<Objects>(), CStr::from_ptr(name)) };
    // SAFETY: CXXRTL keeps the parts of a name in one array.
    let parts = unsafe { std::slice::from_raw_parts(object, parts) };
    let nodes = parts.iter().map(|&Object { kind, flags, width, depth, curr, next, .. }| Node {
        kind,
        flags,
        width,
        chunks: width.div_ceil(32) * depth,
        last: u32::MAX >> (width.next_multiple_of(32) - width),
        curr,
        next,
    });
    let name = name.to_string_lossy();
    let name = name.strip_prefix(&objects.prefix).unwrap_or(&name);
    objects.nodes.insert(name.to_owned(), nodes.collect());
}

/// Where an object of the netlist is. The pointers are valid for as long as its simulation is.
#[derive(Clone, Copy)]
struct Node {
    kind: u32,
    flags: u32,
    width: usize,
    /// Of 32 bits.
    chunks: usize,
    /// The bits that the last chunk has.
    last: u32,
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

/// What CXXRTL has made of a design.
struct Instance {
    functions: Arc<Functions>,
    handle: Handle,
}

// SAFETY: the compiled design keeps no state outside its instances, and none that is a thread's. An
// instance is called by its simulation and the waves that show it alone. Those are of one device, which
// is on one thread at a time.
unsafe impl Send for Instance {}
// SAFETY: see above.
unsafe impl Sync for Instance {}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: nothing uses it any more: a simulation and the waves that show it own it together.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

/// An instance of a design; see the module's description.
pub struct Simulation {
    instance: Arc<Instance>,
    /// All that CXXRTL tells of, by hierarchical name.
    objects: BTreeMap<String, Vec<Node>>,
    /// Those that the caller has asked for.
    ports: Vec<Node>,
    waves: Option<Waves>,
}

// SAFETY: its pointers lead into its instance, which see. All calls need `&mut Simulation`, but for
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

    /// Whether it has an input or output of this name.
    pub fn has_port(&self, name: &str) -> bool {
        self.objects
            .get(name)
            .is_some_and(|nodes| nodes.iter().any(|node| node.flags & (INPUT | OUTPUT) != 0))
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
        let node = self.ports[port];
        // SAFETY: an input can be written, and has its chunks.
        unsafe {
            *node.next = value as u32 & if node.chunks == 1 { node.last } else { u32::MAX };
            if node.chunks == 2 {
                *node.next.add(1) = (value >> 32) as u32 & node.last;
            }
        }
    }

    /// Sets an input of any width, in chunks of 32 bits, lowest first; those that are missing are 0.
    #[inline]
    pub fn set_wide(&mut self, Input(port): Input, value: &[u32]) {
        let node = self.ports[port];
        for chunk in 0..node.chunks {
            let mask = if chunk + 1 == node.chunks { node.last } else { u32::MAX };
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
        unsafe { (self.instance.functions.step)(self.instance.handle) };
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

    /// The same; whether anything changed: where nothing did, the next edge changes nothing
    /// either as long as the inputs stay.
    #[inline]
    pub fn rise_changes(&mut self, clock: Input) -> bool {
        self.set(clock, 1);
        let Instance { functions, handle } = &*self.instance;
        let mut is_changed = false;
        loop {
            // SAFETY: the handle is this simulation's.
            let (converged, committed) = unsafe { ((functions.eval)(*handle), (functions.commit)(*handle)) };
            is_changed |= committed != 0;
            if converged != 0 || committed == 0 {
                return is_changed;
            }
        }
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
        unsafe { (self.instance.functions.commit)(self.instance.handle) };
        self.settle();
        true
    }

    /// Writes how all named signals change into a VCD file from now on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record(&mut self, file: &Path) -> io::Result<()> {
        let file = BufWriter::new(File::create(file)?);
        let functions = Arc::clone(&self.instance.functions);
        // SAFETY: the recorder is owned by `Waves`.
        let vcd = unsafe {
            let vcd = (functions.vcd_create)();
            (functions.vcd_timescale)(vcd, 1, c"ps".as_ptr());
            vcd
        };
        self.waves = Some(Waves { functions, vcd, file, shown: Vec::new() });
        self.show(&Arc::clone(&self.instance));
        Ok(())
    }

    /// Records another instance's signals beside its own, if those are recorded; before the first
    /// sample.
    pub fn record_beside(&mut self, other: &Simulation) {
        self.show(&other.instance);
    }

    fn show(&mut self, instance: &Arc<Instance>) {
        let Some(waves) = &mut self.waves else { return };
        // SAFETY: the recorder is alive; the instance lives as long as it, which is kept beside it.
        unsafe { (waves.functions.vcd_add_from_without_memories)(waves.vcd, instance.handle) };
        waves.shown.push(Arc::clone(instance));
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
    /// The instances whose signals the recorder reads.
    shown: Vec<Arc<Instance>>,
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
