//! Tables that differ from another in one entry: a checker that lets one of them pass
//! must have a reason.
//!
//! An entry that is not `never` becomes `never`, waits for something else afterwards, or does
//! one thing more or less. Entries of the stable table are changed as well, as far as a
//! directory uses them.

use narthex_memory::directory::{Action, Arrival, Forwarded, Holders, HomeAction, HomeState, Reply, Table};
use narthex_memory::protocols::{Access, AccessAction, Protocol, Request, Snoop, State};

/// A table that differs from another in one entry.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What is different: "requests Sharers Read: + takes".
    pub name: String,
    /// Whether the entry has become `never`: who does not notice does not use it.
    pub forbids: bool,
    /// The table.
    pub table: Table,
}

/// All tables that differ from `table` in one entry.
pub fn of(table: &Table) -> Vec<Mutant> {
    let mut mutants = Mutants { table, all: Vec::new() };
    mutants.of_homes();
    mutants.of_buffers();
    mutants.of_stable();
    mutants.all
}

struct Mutants<'a> {
    table: &'a Table,
    all: Vec<Mutant>,
}

impl Mutants<'_> {
    fn add(&mut self, name: String, forbids: bool, change: impl FnOnce(&mut Table)) {
        let mut table = self.table.clone();
        change(&mut table);
        self.all.push(Mutant { name, forbids, table });
    }

    fn of_homes(&mut self) {
        for holders in Holders::ALL {
            for arrival in Arrival::ALL {
                let (row, column) = (holders as usize, arrival as usize);
                let Some(cell) = self.table.requests[row][column] else { continue };
                for (what, change) in home_changes(cell) {
                    let name = format!("requests {holders:?} {arrival:?}: {what}");
                    self.add(name, change.is_none(), |table| table.requests[row][column] = change);
                }
            }
        }
        for state in HomeState::ALL {
            for reply in Reply::ALL {
                let (row, column) = (state as usize, reply as usize);
                let Some(cell) = self.table.responses[row][column] else { continue };
                for (what, change) in home_changes(cell) {
                    let name = format!("responses {state:?} {reply:?}: {what}");
                    self.add(name, change.is_none(), |table| table.responses[row][column] = change);
                }
            }
        }
    }

    fn of_buffers(&mut self) {
        for (row, stage) in ["Owning", "Lost"].into_iter().enumerate() {
            for forwarded in Forwarded::ALL {
                let column = forwarded as usize;
                let Some(cell) = self.table.written_back[row][column] else { continue };
                let name = |what: &str| format!("written_back {stage} {forwarded:?}: {what}");
                self.add(name("never"), true, |table| table.written_back[row][column] = None);
                let mut other = cell;
                other.is_owner = !cell.is_owner;
                self.add(name("the other stage"), false, |table| {
                    table.written_back[row][column] = Some(other)
                });
                let mut other = cell;
                other.supplies = !cell.supplies;
                self.add(name("the other 'supplies'"), false, |table| {
                    table.written_back[row][column] = Some(other);
                });
                let mut other = cell;
                other.updates_home = !cell.updates_home;
                self.add(name("the other 'updates_home'"), false, |table| {
                    table.written_back[row][column] = Some(other);
                });
            }
        }
    }

    fn add_stable(&mut self, name: String, forbids: bool, change: impl FnOnce(&mut Protocol)) {
        let mut stable = self.table.stable.clone();
        change(&mut stable);
        // A table lives as long as the program; a check of all mutants ends with it.
        self.add(name, forbids, |table| table.stable = Box::leak(Box::new(stable)));
    }

    fn of_stable(&mut self) {
        let stable = self.table.stable;
        let states = stable.states();
        for &state in states {
            let row = state as usize;
            for access in Access::ALL {
                let Some(cell) = stable.access[row][access as usize] else { continue };
                let name = |what: &str| format!("access {state} {access:?}: {what}");
                self.add_stable(name("never"), true, |table| table.access[row][access as usize] = None);
                for other in access_actions(states).into_iter().filter(|&other| other != cell) {
                    let what = format!("{other:?}");
                    self.add_stable(name(&what), false, |table| {
                        table.access[row][access as usize] = Some(other);
                    });
                }
            }
            for snoop in Snoop::ALL {
                let Some(cell) = stable.snoop[row][snoop as usize] else { continue };
                let name = |what: &str| format!("snoop {state} {snoop:?}: {what}");
                self.add_stable(name("never"), true, |table| table.snoop[row][snoop as usize] = None);
                for &next in states.iter().filter(|&&next| next != cell.next) {
                    let what = format!("then {next}");
                    self.add_stable(name(&what), false, |table| {
                        table.snoop[row][snoop as usize].as_mut().expect("a cell").next = next;
                    });
                }
                self.add_stable(name("the other 'supplies'"), false, |table| {
                    table.snoop[row][snoop as usize].as_mut().expect("a cell").supplies ^= true;
                });
                self.add_stable(name("the other 'updates_home'"), false, |table| {
                    table.snoop[row][snoop as usize].as_mut().expect("a cell").updates_home ^= true;
                });
            }
        }
        for request in Request::ALL {
            for shared in [false, true] {
                let (row, column) = (request as usize, usize::from(shared));
                let Some(cell) = stable.fill[row][column] else { continue };
                let name = |what: &str| format!("fill {request:?}, shared {shared}: {what}");
                self.add_stable(name("never"), true, |table| table.fill[row][column] = None);
                for &other in states.iter().filter(|&&other| other != cell) {
                    let what = format!("{other}");
                    self.add_stable(name(&what), false, |table| table.fill[row][column] = Some(other));
                }
            }
        }
    }
}

/// What an entry could be instead, and how it differs.
fn home_changes(cell: HomeAction) -> Vec<(String, Option<HomeAction>)> {
    let mut changes = vec![("never".to_owned(), None)];
    for next in HomeState::ALL.into_iter().filter(|&next| next != cell.next) {
        changes.push((format!("then {next:?}"), Some(HomeAction { next, ..cell })));
    }
    for action in Action::ALL {
        let sign = if cell.actions.has(action) { '-' } else { '+' };
        let actions = cell.actions.toggled(action);
        changes.push((format!("{sign} {action:?}"), Some(HomeAction { actions, ..cell })));
    }
    changes
}

fn access_actions(states: &[State]) -> Vec<AccessAction> {
    let hits = states.iter().map(|&next| AccessAction::Hit(next));
    hits.chain(Request::ALL.map(AccessAction::Ask)).chain([AccessAction::Drop]).collect()
}
