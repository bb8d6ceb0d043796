//! What has to be there before both sides are timed on a CPU: made side by side, in two processes.

use crate::late::{self, Ready, Unseen};
use crate::problem::Placed;
use crate::turns::{Course, Unverified, verify};
use crate::verdict::Stop;

/// Inputs, and a batch of either side with them, the baseline's and the candidate's; nothing, where there are none of the form that was expected.
pub(crate) struct Prepared {
    pub(crate) unseen: Option<Unseen>,
    pub(crate) batches: Option<(Vec<Placed>, Ready)>,
}

/// Verifies what the last batch has left behind and prepares a batch of either side from inputs that are known; without them, from another draw. Both
/// requests are waited for, even where one fails: a worker whose answer nobody takes answers no other question.
pub(crate) async fn pair(
    Course { problem, candidate, session, checks, .. }: &mut Course<'_>,
    (ours, theirs): (Vec<Placed>, Vec<Placed>),
    known: Option<Unseen>,
    mut unverified: Option<Unverified>,
) -> Result<Prepared, Stop> {
    let mut unseen = known;
    let mut room = None;
    if unseen.is_none() {
        let renewed = async {
            // What is verified was made from the inputs that there have been so far.
            verify(problem, unverified.take(), checks, &session.trials).await?;
            Ok::<_, Stop>(late::unseen(problem, &session.decisive).await?)
        };
        let (renewed, placed) = tokio::join!(renewed, candidate.reserve(&theirs));
        unseen = renewed?;
        room = Some(placed?);
    }
    let Some(inputs) = &unseen else { return Ok(Prepared { unseen, batches: None }) };
    let moves = problem.moves();
    let placed = async {
        verify(problem, unverified, checks, &session.trials).await?;
        Ok::<_, Stop>(late::place_baseline(problem, &ours, Some(inputs)).await?)
    };
    let written = async {
        let room = match room {
            Some(room) => room,
            None => candidate.reserve(&theirs).await?,
        };
        late::write_reserved(candidate, (theirs, room), inputs, moves).await
    };
    let (placed, written) = tokio::join!(placed, written);
    placed?;
    let ready = written?;
    Ok(Prepared { unseen, batches: Some((ours, ready)) })
}
