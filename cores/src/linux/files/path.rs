//! Names of files: one of the ways to write each.

/// Linux' PATH_MAX and NAME_MAX.
const LONGEST: usize = 4096;
const LONGEST_PART: usize = 255;

/// The name of what `text` means in `folder`: from the root, without the first slash.
pub fn resolved(folder: &str, text: &str) -> Option<String> {
    let begin = if text.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = begin.split('/').filter(|part| !part.is_empty()).collect();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part if part.len() > LONGEST_PART => return None,
            part => parts.push(part),
        }
    }
    Some(parts.join("/")).filter(|name| name.len() < LONGEST)
}

/// The folder in which a name is; the root is "".
pub fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The part of `name` behind `folder`, if it is in it, however deep.
pub fn behind<'a>(folder: &str, name: &'a str) -> Option<&'a str> {
    match folder {
        "" => (!name.is_empty()).then_some(name),
        folder => name.strip_prefix(folder)?.strip_prefix('/'),
    }
}

/// How many letters differ between two names, put in, left out or replaced.
pub fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, there) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *there);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_however_it_is_written() {
        let names = ["data/in.txt", "./data//in.txt", "/data/in.txt", "../data/x/../in.txt"];
        assert_eq!(names.map(|text| resolved("", text)), [(); 4].map(|()| Some("data/in.txt".into())));
        assert_eq!(resolved("data", "in.txt").as_deref(), Some("data/in.txt"));
        assert_eq!(resolved("data", "/").as_deref(), Some(""));
        assert_eq!(resolved("", &"x".repeat(256)), None);
        assert_eq!((folder_of("a/b/c"), folder_of("a")), ("a/b", ""));
        assert_eq!(
            (behind("a", "a/b/c"), behind("a", "ab"), behind("", "a")),
            (Some("b/c"), None, Some("a"))
        );
    }

    #[test]
    fn a_distance_counts_letters() {
        assert_eq!(["input", "imput", "inputs", "in"].map(|name| distance("input", name)), [0, 1, 1, 3]);
    }
}
