//! Which algorithm a collective call becomes, and on how many bytes.

use super::calls::Collective as Of;
use super::line::Line;
use crate::Problem;
use crate::collectives::{Algorithm, Part};

/// Writes a rank's part of a collective, in which places count from the root.
pub(super) fn write(part: &mut Part<'_>, of: Of, line: &Line<'_>, root: u32) -> Result<(), Problem> {
    let (own, members) = (part.own, part.members);
    let place = |number: u32| number % members;
    let (algorithm, bytes) = match of {
        Of::Barrier => (Algorithm::BarrierDissemination, 1),
        Of::Broadcast => (Algorithm::BroadcastBinomial, line.bytes("")?),
        Of::Reduce => (Algorithm::ReduceBinomial, line.bytes("")?),
        Of::AllReduce => (Algorithm::all_reduce(line.bytes("")?), line.bytes("")?),
        Of::ReduceScatterBlock => {
            (Algorithm::ReduceScatterRing, line.bytes("")?.saturating_mul(u64::from(members)))
        }
        // What is not the root's own is not always given at the root, and the other way round.
        Of::Gather => (Algorithm::GatherLinear, line.bytes(if own == 0 { "receive_" } else { "send_" })?),
        Of::Scatter => (Algorithm::ScatterLinear, line.bytes(if own == 0 { "send_" } else { "receive_" })?),
        Of::AllGather => (Algorithm::AllGatherRing, line.bytes("receive_")?),
        Of::AllToAll => (Algorithm::all_to_all(line.bytes("receive_")?), line.bytes("receive_")?),
        Of::GatherCounts if own > 0 => (Algorithm::GatherLinear, line.bytes("send_")?),
        Of::ScatterCounts if own > 0 => (Algorithm::ScatterLinear, line.bytes("receive_")?),
        Of::GatherCounts => {
            let all = line.all_bytes("receive_", members)?;
            let of = |from: u32| (from, all[place(from + root) as usize]);
            part.exchange_all(&[], &(1..members).map(of).collect::<Vec<_>>());
            return Ok(());
        }
        Of::ScatterCounts => {
            let all = line.all_bytes("send_", members)?;
            let of = |to: u32| (to, all[place(to + root) as usize]);
            part.exchange_all(&(1..members).map(of).collect::<Vec<_>>(), &[]);
            return Ok(());
        }
        Of::AllGatherCounts => {
            let all = line.all_bytes("receive_", members)?;
            let of = |step: u32| all[place(own + members - step) as usize];
            let (next, before) = (place(own + 1), place(own + members - 1));
            (1..members).for_each(|step| part.exchange_all(&[(next, of(step - 1))], &[(before, of(step))]));
            return Ok(());
        }
        Of::AllToAllCounts => {
            let (out, back) = (line.all_bytes("send_", members)?, line.all_bytes("receive_", members)?);
            for step in 1..members {
                let (to, from) = (place(own + step), place(own + members - step));
                part.exchange_all(&[(to, out[to as usize])], &[(from, back[from as usize])]);
            }
            return Ok(());
        }
    };
    part.write(algorithm, bytes);
    Ok(())
}
