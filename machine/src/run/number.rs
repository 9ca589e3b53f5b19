//! Numbers that a program reports, on their way into the result.

use serde_json::Value;

/// A number as documents have it: JSON has none that is not finite, so that is a text.
pub fn number(value: f64) -> Value {
    match value {
        _ if value.is_finite() => value.into(),
        _ if value.is_nan() => "NaN".into(),
        _ if value > 0.0 => "Infinity".into(),
        _ => "-Infinity".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_json_has_not_is_a_text() {
        let values = [1.5, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let text = values.map(|value| number(value).to_string()).join(" ");
        assert_eq!(text, r#"1.5 -0.0 "NaN" "Infinity" "-Infinity""#);
    }
}
