//! What runs learn from each other: kernels to begin with, and lessons.

use kernelwright_protocol::{Backend, Effect, Subject};

use super::*;

impl Log {
    /// Begins with kernels of earlier runs, and evaluates them.
    fn warm(&mut self, seeds: &[(&str, Came)]) {
        let seed = |text: &str| Seed {
            run: RunId("earlier".into()),
            problem: "p".into(),
            candidate: CandidateId::of(text),
            speedup: 2.0,
            likeness: 0.9,
            why: "the same operators".into(),
            summary: format!("how {text} came about"),
        };
        self.add(Event::WarmStart { runs: 3, seeds: seeds.iter().map(|(text, _)| seed(text)).collect() });
        for (text, came) in seeds {
            let (step, candidate) = (StepId::WARM_START, CandidateId::of(text));
            let evaluation = evaluation(&candidate, *came);
            let (fitness, status) = (evaluation.fitness(), evaluation.verdict.status().to_owned());
            self.add(Event::CandidateEvaluated { step, candidate: candidate.clone(), evaluation: Box::new(evaluation) });
            let (node, summary) = (self.graph().next_node(), seed(text).summary);
            self.add(Event::NodeAdded { node, parent: None, step, candidate, fitness, status, summary });
        }
    }
}

#[test]
fn a_run_that_begins_with_a_correct_kernel_goes_on_from_it_and_drafts_none() {
    let mut log = Log::greedy(2);
    log.warm(&[("old", Came::Wrong), ("good", Came::Faster(1.5))]);
    assert_eq!(log.next_parent(), Some(NodeId(2)));
    let graph = log.graph();
    assert_eq!((graph.spend.evaluations, graph.spend.steps, graph.steps().len()), (2, 0, 0), "evaluations are spent, steps are not");
    assert_eq!(graph.seed(&graph.nodes()[1]).map(|seed| seed.why.as_str()), Some("the same operators"));
    log.step(&[("c", Came::Faster(1.2))]);
    assert_eq!(log.graph().steps_without_progress(0), 1, "the kernel was there before the first step");
}

#[test]
fn a_kernel_that_is_not_correct_here_is_material_for_drafts() {
    let mut log = Log::greedy(2);
    log.warm(&[("old", Came::Wrong)]);
    assert_eq!(log.next_parent(), None);
    let graph = log.graph();
    let seeds = |parent| Context::select(&graph, parent, ContextLimits::default()).seeds.iter().map(|node| node.id.0).collect::<Vec<_>>();
    assert_eq!((seeds(None), seeds(Some(NodeId(1)))), (vec![1], vec![]));
    assert!(Context::select(&graph, None, ContextLimits::default()).failures.is_empty(), "it is not told twice");
}

#[test]
fn a_target_that_an_old_kernel_reaches_needs_no_step() {
    let rules = StopRules { target_speedup: Some(1.2), ..StopRules::default() };
    let mut log = Log::new(Policy::Greedy { drafts: 2 }, Budget::default(), rules);
    log.warm(&[("good", Came::Faster(1.5))]);
    assert!(matches!(decide(&log.graph()), Move::Stop(StopReason::TargetReached { .. })));
}

/// An earlier run on softmax, with one thing after the other different.
fn earlier(name: &str, change: impl FnOnce(&mut EarlierRun)) -> EarlierRun {
    let mut run = EarlierRun {
        run: RunId(name.into()),
        problem: "softmax".into(),
        problem_id: ContentHash::of("softmax 4096"),
        subject: Subject {
            operators: vec!["softmax".into()],
            inputs: vec!["float32[4096, 4096]".into()],
            backend: Backend::Cpu,
            arch: "x86_64-avx512".into(),
        },
        candidate: CandidateId::of(name),
        speedup: 2.0,
        summary: String::new(),
    };
    change(&mut run);
    run
}

