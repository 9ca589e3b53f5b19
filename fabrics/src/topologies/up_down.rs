//! Routes through any graph of switches, without circles: up*/down* (Schroeder and others,
//! "Autonet: A High-Speed, Self-Configuring Local Area Network Using Point-to-Point Links", 1991).
//!
//! Switches have levels: their distance from a root, which is the switch with the most links. Of
//! each link one direction leads *up*, to the lower level, or at equal levels to the lower number. A
//! route goes up some links, then down some; since no link up follows one down, and numbers of
//! links in one direction only fall, nothing waits in a circle with one lane.
//!
//! What a parcel does next depends on the switch and the destination alone: from a switch that has
//! a way to the destination by links down only, the shortest of these; else up, towards the
//! nearest switch that has one. So a route can be longer than the shortest that up*/down* permits,
//! where that would go up past a switch with a long way down.

/// For each switch and each switch that is a destination, the ports that lead there equally well.
#[derive(Debug)]
pub(super) struct Tables {
    switches: usize,
    /// Where a pair's ports begin in `ports`; one entry more than there are pairs.
    begins: Vec<u32>,
    ports: Vec<u16>,
}

/// A port of a switch, and the switch behind it.
pub(super) type Port = (u16, u32);

impl Tables {
    /// Those of a connected graph: the ports of each switch that lead to switches.
    pub fn of(graph: &[Vec<Port>]) -> Self {
        let levels = distances(graph, root(graph));
        let rank = |switch: u32| (levels[switch as usize], switch);
        let mut from_the_root: Vec<u32> = (0..graph.len() as u32).collect();
        from_the_root.sort_by_key(|&switch| rank(switch));
        let mut chosen: Vec<Vec<Vec<u16>>> = vec![Vec::new(); graph.len()];
        for destination in 0..graph.len() as u32 {
            let down = distances_down(graph, destination, &rank);
            let mut cost = down.clone();
            for &switch in &from_the_root {
                let here = cost[switch as usize];
                let ways = graph[switch as usize].iter().filter(|&&(_, next)| match here {
                    Some(_) => rank(next) > rank(switch) && down[next as usize].is_some(),
                    None => rank(next) < rank(switch),
                });
                let least = ways.clone().filter_map(|&(_, next)| cost[next as usize]).min();
                let ports = ways.filter(|&&(_, next)| cost[next as usize] == least && switch != destination);
                chosen[switch as usize].push(ports.map(|&(port, _)| port).collect());
                cost[switch as usize] = here.or(least.map(|least| least + 1));
            }
        }
        let mut tables = Tables { switches: graph.len(), begins: vec![0], ports: Vec::new() };
        for ports in chosen.into_iter().flatten() {
            tables.ports.extend(ports);
            tables.begins.push(tables.ports.len() as u32);
        }
        tables
    }

    /// The ports of a switch through which a parcel to another switch goes on.
    #[inline]
    pub fn ports(&self, switch: u32, destination: u32) -> &[u16] {
        let pair = switch as usize * self.switches + destination as usize;
        &self.ports[self.begins[pair] as usize..self.begins[pair + 1] as usize]
    }
}

/// The switch with the most links; of several, the first.
fn root(graph: &[Vec<Port>]) -> u32 {
    (0..graph.len() as u32).rev().max_by_key(|&switch| graph[switch as usize].len()).unwrap_or(0)
}

/// How many links each switch is from this one; `u32::MAX` for one that cannot be reached.
pub(super) fn distances(graph: &[Vec<Port>], from: u32) -> Vec<u32> {
    let mut distances = vec![u32::MAX; graph.len()];
    distances[from as usize] = 0;
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&switch) = reached.get(next) {
        next += 1;
        for &(_, other) in &graph[switch as usize] {
            if distances[other as usize] == u32::MAX {
                distances[other as usize] = distances[switch as usize] + 1;
                reached.push(other);
            }
        }
    }
    distances
}

/// How many links each switch is from a destination, by links down only.
fn distances_down(
    graph: &[Vec<Port>],
    destination: u32,
    rank: &impl Fn(u32) -> (u32, u32),
) -> Vec<Option<u32>> {
    let mut distances = vec![None; graph.len()];
    distances[destination as usize] = Some(0);
    let mut reached = vec![destination];
    let mut next = 0;
    while let Some(&switch) = reached.get(next) {
        next += 1;
        let distance = distances[switch as usize].map(|distance: u32| distance + 1);
        for &(_, above) in &graph[switch as usize] {
            if rank(above) < rank(switch) && distances[above as usize].is_none() {
                distances[above as usize] = distance;
                reached.push(above);
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The graph of these links, whose ports are numbered in their order.
    fn graph(switches: usize, links: &[(u32, u32)]) -> Vec<Vec<Port>> {
        let mut graph: Vec<Vec<Port>> = vec![Vec::new(); switches];
        for &(one, other) in links {
            let (here, there) = (graph[one as usize].len() as u16, graph[other as usize].len() as u16);
            graph[one as usize].push((here, other));
            graph[other as usize].push((there, one));
        }
        graph
    }

    #[test]
    fn a_route_goes_up_and_then_down() {
        // A ring of five with its root 0: 2 and 3 are at level 2, and 2 is above 3.
        let tables = Tables::of(&graph(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]));
        assert_eq!(tables.ports(2, 3), [1], "down the link between them");
        assert_eq!(tables.ports(1, 3), [1], "down twice, although 0 and 4 lead there too");
        assert_eq!(tables.ports(3, 1), [0], "up to 2 and up to 1");
        assert_eq!(tables.ports(4, 2), [1], "up to 0, since 3 to 2 is up behind a link down");
        assert!(tables.ports(4, 4).is_empty());
    }

    #[test]
    fn links_side_by_side_are_alternatives() {
        let tables = Tables::of(&graph(2, &[(0, 1), (0, 1), (1, 0)]));
        assert_eq!((tables.ports(0, 1), tables.ports(1, 0)), (&[0, 1, 2][..], &[0, 1, 2][..]));
    }
}
