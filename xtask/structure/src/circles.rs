//! A graph of files, its circles, and the edges that close them.

use std::collections::{BTreeMap, BTreeSet};

/// The names by which files use each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    edges: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// A use of one file by another.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'g> {
    pub from: &'g str,
    pub to: &'g str,
    pub names: &'g BTreeSet<String>,
}

impl Graph {
    /// Notes that `from` uses `name`, which `to` defines. What a file uses of itself is no edge.
    pub fn add(&mut self, from: &str, to: &str, name: &str) {
        if from != to {
            let names = self.edges.entry(from.to_owned()).or_default().entry(to.to_owned()).or_default();
            names.insert(name.to_owned());
        }
    }

    /// All edges, sorted.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.edges.iter().flat_map(|(from, uses)| uses.iter().map(move |(to, names)| Edge { from, to, names }))
    }

    /// The edges between files of `circle`.
    pub fn within(&self, circle: &[&str]) -> Vec<Edge<'_>> {
        self.edges().filter(|edge| circle.contains(&edge.from) && circle.contains(&edge.to)).collect()
    }

    /// The circles: files of which each reaches each other one. The largest comes first; files are sorted.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let files: BTreeSet<&str> = self.edges().flat_map(|edge| [edge.from, edge.to]).collect();
        let files: Vec<&str> = files.into_iter().collect();
        let edges = numbered(&files, &self.edges().collect::<Vec<_>>());
        let circles = components(files.len(), &edges, &BTreeSet::new());
        let mut circles: Vec<Vec<&str>> =
            circles.into_iter().map(|circle| circle.into_iter().map(|file| files[file]).collect()).collect();
        circles.sort_by(|a: &Vec<&str>, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        circles
    }

    /// A few edges without which `circle` is none. Each is chosen because its loss frees the most files, or else because it
    /// has the fewest names. Without any one of them the others do not suffice, but a smaller choice may exist.
    pub fn closing(&self, circle: &[&str]) -> Vec<Edge<'_>> {
        let within = self.within(circle);
        let edges = numbered(circle, &within);
        let tied =
            |without: &BTreeSet<usize>| components(circle.len(), &edges, without).iter().map(Vec::len).sum::<usize>();
        let mut cut = BTreeSet::new();
        while tied(&cut) > 0 {
            let rest = (0..edges.len()).filter(|edge| !cut.contains(edge));
            let best = rest.min_by_key(|&edge| {
                let mut without = cut.clone();
                without.insert(edge);
                (tied(&without), within[edge].names.len(), edge)
            });
            cut.extend(best);
        }
        for edge in cut.clone() {
            cut.remove(&edge);
            if tied(&cut) > 0 {
                cut.insert(edge);
            }
        }
        cut.into_iter().map(|edge| within[edge]).collect()
    }
}

/// The edges, as places in `files`.
fn numbered(files: &[&str], edges: &[Edge<'_>]) -> Vec<(usize, usize)> {
    let places: BTreeMap<&str, usize> = files.iter().enumerate().map(|(at, file)| (*file, at)).collect();
    edges.iter().map(|edge| (places[edge.from], places[edge.to])).collect()
}

/// The strongly connected components of more than one node, by Tarjan's algorithm, if the edges in `without` are left out.
fn components(nodes: usize, edges: &[(usize, usize)], without: &BTreeSet<usize>) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); nodes];
    for (_, &(from, to)) in edges.iter().enumerate().filter(|(at, _)| !without.contains(at)) {
        next[from].push(to);
    }
    let mut walk = Walk { next, order: vec![None; nodes], low: vec![0; nodes], ..Walk::default() };
    for node in 0..nodes {
        if walk.order[node].is_none() {
            walk.visit(node);
        }
    }
    walk.found
}

#[derive(Default)]
struct Walk {
    next: Vec<Vec<usize>>,
    /// When each node was first seen.
    order: Vec<Option<usize>>,
    /// The earliest node on the stack that each one reaches.
    low: Vec<usize>,
    stack: Vec<usize>,
    seen: usize,
    found: Vec<Vec<usize>>,
}

impl Walk {
    fn visit(&mut self, node: usize) {
        let order = self.seen;
        (self.order[node], self.low[node]) = (Some(order), order);
        self.seen += 1;
        self.stack.push(node);
        for at in 0..self.next[node].len() {
            let next = self.next[node][at];
            match self.order[next] {
                None => {
                    self.visit(next);
                    self.low[node] = self.low[node].min(self.low[next]);
                }
                Some(order) if self.stack.contains(&next) => self.low[node] = self.low[node].min(order),
                Some(_) => {}
            }
        }
        if self.low[node] == order {
            let first = self.stack.iter().rposition(|&other| other == node).unwrap_or_default();
            let mut component = self.stack.split_off(first);
            component.sort_unstable();
            if component.len() > 1 {
                self.found.push(component);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        edges.iter().for_each(|(from, to)| graph.add(from, to, "Name"));
        graph
    }

    #[test]
    fn circles_are_found_the_largest_first() {
        let graph = graph(&[("x", "y"), ("y", "x"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "x"), ("x", "leaf")]);
        assert_eq!(graph.circles(), [vec!["a", "b", "c"], vec!["x", "y"]]);
    }

    #[test]
    fn a_file_that_uses_itself_and_a_tree_are_no_circles() {
        assert!(graph(&[("a", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]).circles().is_empty());
    }

    #[test]
    fn the_closing_edges_are_few_and_untie_the_circle() {
        // Two triangles with one edge in common.
        let graph = graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("b", "d"), ("d", "a")]);
        let closing = graph.closing(&graph.circles()[0]);
        assert_eq!(closing.iter().map(|edge| (edge.from, edge.to)).collect::<Vec<_>>(), [("a", "b")]);
    }
}
