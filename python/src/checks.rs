//! What explores states: of protocols, interfaces, bridges, shared memory, and a tile's RTL.

use narthex_checking::interface::InterfaceCheck;
use narthex_checking::lockstep::LockstepRequest;
use pyo3::prelude::*;

use super::{observed, parse, text};

/// Explores every state of a coherence protocol; the report's document.
#[pyfunction]
pub fn check_protocol(py: Python<'_>, name: &str) -> PyResult<String> {
    let report = py.detach(|| narthex_checking::check_protocol(name));
    text(py, report)
}

/// Explores every interleaving of an interface and its driver.
///
/// `request` is a JSON `InterfaceCheck`, `elf` the compiled program `interface`.
/// `observer(states)` is called now and then; the check ends early when it
/// returns a false value or raises.
#[pyfunction]
#[pyo3(signature = (request, elf, observer=None))]
pub fn check_interface(
    py: Python<'_>,
    request: &str,
    elf: &[u8],
    observer: Option<Py<PyAny>>,
) -> PyResult<String> {
    let request: InterfaceCheck = parse(py, "check", request)?;
    observed(py, observer, |tell| narthex_checking::check_interface(&request, elf, tell))
}

/// Compares a tile's RTL with its model; the report's document.
///
/// `request` is a JSON `LockstepRequest`, `observer(events)` as for `check_interface`.
#[pyfunction]
#[pyo3(signature = (request, observer=None))]
pub fn lockstep(py: Python<'_>, request: &str, observer: Option<Py<PyAny>>) -> PyResult<String> {
    let request: LockstepRequest = parse(py, "lock-step", request)?;
    observed(py, observer, |tell| narthex_checking::lockstep::check(&request, tell))
}

/// Explores every interleaving of a few nodes that run a table of shared memory's
/// protocol, given as its file's text.
///
/// `without` is a row to leave out, `observer` as for `check_interface`.
#[pyfunction]
#[pyo3(signature = (table, nodes, limit, without=None, observer=None))]
pub fn check_shared_memory(
    py: Python<'_>,
    table: &str,
    nodes: u64,
    limit: usize,
    without: Option<&str>,
    observer: Option<Py<PyAny>>,
) -> PyResult<String> {
    observed(py, observer, |tell| narthex_checking::check_shared_memory(table, nodes, without, limit, tell))
}

/// Explores every interleaving at the bridge to an I/O bus, maybe without a rule.
#[pyfunction]
#[pyo3(signature = (without=None))]
pub fn check_bridge(py: Python<'_>, without: Option<&str>) -> PyResult<String> {
    let report = py.detach(|| narthex_checking::check_bridge(without));
    text(py, report)
}

/// Explores every interleaving of owners and a device that refuse, maybe without a rule.
#[pyfunction]
#[pyo3(signature = (without=None))]
pub fn check_refusals(py: Python<'_>, without: Option<&str>) -> PyResult<String> {
    let report = py.detach(|| narthex_checking::check_refusals(without));
    text(py, report)
}

/// Explores every order of a directory's messages, maybe with one entry of its tables changed.
#[pyfunction]
#[pyo3(signature = (name, limit, change=None, observer=None))]
pub fn check_directory(
    py: Python<'_>,
    name: &str,
    limit: usize,
    change: Option<&str>,
    observer: Option<Py<PyAny>>,
) -> PyResult<String> {
    observed(py, observer, |tell| narthex_checking::check_directory(name, change, limit, tell))
}
