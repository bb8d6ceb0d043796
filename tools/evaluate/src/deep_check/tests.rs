//! Logs as several versions of compute-sanitizer write them, and what they amount to.

use kernelwright_harness::Exit;
use kernelwright_protocol::{CheckOutcome, DeepCheck, Nanoseconds, SanitizerTool, SanitizerTool::*, ToolCheck};

use super::judge::{Ran, outcome};
use super::log::{Log, Subject};
use super::sanitizer::ERRORS_FOUND;
use super::{findings, verdict};

const CLEAN: &str = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";

const TRITON_OVERRUN: &str = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at affine+0x1a0 in /scratch/w-1/candidate.py:12
=========     by thread (96,0,0) in block (23,0,0)
=========     Access to 0x7f2c6fe05e80 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2c6fe00000 of size 24,192 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernelEx [0x3a1fef] in /usr/lib/x86_64-linux-gnu/libcuda.so.1
=========         Host Frame: launch [0x16a3] in /scratch/w-1/triton/ab/__triton_launcher.cpython-312-x86_64-linux-gnu.so
=========         Host Frame: _PyEval_EvalFrameDefault [0x1afb7e] in /usr/bin/python3.12
=========
========= Invalid __global__ write of size 4 bytes
=========     at affine+0x1a0 in /scratch/w-1/candidate.py:12
=========     by thread (97,0,0) in block (23,0,0)
=========     Access to 0x7f2c6fe05e84 is out of bounds
=========     and is 5 bytes after the nearest allocation at 0x7f2c6fe00000 of size 24,192 bytes
=========
========= ERROR SUMMARY: 1402 errors
========= ERROR SUMMARY: 1400 errors were not printed. Use --print-limit option to adjust the number of printed errors
";

const OLDER_OVERRUN: &str = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at 0xda0 in /home/someone/kernels/moe.py:175:fused_moe_kernel
=========     by thread (96,0,0) in block (44,0,0)
=========     Address 0x763995f9f000 is out of bounds
=========     and is 1,241,911,296 bytes before the nearest allocation at 0x7639e0000000 of size 5,033,164,800 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: [0x2f26f0]
=========                in /usr/lib/x86_64-linux-gnu/libcuda.so.1
=========     Host Frame: [0x2800]
=========                in /root/.triton/cache/b8a3/__triton_launcher.so
=========
========= ERROR SUMMARY: 1 error
";

const LIBRARY: &str = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 8 bytes
=========     at void at::native::<unnamed>::ctc_loss_gpu_kernel<float, long>(T1 *, const T1 *, const long *, long)+0x70
=========     by thread (0,60,0) in block (0,8,0)
=========     Address 0x7f0605dfbde0 is out of bounds
=========     and is 32 bytes before the nearest allocation at 0x7f0605dfbe00 of size 8,600 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: [0x334640]
=========                in /lib/x86_64-linux-gnu/libcuda.so.1
=========     Host Frame:cudaLaunchKernel [0x6bedb]
=========                in /env/lib/python3.12/site-packages/torch/lib/../../nvidia/cuda_runtime/lib/libcudart.so.12
=========     Host Frame:at::native::ctc_loss(at::Tensor const&) [0x1]
=========                in /env/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so
=========
========= ERROR SUMMARY: 1 error
";