#[test]
fn kernels_for_the_same_problem_and_architecture_come_first() {
    let this = earlier("this", |_| {});
    let runs = [
        earlier("other arch", |run| run.subject.arch = "x86_64-avx2".into()),
        earlier("other size", |run| {
            run.problem_id = ContentHash::of("softmax 1024");
            run.subject.inputs = vec!["float32[1024, 4096]".into()];
        }),
        earlier("faster", |run| run.speedup = 3.0),
        earlier("same", |_| {}),
        earlier("copy", |run| run.candidate = CandidateId::of("faster")),
        earlier("other operators", |run| {
            run.problem_id = ContentHash::of("attention");
            run.subject.operators = vec!["softmax".into(), "matmul".into()];
        }),
        earlier("gpu", |run| run.subject.backend = Backend::Cuda),
    ];
    let names =
        |limit| -> Vec<String> { choose_seeds(&this.problem_id, &this.subject, &runs, limit).into_iter().map(|seed| seed.run.0).collect() };
    assert_eq!(names(9), ["faster", "same", "other size", "other arch"]);
    assert_eq!(names(1), ["faster"]);
    let seeds = choose_seeds(&this.problem_id, &this.subject, &runs[..2], 9);
    let why: Vec<&str> = seeds.iter().map(|seed| seed.why.as_str()).collect();
    assert_eq!(why, ["the same operators, inputs of other sizes, the same architecture", "the same problem, the same kind of device"]);
}

impl Log {
    /// A step whose node the model describes.
    fn told(&mut self, attempts: &[(&str, Came)], summary: &str) {
        self.step(attempts);
        let added = self.records.iter_mut().rev().find_map(|record| match &mut record.event {
            Event::NodeAdded { summary, .. } => Some(summary),
            _ => None,
        });
        summary.clone_into(added.unwrap());
    }
}

#[test]
fn what_separates_on_the_way_to_the_best_kernel_and_what_failed_is_worth_keeping() {
    let mut log = Log::greedy(1);
    log.told(&[("a", Came::Faster(1.5))], "one pass");
    log.told(&[("b", Came::Faster(3.0))], "vectors");
    log.told(&[("c", Came::Faster(3.2))], "prefetching");
    log.told(&[("d", Came::Faster(1.0))], "recomputing");
    log.told(&[("e", Came::Wrong)], "a slip");
    log.step(&[("f", Came::Faster(6.0))]);
    let graph = log.graph();
    let kept: Vec<_> = worth_keeping(&graph).iter().map(|change| (change.words, change.proof.effect)).collect();
    assert_eq!(kept, [("vectors", Effect::Faster), ("one pass", Effect::Faster), ("recomputing", Effect::Slower)]);
    assert_eq!(worth_keeping(&graph)[0].before.map(|before| before.candidate.clone()), Some(CandidateId::of("a")));
    log.add(Event::LessonRecorded { lesson: "l".into(), candidate: CandidateId::of("b"), parent: None, effect: Effect::Faster });
    assert_eq!(worth_keeping(&log.graph()).iter().map(|change| change.words).collect::<Vec<_>>(), ["one pass", "recomputing"]);
}

#[test]
fn a_run_teaches_no_more_than_a_few_lessons() {
    let mut log = Log::greedy(1);
    for (text, speedup) in [("a", 2.0), ("b", 4.0), ("c", 8.0), ("d", 16.0), ("e", 32.0), ("f", 64.0)] {
        log.told(&[(text, Came::Faster(speedup))], text);
        log.told(&[(&format!("{text} slow"), Came::Faster(1.0))], "slower");
    }
    let graph = log.graph();
    let effects: Vec<_> = worth_keeping(&graph).iter().map(|change| change.proof.effect).collect();
    assert_eq!(effects, [Effect::Faster, Effect::Faster, Effect::Faster, Effect::Slower, Effect::Slower]);
}

#[test]
fn lessons_helped_when_the_kernel_written_with_them_improved_for_sure() {
    let mut log = Log::greedy(1);
    for (text, came) in [("a", Came::Faster(1.5)), ("b", Came::Faster(1.6)), ("c", Came::Faster(3.0)), ("d", Came::Wrong)] {
        let Move::Step { step, .. } = decide(&log.graph()) else { panic!("the run is over") };
        log.add(Event::LessonsShown { step, lessons: vec!["learnt/x".into()] });
        log.step(&[(text, came)]);
    }
    let graph = log.graph();
    let helped: Vec<bool> = graph.unrated_steps().map(|(step, _)| improved(&graph, step)).collect();
    assert_eq!(helped, [true, false, true, false]);
    log.add(Event::LessonsRated { step: StepId(1), lessons: vec!["learnt/x".into()], helped: true });
    assert_eq!(log.graph().unrated_steps().map(|(step, _)| step.0).collect::<Vec<_>>(), [2, 3, 4]);
}
