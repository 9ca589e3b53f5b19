//! The simulator as the Python module `narthex._native`.
//!
//! Thin on purpose: every function takes and returns JSON text, so that the
//! documents which Python sees are the very documents that `--json` writes,
//! and no type is described twice. All behaviour is in `narthex_machine`;
//! all convenience (Polars frames, the command line, experiments) is in the
//! Python package beside this crate.
//!
//! A failure becomes `narthex.NarthexError`, which carries the exit code.

use narthex_machine::{Failure, RunRequest};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A failure as the Python package's own exception.
fn raise(py: Python<'_>, failure: &Failure) -> PyErr {
    let class = py.import("narthex.errors").and_then(|module| module.getattr("NarthexError"));
    match class.and_then(|class| class.call1((failure.message.as_str(), failure.exit_code))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The named things of a kind, as a JSON document: `interfaces` or `machines`.
#[pyfunction]
fn list(kind: &str) -> String {
    narthex_machine::list(kind).to_string()
}

/// Runs a program on the simulated machine and returns the result's document.
///
/// `request` is a JSON `RunRequest`, `elf` the program. The interpreter is
/// free meanwhile. A few times a second `observer(simulated_time_ps,
/// progress)` is called, if there is one; the run is interrupted when it
/// raises, returns a false value, or a signal's handler raises (Ctrl-C).
#[pyfunction]
#[pyo3(signature = (request, elf, observer=None))]
fn run(py: Python<'_>, request: &str, elf: &[u8], observer: Option<Py<PyAny>>) -> PyResult<String> {
    let request: RunRequest =
        serde_json::from_str(request).map_err(|error| PyValueError::new_err(format!("run request: {error}")))?;
    let mut interruption: Option<PyErr> = None;
    let result = py.detach(|| {
        narthex_machine::run(&request, elf, &mut |time_ps, progress| {
            Python::attach(|py| match observe(py, observer.as_ref(), time_ps, progress) {
                Ok(goes_on) => goes_on,
                Err(error) => {
                    interruption = Some(error);
                    false
                }
            })
        })
    });
    if let Some(error) = interruption {
        return Err(error);
    }
    result.map(|document| document.to_string()).map_err(|failure| raise(py, &failure))
}

/// Whether the run goes on.
fn observe(py: Python<'_>, observer: Option<&Py<PyAny>>, time_ps: u64, progress: f64) -> PyResult<bool> {
    py.check_signals()?;
    match observer {
        None => Ok(true),
        Some(observer) => observer.call1(py, (time_ps, progress))?.is_truthy(py),
    }
}

/// Explores every state of a coherence protocol; the report's document.
#[pyfunction]
fn check_protocol(py: Python<'_>, name: &str) -> PyResult<String> {
    let report = py.detach(|| narthex_machine::check_protocol(name));
    report.map(|document| document.to_string()).map_err(|failure| raise(py, &failure))
}

/// A machine with everything resolved, and where each value comes from.
#[pyfunction]
fn machine_show(py: Python<'_>, name: &str, sets: Vec<String>, sources: bool) -> PyResult<String> {
    narthex_machine::machine_show(name, &sets, sources)
        .map(|document| document.to_string())
        .map_err(|failure| raise(py, &failure))
}

/// The JSON Schema of a machine's file.
#[pyfunction]
fn schema() -> String {
    narthex_machine::schema().to_string()
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(list, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(check_protocol, module)?)?;
    module.add_function(wrap_pyfunction!(machine_show, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)
}
