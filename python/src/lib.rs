//! The simulator as the Python module `narthex._native`.
//!
//! Thin on purpose: every function takes and returns JSON text, so that the
//! documents which Python sees are the very documents that `--json` writes,
//! and no type is described twice. All behaviour is in the crates
//! `narthex_machine`, `narthex_observation` and `narthex_checking`; all convenience
//! (Polars frames, the command line, experiments) is in the Python package beside
//! this crate.
//!
//! A failure becomes `narthex.NarthexError`, which carries the exit code.

mod checks;
mod schedules;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration as HostDuration, Instant};

use narthex_cores::linux::Program;
use narthex_kernel::Duration;
use narthex_machine::run::document::schema_of;
use narthex_machine::{Failure, NetworkRequest, OutputStream, Progress, RunRequest, interval};
use narthex_observation::mpi::MpiRequest;
use narthex_observation::profile::{self as profiles, ProfileRequest};
use narthex_observation::{ExplainRequest, ExplanationDocument, Observed, TraceRequest};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A document as text, or a failure as an exception.
fn text(py: Python<'_>, result: Result<Value, Failure>) -> PyResult<String> {
    match result {
        Ok(document) => Ok(document.to_string()),
        Err(failure) => Err(raise(py, &failure)),
    }
}

/// A failure as the Python package's own exception.
fn raise(py: Python<'_>, failure: &Failure) -> PyErr {
    let document = failure.document.as_ref().map(|document| document.to_string());
    let class = py.import("narthex.errors").and_then(|module| module.getattr("NarthexError"));
    match class.and_then(|class| class.call1((failure.message.as_str(), failure.exit_code, document))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A request of a kind as its type; what is wrong with it names its key.
fn parse<T: DeserializeOwned>(py: Python<'_>, kind: &str, request: &str) -> PyResult<T> {
    let mut reader = serde_json::Deserializer::from_str(request);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let problem = format!("the request for a {kind} is wrong at '{}': {}", error.path(), error.inner());
        raise(py, &Failure::usage(problem))
    })
}

/// The named things of a kind, as a JSON document: `interfaces` or `machines`.
#[pyfunction]
fn list(py: Python<'_>, kind: &str) -> PyResult<String> {
    text(py, narthex_machine::list(kind))
}

/// Refuses a program's file that cannot run; `file` names it in the message.
#[pyfunction]
fn check_program(py: Python<'_>, file: &str, elf: &[u8]) -> PyResult<()> {
    let problem = Program::parse(file, elf).err();
    problem.map_or(Ok(()), |problem| Err(raise(py, &Failure::usage(problem.to_string()))))
}

