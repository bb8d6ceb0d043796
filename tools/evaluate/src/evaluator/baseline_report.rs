//! What a candidate has to beat, measured without one.

use kernelwright_protocol::{BaselineReport, ProblemId, Target};

use super::Evaluator;
use super::case::alone;
use crate::baselines::{self, Reload};
use crate::batch::Room;
use crate::devices::Device;
use crate::problem::BASE;
use crate::shelf::Key;
use crate::{BaselineChoice, EvaluateError, command, correctness, draws, sets, wire};

impl Evaluator {
    /// Measures what a candidate has to beat.
    pub async fn measure_baseline(
        &self,
        source: &str,
        name: &str,
        target: Target,
        choice: BaselineChoice,
        tf32: bool,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<BaselineReport, EvaluateError> {
        if let Some(command) = &self.inner.settings.command {
            say("asking the evaluator's command");
            return command::measure_baseline(command, &command::identity(source, name, target, tf32), &self.inner.command_logs.next())
                .await;
        }
        let workshop = self.workshop().await?;
        let Device { target, shelf: mut loaded } = self.inner.devices.take(&self.inner.devices.choices(target)).await;
        let _alone = alone(target, say).await;
        let key = Key { problem: ProblemId::of(source), tf32 };
        let setting = workshop.setting(target, tf32);
        let known = loaded.take(&key);
        loaded.rest().await;
        let mut problem = if let Some(problem) = known {
            problem
        } else {
            say("loading the problem");
            loaded.make_room().await;
            workshop.load(source, name, &setting).await?
        };
        let (mut inputs, mut outputs, mut measured) = (vec![], vec![], vec![]);
        for set in 0..problem.count_sets() {
            problem.select(set).await?;
            let base = draws::fresh();
            let drawn = problem.draw(BASE, base).await?.map_err(correctness::base_failed)?;
            // Outputs are about as large as inputs; a batch that is shorter than wanted does no harm.
            let room = Room::of_one_side(2 * wire::total_bytes(&drawn.tensors), &self.inner.settings.limits, &problem);
            let reload = Reload { workshop, source, name, setting: problem.setting, base };
            problem.learn_moves().await?;
            baselines::ensure(&mut problem, choice.kinds(), room, &reload, say).await?;
            inputs.extend_from_slice(&problem.facts.inputs);
            outputs.extend_from_slice(&problem.facts.outputs);
            measured.push(problem.baselines.iter().filter(|baseline| choice.kinds().contains(&baseline.kind)).cloned().collect::<Vec<_>>());
        }
        let report = BaselineReport {
            problem: key.problem.clone(),
            target,
            baselines: match measured.as_slice() {
                [only] => only.clone(),
                several => sets::summed(&several.iter().map(Vec::as_slice).collect::<Vec<_>>()),
            },
            inputs,
            outputs,
            findings: problem
                .degenerate()
                .into_iter()
                .chain(problem.form_note())
                .chain(problem.tf32_note())
                .chain(problem.gradients_note())
                .chain(problem.structure_note())
                .collect(),
        };
        self.put_back(&mut loaded, key, problem).await;
        Ok(report)
    }
}
