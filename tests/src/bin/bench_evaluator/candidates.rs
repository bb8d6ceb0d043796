//! The kernels that are evaluated: a row softmax in every language, each in as many variants as wanted.

use kernelwright_protocol::Backend;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// 8192 x 8192, for a GPU.
    Large,
    /// 128 x 512, so small that the kernels themselves take next to no time.
    Small,
}

impl Problem {
    pub fn of(backend: Backend) -> Self {
        match backend {
            Backend::Cpu => Self::Small,
            Backend::Cuda => Self::Large,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Large => "softmax.py",
            Self::Small => "softmax_small.py",
        }
    }

    pub fn source(self) -> &'static str {
        match self {
            Self::Large => include_str!("../../../../examples/problems/softmax.py"),
            Self::Small => include_str!("problems/softmax_small.py"),
        }
    }
}

/// How a kernel is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Triton,
    Cuda,
    Cpp,
}

impl Language {
    /// The languages that are measured on a backend.
    pub fn of(backend: Backend) -> &'static [Self] {
        match backend {
            Backend::Cpu => &[Self::Cpp],
            Backend::Cuda => &[Self::Triton, Self::Cuda],
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Triton => "Triton",
            Self::Cuda => "inline CUDA (load_inline)",
            Self::Cpp => "raw C++ (ctypes)",
        }
    }

    /// The word that KernelBench has for it.
    pub fn backend_of_kernelbench(self) -> Option<&'static str> {
        match self {
            Self::Triton => Some("triton"),
            Self::Cuda => Some("cuda"),
            Self::Cpp => None,
        }
    }

    /// A kernel whose body differs from every other variant's, and computes the same.
    pub fn variant(self, number: usize) -> String {
        let template = match self {
            Self::Triton => include_str!("candidates/softmax_triton.py"),
            Self::Cuda => include_str!("candidates/softmax_cuda.py"),
            Self::Cpp => include_str!("candidates/softmax_cpp.py"),
        };
        template.replace("VARIANT", &(number + 1).to_string())
    }
}