/// Runs a program on the simulated machine and returns the result's document.
///
/// `request` is a JSON `RunRequest`, `elf` the program. The interpreter is
/// free meanwhile. `output(node, process, stream, bytes)` is called for what the
/// program writes, `observer(simulated_time_ps)` several times a second, `standing(text)` at most
/// twice a second with how each node stands, as JSON,
/// `notice(text)` for what happens to the run's checkpoints and timeline, `warning(text)`, else
/// `notice`, for what is not as the user wants it, and
/// `loss(text)`, else `notice`, for what could not be written of it. `trace` is a
/// JSON `TraceRequest`, where a timeline is to be written, `traffic` asks who
/// talks to whom (and `traffic_interval`, "10us", what the network did in each such time), `profile`, a JSON `ProfileRequest`, where the programs' time goes, and `mpi`, a
/// JSON `MpiRequest`, what ranks do in MPI. The run is
/// interrupted when the observer returns a false value, or when one of them or a signal's
/// handler (Ctrl-C) raises.
#[pyfunction]
#[pyo3(signature = (request, elf, observer=None, output=None, notice=None, warning=None, loss=None, trace=None, traffic=false, profile=None, mpi=None, standing=None, traffic_interval=None))]
#[allow(clippy::too_many_arguments, reason = "Python has defaults for most")]
fn run(
    py: Python<'_>,
    request: &str,
    elf: &[u8],
    observer: Option<Py<PyAny>>,
    output: Option<Py<PyAny>>,
    notice: Option<Py<PyAny>>,
    warning: Option<Py<PyAny>>,
    loss: Option<Py<PyAny>>,
    trace: Option<&str>,
    traffic: bool,
    profile: Option<&str>,
    mpi: Option<&str>,
    standing: Option<Py<PyAny>>,
    traffic_interval: Option<&str>,
) -> PyResult<String> {
    let request: RunRequest = parse(py, "run", request)?;
    let trace: Option<TraceRequest> = trace.map(|trace| parse(py, "timeline", trace)).transpose()?;
    let profile: Option<ProfileRequest> = profile.map(|profile| parse(py, "profile", profile)).transpose()?;
    let mpi: Option<MpiRequest> = mpi.map(|mpi| parse(py, "events of MPI", mpi)).transpose()?;
    let traffic_interval = traffic_interval.map(|text| interval("traffic_interval", text)).transpose();
    let traffic_interval = traffic_interval.map_err(|failure| raise(py, &failure))?;
    let mut interruption: Option<PyErr> = None;
    let _watch = Watch::begin(request.timeout.as_deref());
    let mut stood: Option<Instant> = None;
    let result = py.detach(|| {
        narthex_observation::run(
            &request,
            Observed {
                trace: trace.as_ref(),
                traffic,
                traffic_interval,
                profile: profile.as_ref(),
                mpi: mpi.as_ref(),
            },
            elf,
            &mut |progress| {
                Watch::look(&progress);
                let goes_on = Python::attach(|py| match progress {
                    Progress::Over => Ok(true),
                    Progress::Time(now) => observe(py, observer.as_ref(), now.as_ps()),
                    Progress::Standing(_) if stood.is_some_and(|at| at.elapsed() < STANDING_EVERY) => {
                        Ok(true)
                    }
                    Progress::Standing(nodes) => {
                        stood = Some(Instant::now());
                        standing.as_ref().map_or(Ok(true), |told| tell(py, Some(told), &nodes().to_string()))
                    }
                    Progress::Output { node, process, stream, bytes } => {
                        write(py, output.as_ref(), (node, process), stream, bytes)
                    }
                    Progress::Notice(text) => tell(py, notice.as_ref(), text),
                    Progress::Warning(text) => tell(py, warning.as_ref().or(notice.as_ref()), text),
                    Progress::Loss(text) => tell(py, loss.as_ref().or(notice.as_ref()), text),
                });
                goes_on.unwrap_or_else(|error| {
                    interruption.get_or_insert(error);
                    false
                }) && interruption.is_none()
            },
        )
    });
    match interruption {
        Some(error) => Err(error),
        None => text(py, result),
    }
}

/// How often who watches a run is told how its nodes stand.
const STANDING_EVERY: HostDuration = HostDuration::from_millis(500);

/// What this process's run does, for a guard beside it: when it last looked whether it is to go on,
/// and when its `--timeout` is over. None while it simulates nothing.
static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

struct Watch {
    looked: Instant,
    limit: Option<Instant>,
}

/// A run that is being made; dropped, it is over.
struct Watched;

impl Watch {
    fn begin(timeout: Option<&str>) -> Watched {
        let timeout = timeout.and_then(|text| text.parse::<Duration>().ok());
        let limit = timeout.map(|timeout| Instant::now() + HostDuration::from_nanos(timeout.as_ps() / 1_000));
        *watch() = Some(Watch { looked: Instant::now(), limit });
        Watched
    }