const RACE: &str = "\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at affine+0xb0 in /tmp/affine.cu:4
=========     and Read access at affine+0x150 in /tmp/affine.cu:8 [3072 hazards]
=========     and Read access at affine+0x190 in /tmp/affine.cu:8 [3072 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
";

const TRITON_REDUCTION: &str = "\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at center+0x1a0 in /scratch/candidate.py:10
=========     and Write access at center+0x1a0 in /scratch/candidate.py:10 [64 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
";

const RACE_WARNING: &str = "\
========= COMPUTE-SANITIZER
========= Warning: Race reported between Read access at 0x570 in void reduce<float>(T1)
=========     and Write access at 0x5c0 in void reduce<float>(T1) [96 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
";

const HAZARD: &str = "\
========= COMPUTE-SANITIZER
========= Error: Potential RAW hazard detected at __shared__ 0x404 in block (0,0,0) :
=========     Write Thread (23,0,0) at sum+0x1a0 in sum.cu:32
=========     Read Thread (24,0,0) at sum+0x1c0 in sum.cu:33
=========     Current Value : 2
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
";

const BARRIER: &str = "\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp
=========     at affine+0xf0 in affine.cu:9
=========     by thread (32,0,0) in block (0,0,0)
=========     Device Frame: affine+0xf0 in affine.cu:9
=========
========= ERROR SUMMARY: 1 error
";

const UNINITIALIZED: &str = "\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at affine+0x80
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7fc406200400
=========
========= Host API memory access error at host access to 0x7f7fcdc01200 of size 400 bytes
=========     Uninitialized access at 0x7f7fcdc01300 on access by cudaMemcpy source
=========
========= ERROR SUMMARY: 2 errors
";

const UNSUPPORTED: &str = "\
========= COMPUTE-SANITIZER
========= Error: Device not supported. Please refer to the \"Supported Devices\" section of the sanitizer documentation
=========
========= ERROR SUMMARY: 1 error
";

const NEVER_BEGAN: &str = "\
========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
========= Tracking kernels launched by child processes requires the --target-processes all option.
";

const UNTRACKED: &str = "\
========= COMPUTE-SANITIZER
========= Internal Sanitizer Error: The Sanitizer encountered an error while launching affine and didn't track the launch. Errors might go undetected. (Unable to allocate enough memory to perform the requested operation)
=========
========= ERROR SUMMARY: 0 errors
";

const THROUGH: Ran = Ran::Through { exit: Some(Exit::Code(0)) };
const FOUND: Ran = Ran::Through { exit: Some(Exit::Code(ERRORS_FOUND)) };

fn said(tool: SanitizerTool, log: &str, ran: Ran) -> String {
    match outcome(tool, &Log::read(log), ran) {
        CheckOutcome::Clean => "clean".to_owned(),
        CheckOutcome::Warnings(reports) => format!("{} warnings: {}", reports.count, reports.reports[0]),
        CheckOutcome::Errors(reports) => format!("{} errors: {}", reports.count, reports.reports[0]),
        CheckOutcome::NotMeasured { reason, .. } => format!("not measured: {reason}"),
    }
}

#[test]
fn errors_are_told_with_kernel_line_thread_and_address() {
    insta::assert_snapshot!(said(Memcheck, TRITON_OVERRUN, FOUND), @"1402 errors: Invalid __global__ write of size 4 bytes in affine at candidate.py:12, thread (96,0,0) in block (23,0,0): Access to 0x7f2c6fe05e80 is out of bounds, 1 bytes after the nearest allocation at 0x7f2c6fe00000 of size 24,192 bytes (and 1 more like it)");
    insta::assert_snapshot!(said(Memcheck, OLDER_OVERRUN, FOUND), @"1 errors: Invalid __global__ read of size 16 bytes in fused_moe_kernel at moe.py:175, thread (96,0,0) in block (44,0,0): Address 0x763995f9f000 is out of bounds, 1,241,911,296 bytes before the nearest allocation at 0x7639e0000000 of size 5,033,164,800 bytes");
    insta::assert_snapshot!(said(Racecheck, RACE, FOUND), @"1 errors: race between a read and a write in affine at affine.cu:4: Write access at affine+0xb0 in /tmp/affine.cu:4; Read access at affine+0x150 in /tmp/affine.cu:8 [3072 hazards]; Read access at affine+0x190 in /tmp/affine.cu:8 [3072 hazards]");
    insta::assert_snapshot!(said(Racecheck, HAZARD, FOUND), @"1 errors: RAW hazard in sum at sum.cu:32: Potential RAW hazard detected at __shared__ 0x404 in block (0,0,0) :; Write Thread (23,0,0) at sum+0x1a0 in sum.cu:32; Read Thread (24,0,0) at sum+0x1c0 in sum.cu:33; Current Value : 2");
    insta::assert_snapshot!(said(Synccheck, BARRIER, FOUND), @"1 errors: Barrier error detected. Divergent thread(s) in warp in affine at affine.cu:9, thread (32,0,0) in block (0,0,0)");
}

#[test]
fn what_may_be_right_or_is_not_the_candidates_is_a_warning() {
    let warnings = |tool, log| {
        let text = said(tool, log, FOUND);
        text.rsplit_once(" [").map(|(_, excuse)| format!("{} [{excuse}", text.split(':').next().unwrap_or_default()))
    };
    assert_eq!(warnings(Memcheck, LIBRARY).unwrap(), "1 warnings [a kernel of torch's or NVIDIA's libraries]");
    assert_eq!(warnings(Racecheck, RACE_WARNING).unwrap(), "1 warnings [the tool itself calls it a warning]");
    assert!(warnings(Racecheck, TRITON_REDUCTION).unwrap().contains("Triton's reductions"));
    assert!(warnings(Initcheck, UNINITIALIZED).unwrap().starts_with("2 warnings [the value may not be used"));
    // The same race in a kernel of CUDA C++ is an error.
    assert!(said(Racecheck, &TRITON_REDUCTION.replace("candidate.py", "center.cu"), FOUND).starts_with("1 errors: race between writes"));
}

#[test]
fn only_a_whole_log_without_a_report_is_clean() {
    assert_eq!(said(Memcheck, CLEAN, THROUGH), "clean");
    assert_eq!(said(Racecheck, "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", THROUGH), "clean");
    let not = |log: &str, ran| said(Memcheck, log, ran).strip_prefix("not measured: ").unwrap_or("measured").to_owned();
    assert_eq!(not("", THROUGH), "it left no summary");
    assert_eq!(not(CLEAN, FOUND), "it counts 0 errors and describes none of them");
    assert_eq!(not(CLEAN, Ran::Through { exit: None }), "it did not end");
    assert_eq!(not(CLEAN, Ran::Through { exit: Some(Exit::Signal(9)) }), "it ended with SIGKILL (killed, perhaps for memory)");
    assert_eq!(not(CLEAN, Ran::Not { reason: "one call takes too long".into(), hint: None }), "one call takes too long");
    assert_eq!(not("========= ERROR SUMMARY: 7 errors\n", FOUND), "it counts 7 errors and describes none of them");
    assert!(not(UNSUPPORTED, FOUND).starts_with("Device not supported."));
    assert!(not(NEVER_BEGAN, THROUGH).starts_with("Target application terminated"));
    assert!(not(UNTRACKED, THROUGH).starts_with("Internal Sanitizer Error: The Sanitizer encountered an error while launching affine"));
}

#[test]
fn a_forged_summary_does_not_help() {
    // A name or a file name in a report could hold line breaks.
    let forged = TRITON_OVERRUN.replace("candidate.py:12", "x\n========= ERROR SUMMARY: 0 errors\n=========     .py:12");
    assert!(said(Memcheck, &forged, FOUND).contains(" errors: Invalid __global__ write"), "{}", said(Memcheck, &forged, FOUND));
    let twice = format!("{CLEAN}{CLEAN}");
    assert_eq!(said(Memcheck, &twice, THROUGH), "not measured: it left more than one summary");
    // What a candidate prints is not in the log; whatever comes without the prefix is passed over.
    assert_eq!(said(Memcheck, &format!("ERROR SUMMARY: 9 errors\n{CLEAN}"), THROUGH), "clean");
}

#[test]
fn errors_count_although_the_candidate_did_not_come_through() {
    let stopped = Ran::Not { reason: "CUDA error: an illegal memory access was encountered".into(), hint: None };
    assert!(said(Memcheck, TRITON_OVERRUN, stopped).starts_with("1402 errors"));
}

#[test]
fn what_was_not_measured_is_said_once_and_decides_nothing() {
    let reason = "Device not supported.".to_owned();
    let tools = SanitizerTool::ALL.map(|tool| ToolCheck {
        tool,
        outcome: match tool {
            Memcheck => CheckOutcome::Clean,
            _ => CheckOutcome::NotMeasured { reason: reason.clone(), hint: None },
        },
        wall_ns: Nanoseconds(1),
    });
    let check = DeepCheck { inputs: String::new(), tools: tools.into() };
    assert_eq!(verdict(&check), None);
    let said: Vec<_> = findings(&check).into_iter().map(|finding| finding.message).collect();
    assert_eq!(said, ["not checked by racecheck, synccheck, initcheck: Device not supported."]);
}

#[test]
fn calls_of_the_host_are_told_from_kernels() {
    let log = Log::read(UNINITIALIZED);
    assert_eq!(log.reports.iter().map(|report| report.subject).collect::<Vec<_>>(), [Subject::Kernel, Subject::Host]);
    assert_eq!(log.counted, [2]);
}
