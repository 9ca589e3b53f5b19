//! What distinguishes two machines, with where each value is from.

use std::str::FromStr;

use narthex_kernel::{Bytes, Duration, Frequency};
use serde::Serialize;

use super::{Machine, Parameter};

/// A parameter that two machines do not have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its dotted key.
    pub key: String,
    /// What it is in the first machine; none where that has no such parameter.
    pub one: Option<Parameter>,
    /// What it is in the second.
    pub other: Option<Parameter>,
}

impl Machine {
    /// The parameters in which `other` differs, in the order of this machine's
    /// tables; those that only `other` has come last.
    ///
    /// Values are compared by what they mean (1MiB is 1024KiB), and without their
    /// sources.
    pub fn differences(&self, other: &Machine) -> Vec<Difference> {
        let (mine, others) = (self.sources(), other.sources());
        let find = |all: &[Parameter], key: &str| all.iter().find(|found| found.key == key).cloned();
        let changed = mine.iter().filter_map(|parameter| {
            let other = find(&others, &parameter.key);
            let is_same = other.as_ref().is_some_and(|other| mean_the_same(parameter, other));
            let key = parameter.key.clone();
            (!is_same).then(|| Difference { key, one: Some(parameter.clone()), other })
        });
        let added = others.iter().filter(|parameter| find(&mine, &parameter.key).is_none());
        let added = added.map(|parameter| Difference {
            key: parameter.key.clone(),
            one: None,
            other: Some(parameter.clone()),
        });
        changed.chain(added).collect()
    }
}

/// Whether two values of a parameter are one, however they are written.
fn mean_the_same(one: &Parameter, other: &Parameter) -> bool {
    let [one, other] = [one, other].map(|parameter| format!("{}{}", parameter.value, parameter.unit));
    one == other
        || are_equal::<Duration>(&one, &other)
        || are_equal::<Frequency>(&one, &other)
        || are_equal::<Bytes>(&one, &other)
}

/// Whether two texts are the same quantity of this kind.
fn are_equal<T: FromStr + PartialEq>(one: &str, other: &str) -> bool {
    one.parse::<T>().is_ok_and(|one| other.parse::<T>().is_ok_and(|other| one == other))
}

#[cfg(test)]
mod tests {
    use crate::config::{Source, load};

    #[test]
    fn what_differs_comes_with_both_values_and_sources() {
        let base = load("hpca98").unwrap();
        assert_eq!(base.differences(&base), []);
        let other = base.with_settings(&["bus.clock=125MHz", "data_cache.size=1024KiB"]).unwrap();
        let differences = base.differences(&other);
        assert_eq!(differences.len(), 1, "{differences:?}");
        let [one, other] = [&differences[0].one, &differences[0].other].map(|found| found.as_ref().unwrap());
        assert_eq!((one.key.as_str(), one.value.as_str(), other.value.as_str()), ("bus.clock", "250", "125"));
        assert_eq!(one.source, Source::Stated("Table 3".into()));
        assert_eq!(other.source, Source::User);
    }

    #[test]
    fn a_parameter_that_one_machine_lacks_is_a_difference() {
        let (one, other) = (load("hpca98").unwrap(), load("isca96").unwrap());
        let (there, back) = (one.differences(&other), other.differences(&one));
        assert_eq!(there.len(), back.len());
        let buffers = there.iter().find(|found| found.key == "flow_control.buffers").unwrap();
        assert!(buffers.one.is_some() && buffers.other.is_none());
        let window = there.iter().find(|found| found.key == "flow_control.window").unwrap();
        assert!(window.one.is_none() && window.other.is_some());
    }
}
