//! What the processor did: operators, by the time they took themselves.

use std::collections::BTreeMap;

use kernelwright_protocol::{KernelProfile, KernelTime, Metric, Nanoseconds};

use super::{Event, Trace};
use crate::{Capture, RawFigure};

#[derive(Default)]
struct Operator {
    count: u64,
    /// All their time.
    total_us: f64,
    /// Their time less that of the operators they called.
    own_us: f64,
}

/// Takes over the operators.
pub(super) fn read(trace: &Trace<'_>, capture: &mut Capture) {
    let mut threads: BTreeMap<(&str, &str), Vec<&Event<'_>>> = BTreeMap::new();
    for event in trace.events.iter().filter(|event| event.is("cpu_op") && event.ts.is_finite()) {
        let thread = (event.pid.map_or("", |id| id.get()), event.tid.map_or("", |id| id.get()));
        threads.entry(thread).or_default().push(event);
    }
    let mut operators: BTreeMap<&str, Operator> = BTreeMap::new();
    for events in threads.into_values() {
        let nodes = tree(events);
        for node in &nodes {
            let operator = operators.entry(&node.event.name).or_default();
            // Times are rounded, so what an operator called can seem to take longer than itself.
            operator.own_us += node.own_us.max(0.0);
            // An operator that does nothing but call another variant of itself is one, as in the profiler's own table.
            let caller = node.caller.map(|caller| &nodes[caller]);
            if !caller.is_some_and(|caller| caller.called == 1 && caller.event.name == node.event.name) {
                operator.count += 1;
                operator.total_us += node.event.dur;
            }
        }
    }
    let all: f64 = operators.values().map(|operator| operator.own_us).sum();
    let calls = f64::from(capture.calls.max(1));
    let mut operators: Vec<(&str, Operator)> = operators.into_iter().collect();
    operators.sort_by(|(_, left), (_, right)| right.own_us.total_cmp(&left.own_us));
    for (name, operator) in operators {
        let count = operator.count as f64;
        let mut kernel = KernelProfile::from(KernelTime {
            name: name.to_owned(),
            launches_per_call: count / calls,
            time_per_call_ns: Nanoseconds((operator.own_us * 1e3 / calls).round() as u64),
            share: if all > 0.0 { operator.own_us / all } else { 0.0 },
        });
        kernel.figures.set(Metric::DurationNs, operator.own_us * 1e3 / count);
        let figure = |name: &str, value: f64, unit: &str| RawFigure { name: name.to_owned(), value, unit: unit.to_owned() };
        capture.kernels.push(kernel);
        capture.raw.push(vec![
            figure("count", count, ""),
            figure("self cpu time", operator.own_us, "us"),
            figure("cpu time", operator.total_us, "us"),
        ]);
    }
    capture.limits.push("These are operators of the processor by their own time; the trace has no kernels of a device.".to_owned());
}

/// One event of a thread, in the tree of callers.
struct Node<'a, 'b> {
    event: &'a Event<'b>,
    caller: Option<usize>,
    called: usize,
    own_us: f64,
}

/// The events of one thread as callers and called: what lies within another event is called by it.
fn tree<'a, 'b>(mut events: Vec<&'a Event<'b>>) -> Vec<Node<'a, 'b>> {
    // Of events that begin together the longer one is the caller.
    events.sort_by(|left, right| left.ts.total_cmp(&right.ts).then(right.dur.total_cmp(&left.dur)));
    let mut nodes: Vec<Node<'_, '_>> = Vec::with_capacity(events.len());
    let mut open: Vec<usize> = Vec::new();
    for event in events {
        let ended = |node: &Node<'_, '_>| node.event.ts + node.event.dur <= event.ts;
        while open.last().is_some_and(|caller| ended(&nodes[*caller])) {
            open.pop();
        }
        let caller = open.last().copied();
        if let Some(caller) = caller {
            nodes[caller].called += 1;
            nodes[caller].own_us -= event.dur;
        }
        open.push(nodes.len());
        nodes.push(Node { event, caller, called: 0, own_us: event.dur });
    }
    nodes
}