    fn look(progress: &Progress<'_>) {
        match progress {
            Progress::Over => *watch() = None,
            _ => watch().iter_mut().for_each(|watch| watch.looked = Instant::now()),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        *watch() = None;
    }
}

fn watch() -> MutexGuard<'static, Option<Watch>> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For how many seconds the run that this process simulates has not looked whether it is to go on,
/// and how many seconds ago its timeout was over (below zero: it is not); none if it simulates none.
#[pyfunction]
fn silence() -> Option<(f64, f64)> {
    let watch = watch();
    let Watch { looked, limit } = watch.as_ref()?;
    let late = |limit: Instant| {
        let (late, early) = (limit.elapsed(), limit.saturating_duration_since(Instant::now()));
        late.as_secs_f64() - early.as_secs_f64()
    };
    Some((looked.elapsed().as_secs_f64(), limit.map_or(f64::NEG_INFINITY, late)))
}

/// The entry `profile` of a run's document in pprof's format, compressed; `title` says of which
/// run, and `simulated_ps` how long it is.
#[pyfunction]
fn pprof<'py>(
    py: Python<'py>,
    document: &str,
    title: &str,
    simulated_ps: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let document: profiles::Document = parse(py, "profile's file", document)?;
    Ok(PyBytes::new(py, &profiles::encode(&document, title, simulated_ps)))
}

/// Whether the work goes on.
fn observe(py: Python<'_>, observer: Option<&Py<PyAny>>, so_far: u64) -> PyResult<bool> {
    py.check_signals()?;
    match observer {
        None => Ok(true),
        Some(observer) => observer.call1(py, (so_far,))?.is_truthy(py),
    }
}

/// Passes a sentence on; that ends a run only if it raises.
fn tell(py: Python<'_>, told: Option<&Py<PyAny>>, text: &str) -> PyResult<bool> {
    told.map_or(Ok(()), |told| told.call1(py, (text,)).map(drop)).map(|()| true)
}

/// Passes on what a program wrote; that ends a run only if it raises.
fn write(
    py: Python<'_>,
    output: Option<&Py<PyAny>>,
    (node, process): (usize, usize),
    stream: OutputStream,
    bytes: &[u8],
) -> PyResult<bool> {
    let Some(output) = output else {
        return Ok(true);
    };
    output.call1(py, (node, process, stream.as_str(), PyBytes::new(py, bytes)))?;
    Ok(true)
}

/// One message's life and the parts of its latency, from a real run.
///
/// `request` is a JSON `ExplainRequest`, `elf` the guest that it runs, `observer`
/// as for `run`.
#[pyfunction]
#[pyo3(signature = (request, elf, observer=None))]
fn explain(py: Python<'_>, request: &str, elf: &[u8], observer: Option<Py<PyAny>>) -> PyResult<String> {
    let request: ExplainRequest = parse(py, "message's life", request)?;
    observed(py, observer, |tell| {
        narthex_observation::explain(&request, elf, &mut |now| tell(now.as_ps() as usize))
    })
}

/// What a program may send over an interface by calls of the interface's own library, by the names
/// that `explain` takes; empty if the interface has no such library.
#[pyfunction]
fn own_subjects(
    py: Python<'_>,
    machine: &str,
    settings: Vec<String>,
    interface: &str,
) -> PyResult<Vec<&'static str>> {
    narthex_observation::own_subjects(machine, &settings, interface).map_err(|failure| raise(py, &failure))
}

/// The network of a machine alone, under synthetic load; the measurements' document.
///
/// `request` is a JSON `NetworkRequest`. `observer(done, simulated_time_ps)` is called
/// now and then; the measurements end early when it returns a false value or raises.
#[pyfunction]
#[pyo3(signature = (request, observer=None))]
fn network_load(py: Python<'_>, request: &str, observer: Option<Py<PyAny>>) -> PyResult<String> {
    let request: NetworkRequest = parse(py, "network under load", request)?;
    observed(py, observer, |tell| narthex_machine::network_load(&request, &mut |done, _| tell(done)))
}

