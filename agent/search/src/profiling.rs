//! Which kernels are worth the device time of a profile.
//!
//! A profile is for the step that starts from its kernel, so only the parent of the open step is profiled, and once. It is passed over where it
//! could change nothing: the kernel is wrong, or it is at the floor already; and where profiles have taken more than their share of the run's
//! time. The problem's own profile is always taken: it is what the first drafts go by.

use kernelwright_protocol::{Headroom, Nanoseconds, Verdict};

use crate::{Graph, Node, NodeId, Profiled, Standing};

/// Whether a node is to be profiled now.
#[must_use]
pub fn worth_profiling(graph: &Graph, id: NodeId) -> bool {
    let Some(node) = graph.node(id) else { return false };
    let is_parent = graph.open_step().is_some_and(|step| step.parent == Some(id));
    let is_new = graph.profile(Some(id)).is_none();
    is_parent && is_new && graph.standing(node) != Standing::Wrong && !is_at_floor(graph, node) && has_time_left(graph)
}

/// Whether the evaluator's time is what the problem's bytes allow. The products of the problem as it is written set no such floor: a kernel that
/// computes something simpler is far below it, and may have much left.
fn is_at_floor(graph: &Graph, node: &Node) -> bool {
    let Some(Profiled::Taken(profile)) = graph.profile(None) else { return false };
    let floor = profile.headroom.as_ref().filter(|headroom| headroom.bound_by == "memory").map(|headroom| headroom.floor_ns);
    let floor = floor.filter(|floor| floor.0 > 0);
    floor.zip(time(graph, node)).is_some_and(|(floor, time)| time.seconds() <= Headroom::AT_FLOOR * floor.seconds())
}

fn time(graph: &Graph, node: &Node) -> Option<Nanoseconds> {
    match &graph.verdict(&node.candidate)?.verdict {
        Verdict::Correct(correct) => correct.timing.as_ref().map(|timing| timing.candidate_ns),
        _ => None,
    }
}

/// Whether profiles have taken less than their share of the run's time.
fn has_time_left(graph: &Graph) -> bool {
    let share = graph.head().and_then(|head| head.settings.profile_share);
    share.is_none_or(|share| graph.profiling().seconds() <= share * graph.spend.wall.seconds())
}
