//! LogGOPS: what a message costs.
//!
//! The parameters of LogP (Culler et al. 1993), with what each further byte adds (LogGP, Alexandrov et
//! al. 1995; LogGOPS, Hoefler et al. 2010): four lines over a message's size k. They are those that
//! `narthex fit logp` measures, with overheads for either side, and each has an interval.
//!
//! LogGOPSim's parameters are a special case: it has one overhead for both sides, and lets a message's
//! bytes pass sender, wire and receiver at once, T(k) = 2 o + L + (k-1) max(O, G).

use serde::{Deserialize, Serialize};

/// Time over a message's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// For the first byte, in nanoseconds.
    pub first_ns: f64,
    /// For each further byte.
    pub per_byte_ns: f64,
}

impl Line {
    /// The same for every size.
    pub fn constant(first_ns: f64) -> Self {
        Line { first_ns, per_byte_ns: 0.0 }
    }

    /// For so many bytes, in picoseconds; below zero where two processors are engaged at once.
    #[inline]
    pub fn at_ps(&self, bytes: u64) -> i64 {
        ((self.first_ns + bytes.saturating_sub(1) as f64 * self.per_byte_ns) * 1e3).round() as i64
    }

    /// The same; no processor is engaged for less than no time.
    #[inline]
    pub fn engaged_ps(&self, bytes: u64) -> u64 {
        self.at_ps(bytes).max(0) as u64
    }
}

/// The parameters of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// L: from the end of the sender's overhead to the beginning of the receiver's.
    pub latency: Line,
    /// o_s and O_s: the sender's processor is engaged.
    pub send_overhead: Line,
    /// o_r and O_r: the receiver's is.
    pub receive_overhead: Line,
    /// g and G: between the messages of an interface, in either direction.
    pub gap: Line,
    /// S: the largest message whose sender does not wait for its receiver.
    pub eager_bytes: u64,
    /// What a calculation's time is multiplied with.
    pub calculation_scale: f64,
}

impl Parameters {
    /// Nothing takes time but latency and calculations, as given: the lengths of a schedule's paths.
    pub fn paths(latency_ns: f64, calculation_scale: f64) -> Self {
        Parameters {
            latency: Line::constant(latency_ns),
            send_overhead: Line::default(),
            receive_overhead: Line::default(),
            gap: Line::default(),
            eager_bytes: u64::MAX,
            calculation_scale,
        }
    }
}

/// The most sizes whose costs are kept.
const SIZES: usize = 64;

/// What a message of one size costs, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    bytes: u64,
    /// L, which may be below zero.
    pub latency: i64,
    /// o_s.
    pub send: u64,
    /// o_r.
    pub receive: u64,
    /// g.
    pub gap: u64,
}

/// The costs of the sizes that are in use: a program sends messages of few, and five roundings of a line for each
/// message are a tenth of the executor's time.
#[derive(Debug)]
pub(crate) struct CostTable<'a> {
    parameters: &'a Parameters,
    places: [Costs; SIZES],
}

impl<'a> CostTable<'a> {
    pub fn new(parameters: &'a Parameters) -> Self {
        CostTable { parameters, places: [parameters.costs(0); SIZES] }
    }

    /// Those of a size.
    #[inline]
    pub fn of(&mut self, bytes: u64) -> Costs {
        // Sizes are often multiples of eight.
        let place = (bytes ^ bytes >> 6) as usize % SIZES;
        if self.places[place].bytes != bytes {
            self.places[place] = self.parameters.costs(bytes);
        }
        self.places[place]
    }
}

impl Parameters {
    fn costs(&self, bytes: u64) -> Costs {
        Costs {
            bytes,
            latency: self.latency.at_ps(bytes),
            send: self.send_overhead.engaged_ps(bytes),
            receive: self.receive_overhead.engaged_ps(bytes),
            gap: self.gap.engaged_ps(bytes),
        }
    }
}
