//! A run that ends with a warm checkpoint: how far it goes, and what becomes of it.

use std::path::Path;

use narthex_kernel::simulation::Ending;
use narthex_kernel::{Time, did_you_mean};

use super::Running;
use crate::checkpoint::file;
use crate::checkpoint::warm::{self, Point, WarmIdentity};
use crate::config::Machine;
use crate::request::{Failure, RunRequest, WarmRequest};

/// The warm checkpoint that a run makes.
pub(super) struct Wanted<'a> {
    file: &'a Path,
    /// Where its programs are then.
    pub point: Point,
}

/// What became of it.
pub(super) enum Outcome {
    /// It is written, and of this instant.
    Made(Time),
    /// There is none; why, in words.
    Missed(String),
    /// The run has ended otherwise.
    Open,
}

impl Outcome {
    /// The instant of the checkpoint, if one was made: the run ends there.
    pub fn made_at(&self) -> Option<Time> {
        match self {
            Outcome::Made(at) => Some(*at),
            Outcome::Missed(_) | Outcome::Open => None,
        }
    }
}

impl<'a> Wanted<'a> {
    /// That of a request, if it asks for one.
    ///
    /// # Errors
    /// If the point is none, or the file cannot be written or is there already.
    pub fn of(request: &'a RunRequest) -> Result<Option<Self>, Failure> {
        let Some(WarmRequest::Write { file, at }) = &request.warm else { return Ok(None) };
        let name = file.display();
        let point = Point::parse(at)?;
        file::check_place(file).map_err(|error| {
            Failure::usage(format!("the warm checkpoint '{name}' cannot be written: {error}"))
        })?;
        if file.exists() {
            return Err(Failure::usage(format!(
                "the warm checkpoint '{name}' is there already: start from it (--from), or delete it"
            )));
        }
        Ok(Some(Wanted { file, point }))
    }

    /// The instant at which the run stops to find out where its programs meet.
    pub fn stops_at(&self) -> Option<Time> {
        match self.point {
            Point::After(at) => Some(at),
            _ => None,
        }
    }

    /// The run has come to `ending`: writes the checkpoint if its programs have met.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn conclude(
        &self,
        ending: &Ending,
        running: &mut Running,
        request: &RunRequest,
        elf: &[u8],
        machine: &Machine,
    ) -> Result<Outcome, Failure> {
        let (mut nodes, written) = running.nodes_and_written();
        let point = self.point.in_words();
        match ending {
            Ending::AllFinished => {
                let regions =
                    nodes.iter().filter_map(|node| node.meeting()).flat_map(|meeting| &meeting.regions);
                let hint = match &self.point {
                    Point::Region(name) => did_you_mean(name, regions.map(String::as_str)),
                    _ => String::new(),
                };
                Ok(Outcome::Missed(format!("the run ended before its programs came {point}{hint}")))
            }
            Ending::NoProgress(_) => {
                let met: Vec<Result<Time, String>> = nodes.iter().map(|node| node.met_at()).collect();
                if met.iter().all(Result::is_err) {
                    return Ok(Outcome::Open);
                }
                if let Some(Err(absent)) = met.iter().find(|met| met.is_err()) {
                    return Ok(Outcome::Missed(format!(
                        "{absent} has not come {point}, where others wait: all processes have to, behind a barrier"
                    )));
                }
                if let Some(why) =
                    nodes.iter_mut().find_map(|node| node.is_bound_because().or(node.is_busy_because()))
                {
                    return Ok(Outcome::Missed(format!("all processes have come {point}, but {why}")));
                }
                let at = met.into_iter().flatten().max().unwrap_or(Time::ZERO);
                let identity = WarmIdentity::new(request, elf, machine, at);
                warm::write(self.file, &identity, &mut nodes, written)?;
                Ok(Outcome::Made(at))
            }
            _ => Ok(Outcome::Open),
        }
    }
}
