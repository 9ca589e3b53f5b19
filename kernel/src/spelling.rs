//! What a user probably meant by a word that is not one of those allowed.

/// A hint that ends a message, such as "; did you mean `clock`?"; empty if nothing allowed is close.
pub fn did_you_mean<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    let word = word.to_lowercase();
    let closeness = |candidate: &str| strsim::jaro_winkler(&word, &candidate.to_lowercase());
    allowed
        .into_iter()
        .map(|candidate| (closeness(candidate), candidate))
        .filter(|(closeness, _)| *closeness >= 0.75)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map_or_else(String::new, |(_, candidate)| format!("; did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_offered_and_a_stranger_is_not() {
        assert_eq!(did_you_mean("clok", ["width", "clock"]), "; did you mean `clock`?");
        assert_eq!(did_you_mean("cni32QM", ["NI2w", "CNI32Qm"]), "; did you mean `CNI32Qm`?");
        assert_eq!(did_you_mean("zebra", ["width", "clock"]), "");
    }
}
