//! Launches, sandboxes and talks to the Python workers that run kernels.
//!
//! The harness knows processes, descriptors and isolation; it does not know what a verdict is. `WORKERS.md` beside this crate is
//! the contract with the Python side, which is embedded here and run by the user's own interpreter.
//!
//! Everything is Linux: the supervisor relies on pidfds, `process_vm_readv`, memfd seals and, where the kernel has them, Landlock,
//! seccomp and namespaces.

mod error;
mod interpreter;
mod occupancy;
mod package;
mod processor_time;
mod removal;
pub mod sandbox;
mod scratch;
pub mod suites;
mod surroundings;
mod worker;

pub use error::HarnessError;
pub use interpreter::Interpreter;
pub use occupancy::{Company, Turn, gpu_turn, turn};
pub use package::Package;
pub use processor_time::ProcessorTime;
pub use scratch::{Scratch, copy_beneath, default_cache, read_beneath};
pub use surroundings::{find_program, visible_devices};
pub use worker::{
    Arena, AskError, Asked, Exit, Filling, FreezeError, Halted, KeptNursery, Launch, LaunchError, Left, Nursery, Part, Piece, Ready,
    Refusal, Reply, Role, Watch, Window, Worker, WorkerLog, WorkerLogs, supervise,
};
