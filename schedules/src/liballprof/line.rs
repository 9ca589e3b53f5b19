//! A line of a trace: a call, its arguments by their names, and what numbers in it mean.

use crate::Problem;

/// A call with its arguments.
pub(super) struct Line<'a> {
    pub start: &'a str,
    /// The arguments' names, and what stands for each.
    arguments: Vec<(&'static str, &'a str)>,
    pub end: &'a str,
}

impl<'a> Line<'a> {
    /// `names` are those of the arguments.
    pub fn new(
        name: &str,
        names: impl Iterator<Item = &'static str>,
        fields: &'a str,
    ) -> Result<Self, Problem> {
        let fields: Vec<&str> = fields.split(':').collect();
        let names: Vec<&str> = names.collect();
        let [start, given @ .., end] = &fields[..] else {
            return Err(Problem::new(format!("{name} is cut: it has no start and no end")));
        };
        if given.len() != names.len() {
            let form = names.iter().map(|name| name.to_uppercase() + ":").collect::<String>();
            return Err(Problem::new(format!(
                "{name} is cut or of another version: behind it stand {} fields, expected are {}: {name}:START:{form}END",
                fields.len(),
                names.len() + 2
            )));
        }
        Ok(Line { start, arguments: names.into_iter().zip(given.iter().copied()).collect(), end })
    }

    /// What stands for an argument; nothing if the call has none of this name.
    pub fn text(&self, name: &str) -> &'a str {
        self.arguments.iter().find(|(own, _)| *own == name).map_or("", |(_, given)| given)
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Result<u64, Problem> {
        number(name, self.text(name))
    }

    fn type_bytes(&self, name: &str) -> Result<u64, Problem> {
        let given = self.text(name);
        let mut parts = given.split(',');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(_), Some(bytes), Some(_), None) => number(name, bytes),
            _ => Err(Problem::new(format!("{name} '{given}': expected TYPE,SIZE,EXTENT"))),
        }
    }

    /// Of a message or a collective, whose count and type have this before their names.
    pub fn bytes(&self, side: &str) -> Result<u64, Problem> {
        let count = self.whole(&format!("{side}count"))?;
        let of_type = self.type_bytes(&format!("{side}type"))?;
        count.checked_mul(of_type).ok_or_else(|| Problem::new("has more than 2^64 bytes"))
    }

    /// The same for each rank.
    pub fn all_bytes(&self, side: &str, ranks: u32) -> Result<Vec<u64>, Problem> {
        let name = format!("{side}counts");
        let of_type = self.type_bytes(&format!("{side}type"))?;
        let counts: Vec<u64> =
            self.text(&name).split(',').map(|count| number(&name, count)).collect::<Result<_, _>>()?;
        if counts.len() != ranks as usize {
            return Err(Problem::new(format!("{name} has {} numbers for {ranks} ranks", counts.len())));
        }
        Ok(counts.iter().map(|count| count.saturating_mul(of_type)).collect())
    }
}

pub(super) fn number(name: &str, given: &str) -> Result<u64, Problem> {
    given.parse().map_err(|_| Problem::new(format!("{name} '{given}': expected a whole number from 0")))
}

/// Microseconds, perhaps with decimals, in nanoseconds.
pub(super) fn nanoseconds(name: &str, given: &str) -> Result<u64, Problem> {
    let (whole, decimals) = given.split_once('.').unwrap_or((given, "0"));
    let digits: String = decimals.chars().chain("00".chars()).take(3).collect();
    let is_number = !decimals.is_empty() && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let time = || whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(digits.parse().ok()?);
    time()
        .filter(|_| is_number)
        .ok_or_else(|| Problem::new(format!("{name} '{given}': expected a time in microseconds")))
}

/// What numbers of an MPI library mean.
#[derive(Clone, Copy)]
pub(super) struct Library {
    /// A receive's peer that stands for any.
    pub any_rank: i64,
    /// A peer that stands for none.
    pub no_rank: i64,
    /// Of a request in memory.
    pub request_bytes: u64,
}

impl Library {
    /// MPICH's communicators are handles of 32 bits, whose bits 26 to 29 are 1; those of Open MPI are
    /// addresses, or small numbers in Fortran.
    pub fn of_communicator(identity: u64) -> Self {
        let handle = identity as u32;
        let has_32_bits = identity >> 32 == 0 || identity >> 32 == u64::from(u32::MAX);
        let is_mpich = has_32_bits && handle >> 30 != 0 && handle >> 26 & 0xf == 1;
        let (any_rank, no_rank) = if is_mpich { (-2, -1) } else { (-1, -2) };
        Library { any_rank, no_rank, request_bytes: if is_mpich || identity < 4096 { 4 } else { 8 } }
    }
}
