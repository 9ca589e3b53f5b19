//! Parameters of `[interfaces]` that an interface does not use: sections of
//! other models, and, where a model has only one half of it, the parameters that
//! belong to the model's other half.
//!
//! Which half a parameter belongs to stands at its field in the model's file, as
//! the word `half` of its schema: `#[schemars(extend("half" = "send"))]`. A field
//! without it belongs to both.

use serde_json::Value;

use crate::models::{MODELS, Model};
use crate::name::Name;

/// The parameters that change nothing with this interface, as (key in
/// `[interfaces]`, why) pairs; a key without a dot is a whole section.
pub fn without_effect(name: &Name) -> Vec<(String, String)> {
    let (send, receive) = (name.send.model, name.receive.model);
    let used = if send.section == receive.section {
        format!("[interfaces.{}]", send.section)
    } else {
        format!("[interfaces.{}] and [interfaces.{}]", send.section, receive.section)
    };
    let found =
        MODELS.iter().flat_map(|model| match [send, receive].map(|half| half.section == model.section) {
            [false, false] => vec![(model.section.to_owned(), format!("the interface is made of {used}"))],
            [true, false] => of_half(model, "receive"),
            [false, true] => of_half(model, "send"),
            [true, true] => Vec::new(),
        });
    found.collect()
}

/// The parameters that change nothing where hardware stands in the interface's place: what belongs to
/// a half is in the hardware.
pub fn without_effect_on_hardware(name: &Name) -> Vec<(String, String)> {
    let why = "the hardware in the model's place has times of its own";
    let keys = ["send", "receive"].into_iter().flat_map(|half| keys_of_half(name.send.model, half));
    keys.map(|key| (key, why.into())).collect()
}

/// The parameters of a model that belong to `half` alone, which another model is.
fn of_half(model: &Model, half: &str) -> Vec<(String, String)> {
    let why = format!("only a {half} half has it, and that of the interface is of another model");
    keys_of_half(model, half).into_iter().map(|key| (key, why.clone())).collect()
}

/// The parameters of a model that belong to `half` alone.
fn keys_of_half(model: &Model, half: &str) -> Vec<String> {
    let schema = (model.schema)();
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let of_half = fields.filter(|(_, field)| field["half"] == half);
    of_half.map(|(key, _)| format!("{}.{key}", model.section)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_in_a_fifos_place_has_its_times_but_that_of_an_access() {
        let unused = without_effect_on_hardware(&"NI2w".parse().unwrap());
        let keys: Vec<&str> = unused.iter().map(|(key, _)| &**key).collect();
        assert_eq!(keys, ["ni_iw.send_time", "ni_iw.receive_time", "ni_iw.deposit_time"]);
    }

    fn keys(name: &str) -> Vec<String> {
        without_effect(&name.parse().unwrap()).into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn sections_of_other_models_are_not_used() {
        let unused = keys("CNI32Qm");
        assert!(unused.contains(&"ni_iw".to_owned()) && !unused.contains(&"cni_iqm".to_owned()));
        assert_eq!(unused.len(), MODELS.len() - 1);
    }

    #[test]
    fn a_half_does_not_use_what_belongs_to_the_other() {
        let unused = keys("(NI2w)S(CNI32Qm)R");
        for key in ["ni_iw.receive_time", "cni_iqm.message_ready"] {
            assert!(unused.contains(&key.to_owned()), "{key} is not in {unused:?}");
        }
        for key in ["ni_iw.send_time", "cni_iqm.when_full", "cni_iqm", "ni_iw"] {
            assert!(!unused.contains(&key.to_owned()), "{key} is in {unused:?}");
        }
    }

    #[test]
    fn every_half_that_a_field_names_is_one() {
        for model in MODELS {
            let schema = (model.schema)();
            for (key, field) in schema.get("properties").and_then(Value::as_object).expect("a table") {
                let half = field.get("half").and_then(Value::as_str).unwrap_or("send");
                assert!(["send", "receive"].contains(&half), "{}.{key}: {half}", model.section);
            }
        }
    }
}