/// Runs what tells a Python function how far it is: states of a check, simulated time.
fn observed(
    py: Python<'_>,
    observer: Option<Py<PyAny>>,
    check: impl FnOnce(&mut dyn FnMut(usize) -> bool) -> Result<Value, Failure> + Send,
) -> PyResult<String> {
    let mut interruption: Option<PyErr> = None;
    let report = py.detach(|| {
        check(&mut |states| {
            let goes_on = Python::attach(|py| observe(py, observer.as_ref(), states as u64));
            goes_on.unwrap_or_else(|error| {
                interruption.get_or_insert(error);
                false
            })
        })
    });
    match interruption {
        Some(error) => Err(error),
        None => text(py, report),
    }
}

/// A machine with everything resolved, and where each value comes from.
#[pyfunction]
fn machine_show(py: Python<'_>, name: &str, sets: Vec<String>, sources: bool) -> PyResult<String> {
    text(py, narthex_machine::machine_show(name, &sets, sources))
}

/// What a user has set of a machine, and warnings for what has no effect with the interface.
#[pyfunction]
fn machine_settings(py: Python<'_>, name: &str, sets: Vec<String>, interface: &str) -> PyResult<String> {
    text(py, narthex_machine::machine_settings(name, &sets, interface))
}

/// The network interface of runs on a machine that name none.
#[pyfunction]
fn default_interface(py: Python<'_>, name: &str, sets: Vec<String>) -> PyResult<String> {
    narthex_machine::default_interface(name, &sets).map_err(|failure| raise(py, &failure))
}

/// The parameters that distinguish two machines.
#[pyfunction]
fn machine_differences(
    py: Python<'_>,
    one: &str,
    one_sets: Vec<String>,
    other: &str,
    other_sets: Vec<String>,
) -> PyResult<String> {
    text(py, narthex_machine::machine_differences((one, &one_sets), (other, &other_sets)))
}

/// The JSON Schema of a machine's file.
#[pyfunction]
fn schema() -> String {
    narthex_machine::schema().to_string()
}

/// The JSON Schema of a run's document.
#[pyfunction]
fn run_layout() -> String {
    narthex_observation::layout().to_value().to_string()
}

/// The JSON Schema of an explanation's document.
#[pyfunction]
fn explanation_layout() -> String {
    schema_of::<ExplanationDocument>().to_value().to_string()
}

/// The JSON Schema of a check's document.
#[pyfunction]
fn check_layout() -> String {
    narthex_checking::report::layout().to_value().to_string()
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(list, module)?)?;
    module.add_function(wrap_pyfunction!(check_program, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(silence, module)?)?;
    module.add_function(wrap_pyfunction!(pprof, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(own_subjects, module)?)?;
    module.add_function(wrap_pyfunction!(network_load, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check_protocol, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check_interface, module)?)?;
    module.add_function(wrap_pyfunction!(checks::lockstep, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check_bridge, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check_refusals, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check_directory, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check_shared_memory, module)?)?;
    module.add_function(wrap_pyfunction!(machine_show, module)?)?;
    module.add_function(wrap_pyfunction!(machine_settings, module)?)?;
    module.add_function(wrap_pyfunction!(machine_differences, module)?)?;
    module.add_function(wrap_pyfunction!(schedules::schedule_run, module)?)?;
    module.add_function(wrap_pyfunction!(schedules::payload_beside_model, module)?)?;
    module.add_function(wrap_pyfunction!(default_interface, module)?)?;
    module.add_function(wrap_pyfunction!(schedules::schedule_show, module)?)?;
    module.add_function(wrap_pyfunction!(schedules::schedule_convert, module)?)?;
    module.add_function(wrap_pyfunction!(schedules::schedule_patterns, module)?)?;
    module.add_function(wrap_pyfunction!(run_layout, module)?)?;
    module.add_function(wrap_pyfunction!(explanation_layout, module)?)?;
    module.add_function(wrap_pyfunction!(check_layout, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)
}
