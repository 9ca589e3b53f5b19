//! Quantities are read exactly, printed exactly, and refused with advice.

use super::*;
use proptest::prelude::*;

fn error<T: FromStr<Err = QuantityError> + fmt::Debug>(text: &str) -> String {
    text.parse::<T>().unwrap_err().to_string()
}

#[test]
fn people_may_write_fractions_as_long_as_the_value_is_whole() {
    assert_eq!("40ps".parse(), Ok(Duration::from_ps(40)));
    assert_eq!("1.5us".parse(), Ok(Duration::from_ns(1_500)));
    assert_eq!(" 2 ms ".parse(), Ok(Duration::from_ns(2_000_000)));
    assert_eq!("1.50KiB".parse(), Ok(Bytes::new(1_536)));
    assert_eq!("1KB".parse(), Ok(Bytes::new(1_000)));
    assert_eq!("0.000000000931322574615478515625GiB".parse(), Ok(Bytes::new(1)));
    assert_eq!("0.2ps".parse::<Duration>().unwrap_err().flaw, Flaw::NotWhole("picoseconds"));
    let endless = format!("1.{}s", "3".repeat(100));
    assert_eq!(endless.parse::<Duration>().unwrap_err().flaw, Flaw::NotWhole("picoseconds"));
}

#[test]
fn a_clock_has_exactly_its_frequency() {
    let pattern = |text: &str| {
        let clock = text.parse::<Frequency>().unwrap().clock();
        (clock.pattern().as_ps(), clock.pattern_cycles())
    };
    assert_eq!(pattern("250MHz"), (4_000, 1));
    assert_eq!(pattern("333MHz"), (1_000_000, 333));
    assert_eq!(pattern("35MHz"), (200_000, 7));
    assert_eq!(pattern("1000GHz"), (1, 1));
    assert_eq!(pattern("1Hz"), (1_000_000_000_000, 1));
}

#[test]
fn an_error_names_the_value_what_is_allowed_and_the_nearest_unit() {
    assert_eq!(
        error::<Duration>("120sn"),
        "\"120sn\" has an unknown unit; expected a time such as 120ns; \
         units: ps, ns, us, ms, s (did you mean ns?)"
    );
    assert_eq!(
        error::<Bytes>("64"),
        "\"64\" has no unit; expected a size such as 64KiB; \
         units: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB"
    );
    let nearest = |unit| FREQUENCY.nearest_unit(unit).or(TIME.nearest_unit(unit));
    assert_eq!(nearest("mhz"), Some("MHz"));
    assert_eq!(nearest("nsec"), Some("ns"));
    assert_eq!(nearest("bananas"), None);
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!("99999999s".parse::<Duration>().unwrap_err().flaw, Flaw::TooLarge);
    assert_eq!("18446744073709551616B".parse::<Bytes>().unwrap_err().flaw, Flaw::TooLarge);
    assert_eq!("18446744073709551615B".parse(), Ok(Bytes::new(u64::MAX)));
    assert_eq!("18446744.073709551616s".parse::<Duration>().unwrap_err().flaw, Flaw::TooLarge);
    assert_eq!("0Hz".parse::<Frequency>().unwrap_err().flaw, Flaw::OutOfRange);
    assert_eq!("1001GHz".parse::<Frequency>().unwrap_err().flaw, Flaw::OutOfRange);
}

#[test]
fn a_bare_number_in_a_file_is_told_to_have_a_unit() {
    let error = serde_json::from_str::<Duration>("120").unwrap_err().to_string();
    assert!(error.starts_with("\"120\" has no unit; expected a time such as 120ns"), "{error}");
    let error = serde_json::from_str::<Duration>("true").unwrap_err().to_string();
    assert!(error.contains("expected a time such as 120ns"), "{error}");
}

#[test]
fn the_schema_states_units_for_editors() {
    let schema = schemars::schema_for!(Frequency);
    assert_eq!(schema.get("type").unwrap(), "string");
    assert!(schema.get("pattern").unwrap().as_str().unwrap().contains("(Hz|kHz|MHz|GHz)"));
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(value: u64, shift in 0u32..64) {
        let value = value >> shift;
        let duration = Duration::from_ps(value);
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        let bytes = Bytes::new(value);
        prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
        if let Some(frequency) = Frequency::from_hz(value) {
            prop_assert_eq!(frequency.to_string().parse(), Ok(frequency));
        }
        let json = serde_json::to_string(&duration).unwrap();
        prop_assert_eq!(serde_json::from_str::<Duration>(&json).unwrap(), duration);
    }

    #[test]
    fn garbage_is_an_error_and_never_a_panic(text in ".{0,40}", near in "[0-9.]{0,30}[a-zA-Zµ]{0,4}") {
        for text in [&text, &near] {
            let _ = (text.parse::<Duration>(), text.parse::<Frequency>(), text.parse::<Bytes>());
        }
    }
}
