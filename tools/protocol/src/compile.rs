//! What compiling alone says of a candidate: per architecture, kernel and configuration, what the compilers made of it and whether that fits
//! the part. No device is needed, so nothing here is a time of a kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, CandidateId, Nanoseconds, ProblemId};

/// What one candidate compiles to, on each architecture asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compilation {
    /// The hash of the problem's source: its shapes decide what is launched.
    pub problem: ProblemId,
    /// The hash of the candidate's source.
    pub candidate: CandidateId,
    /// The worst of what follows.
    pub status: CompilationStatus,
    /// One entry per architecture, in the order asked for.
    pub architectures: Vec<ArchCompilation>,
    /// Versions of what compiled.
    pub software: Vec<String>,
    /// The resource that holds the whole report, where this one was shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// Wall time of all of it.
    pub wall_ns: Nanoseconds,
}

/// One word for a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompilationStatus {
    /// Every kernel compiled and fits its part.
    Ok,
    /// Something could not be compiled here, for a reason that is not the candidate's.
    NotCompiled,
    /// A kernel needs more than its part has: it would not launch.
    ExceedsLimits,
    /// A kernel does not compile, or the candidate raises or crashes before it launches.
    Failed,
}

/// What one architecture gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArchCompilation {
    /// The architecture's name for compilers, e.g. `sm_90`.
    pub arch: String,
    /// The worst of its kernels.
    pub status: CompilationStatus,
    /// The part whose limits are compared with; absent for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// One entry per kernel, signature and configuration, in the order of their launches.
    pub kernels: Vec<KernelCompilation>,
    /// What kept the candidate from running to its end; kernels launched after it are not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// What could not be compiled here, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compiled: Vec<NotCompiled>,
    /// What else a reader should know, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A part and its limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The product, e.g. `NVIDIA H100 SXM`.
    pub name: String,
    /// Threads in a warp or wavefront.
    pub threads_per_warp: u32,
    /// Multiprocessors or compute units.
    pub multiprocessors: u32,
    /// The most registers one thread can have.
    pub registers_per_thread: u32,
    /// The most shared memory (LDS) one block can have, by opting in where that is needed.
    pub shared_per_block: Bytes,
    /// The most threads in one block.
    pub threads_per_block: u32,
}

/// One kernel in one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCompilation {
    /// The kernel's name in the source.
    pub kernel: String,
    /// Its constants and options, e.g. `BLOCK=1024 num_warps=4`; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub configuration: String,
    /// The types of its other arguments; `%16` marks those known to be divisible by 16.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Blocks of the first launch; absent where it was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<[u32; 3]>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: CompileOutcome,
}

/// What came of compiling one kernel. Only what compiled has figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CompileOutcome {
    /// It compiled and fits the part.
    Ok(Compiled),
    /// It compiled and would not launch.
    ExceedsLimits {
        /// Each limit and by how much, e.g. `shared memory: 96.0 KiB of 64.0 KiB`.
        exceeds: Vec<String>,
        /// What the compiler said.
        #[serde(flatten)]
        compiled: Compiled,
    },
    /// The compiler refused it.
    Failed(Diagnostics),
    /// The compiler crashed.
    CompilerCrashed(Diagnostics),
    /// The compiler did not come to an end.
    TimedOut {
        /// What it was given.
        limit_ns: Nanoseconds,
    },
}

/// A compiled kernel. A figure that the compiler does not give is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compiled {
    /// The compiler's own figures.
    #[serde(flatten)]
    pub figures: KernelFigures,
    /// Threads in a block; absent where the host code chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// How much of a multiprocessor its blocks can fill; absent without the threads of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// How long compiling took, from the source to the binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile_ns: Option<Nanoseconds>,
    /// Intermediate and final code, as resources of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
}

