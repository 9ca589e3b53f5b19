//! Schedules: what they consist of, and their execution on a fitted model.

use std::sync::Arc;

use narthex_machine::{Failure, MachineNetwork};
use narthex_schedules::Problem;
use narthex_schedules::network::Carrier;
use narthex_schedules::request::{self as schedules, NetworkChoice, Observer, ScheduleRequest};
use pyo3::prelude::*;
use serde_json::Value;

use super::{parse, raise, text};

/// Executes a schedule on a fitted model; the document.
///
/// `request` is a JSON `ScheduleRequest`. `observer(stage, done, all)` is called now and then; the
/// work ends early when it returns a false value or raises.
#[pyfunction]
#[pyo3(signature = (request, observer=None))]
pub fn schedule_run(py: Python<'_>, request: &str, observer: Option<Py<PyAny>>) -> PyResult<String> {
    let request: ScheduleRequest = parse(py, "schedule's execution", request)?;
    scheduled(py, observer, |tell| schedules::run(&request, carrier, tell))
}

/// The network of a machine, with a rank on each node.
fn carrier(choice: &NetworkChoice, ranks: u32) -> Result<Carrier, Problem> {
    let found = narthex_machine::machine_network(&choice.machine, &choice.set, ranks);
    let MachineNetwork { plan, seed, payload_bytes, header_bytes } =
        found.map_err(|failure| Problem::new(failure.message))?;
    Ok(Carrier { plan: Arc::new(plan), seed, payload_bytes, header_bytes })
}

/// The payload of a packet of a machine beside whose nodes ranks of the fitted model can stand; others are
/// refused.
#[pyfunction]
pub fn payload_beside_model(py: Python<'_>, name: &str, sets: Vec<String>, interface: &str) -> PyResult<u64> {
    narthex_machine::payload_beside_model(name, &sets, interface).map_err(|failure| raise(py, &failure))
}

/// What a schedule consists of; `observer` as for `schedule_run`.
#[pyfunction]
#[pyo3(signature = (schedule, observer=None))]
pub fn schedule_show(py: Python<'_>, schedule: &str, observer: Option<Py<PyAny>>) -> PyResult<String> {
    scheduled(py, observer, |tell| schedules::show(schedule, tell))
}

/// Writes a schedule to a file, as text or in the binary format; `observer` as for `schedule_run`.
#[pyfunction]
#[pyo3(signature = (schedule, output, as_text, observer=None))]
pub fn schedule_convert(
    py: Python<'_>,
    schedule: &str,
    output: &str,
    as_text: bool,
    observer: Option<Py<PyAny>>,
) -> PyResult<String> {
    scheduled(py, observer, |tell| schedules::convert(schedule, output, as_text, tell))
}

/// The names of the patterns of which schedules are generated.
#[pyfunction]
pub fn schedule_patterns() -> Vec<&'static str> {
    narthex_schedules::patterns::names()
}

/// Works on a schedule, and tells a Python function how far it is.
fn scheduled(
    py: Python<'_>,
    observer: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Observer<'_>) -> Result<Value, Problem> + Send,
) -> PyResult<String> {
    let mut interruption: Option<PyErr> = None;
    let result = py.detach(|| {
        work(&mut |stage, done, all| {
            let goes_on = Python::attach(|py| {
                py.check_signals()?;
                observer.as_ref().map_or(Ok(true), |told| told.call1(py, (stage, done, all))?.is_truthy(py))
            });
            goes_on.unwrap_or_else(|error| {
                interruption.get_or_insert(error);
                false
            })
        })
    });
    let failure = |problem: Problem| match problem.is_no_progress {
        true => Failure::no_progress(problem),
        false => Failure::usage(problem),
    };
    interruption.map_or_else(|| text(py, result.map_err(failure)), Err)
}