/// What a compiler says of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFigures {
    /// Registers per thread; on AMD vector registers, with accumulation registers where both share one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// AMD: accumulation registers per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulation_registers: Option<u32>,
    /// AMD: scalar registers per wavefront.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scalar_registers: Option<u32>,
    /// NVIDIA: bytes that each thread writes to local memory for want of registers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_stores: Option<Bytes>,
    /// NVIDIA: bytes that each thread reads back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_loads: Option<Bytes>,
    /// AMD: vector registers spilled to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spilled_registers: Option<u32>,
    /// AMD: scalar registers spilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spilled_scalars: Option<u32>,
    /// Bytes of stack (AMD: scratch memory) per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Bytes>,
    /// Shared memory (LDS) per block that the source declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_shared: Option<Bytes>,
    /// Shared memory (LDS) per block that the launch asks for; absent where the host code chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_shared: Option<Bytes>,
    /// Columns of tensor memory per block, on parts that have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_memory_columns: Option<u32>,
}

impl KernelFigures {
    /// Static and dynamic shared memory together.
    #[must_use]
    pub fn shared(&self) -> Bytes {
        self.static_shared.unwrap_or_default() + self.dynamic_shared.unwrap_or_default()
    }

    /// Whether registers were spilled; absent where the compiler does not say.
    #[must_use]
    pub fn spills(&self) -> Option<bool> {
        let bytes = self.spill_stores.zip(self.spill_loads).map(|(stores, loads)| stores.0 + loads.0 > 0);
        bytes.or(self.spilled_registers.map(|registers| registers > 0 || self.spilled_scalars.is_some_and(|scalars| scalars > 0)))
    }
}

/// How many warps can be resident, from the compiler's figures alone: what a kernel does with them is another matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    /// Resident warps over what a multiprocessor can hold, 0 to 1.
    pub share: f64,
    /// Blocks on a multiprocessor at the same time.
    pub blocks: u32,
    /// What allows no more.
    pub limiter: Limiter,
}

/// What bounds the blocks on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Registers.
    Registers,
    /// Shared memory (LDS).
    SharedMemory,
    /// Resident warps: as good as it gets.
    Warps,
    /// Resident blocks: they are small.
    Blocks,
}

impl Limiter {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Warps => "warps",
            Self::Blocks => "blocks",
        }
    }
}

/// A file that compiling gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// `ttgir`, `llir`, `ptx`, `sass`, `amdgcn`, `cubin`, `hsaco`, `cpp` or `log`.
    pub kind: String,
    /// The resource that holds it.
    pub uri: String,
}

/// What a compiler or Python said, cut to what a reader can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostics {
    /// One line.
    pub summary: String,
    /// At most about 4,000 characters, from the first error on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diagnostics: String,
    /// The resource that holds all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// Why a candidate did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    /// What it was doing: `import`, `construct`, `run`, or `crashed`, `timed_out`.
    pub phase: String,
    /// What was raised, or how it died.
    #[serde(flatten)]
    pub diagnostics: Diagnostics,
    /// What to do about it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Something that cannot be compiled on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotCompiled {
    /// What, e.g. `CUDA sources of softmax_ext`.
    pub what: String,
    /// Why not.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
}

impl ArchCompilation {
    /// The worst of what came of it.
    #[must_use]
    pub fn worst(&self) -> CompilationStatus {
        let kernels = self.kernels.iter().map(|kernel| match kernel.outcome {
            CompileOutcome::Ok(_) => CompilationStatus::Ok,
            CompileOutcome::ExceedsLimits { .. } => CompilationStatus::ExceedsLimits,
            CompileOutcome::Failed(_) | CompileOutcome::CompilerCrashed(_) | CompileOutcome::TimedOut { .. } => CompilationStatus::Failed,
        });
        let stopped = self.stopped.iter().map(|_| CompilationStatus::Failed);
        let missing = self.not_compiled.iter().map(|_| CompilationStatus::NotCompiled);
        kernels.chain(stopped).chain(missing).max().unwrap_or(CompilationStatus::Ok)
    }
}
