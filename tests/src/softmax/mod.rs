//! What the benchmarks judge and profile: a row softmax in every language, each in as many variants as wanted.

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
    /// The size for a backend.
    #[must_use]
    pub fn of(backend: Backend) -> Self {
        match backend {
            Backend::Cpu => Self::Small,
            Backend::Cuda => Self::Large,
        }
    }

    /// Its file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Large => "softmax.py",
            Self::Small => "softmax_small.py",
        }
    }

    /// Its file.
    #[must_use]
    pub fn source(self) -> &'static str {
        match self {
            Self::Large => include_str!("../../../examples/problems/softmax.py"),
            Self::Small => include_str!("problems/softmax_small.py"),
        }
    }
}

/// How a kernel is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A Triton kernel.
    Triton,
    /// CUDA C++ through `load_inline`.
    Cuda,
    /// C++ on raw pointers, called through ctypes.
    Cpp,
}

impl Language {
    /// The languages that are measured on a backend.
    #[must_use]
    pub fn of(backend: Backend) -> &'static [Self] {
        match backend {
            Backend::Cpu => &[Self::Cpp],
            Backend::Cuda => &[Self::Triton, Self::Cuda],
        }
    }

    /// What tables call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Triton => "Triton",
            Self::Cuda => "inline CUDA (load_inline)",
            Self::Cpp => "raw C++ (ctypes)",
        }
    }

    /// The word that KernelBench has for it.
    #[must_use]
    pub fn backend_of_kernelbench(self) -> Option<&'static str> {
        match self {
            Self::Triton => Some("triton"),
            Self::Cuda => Some("cuda"),
            Self::Cpp => None,
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Triton => include_str!("candidates/softmax_triton.py"),
            Self::Cuda => include_str!("candidates/softmax_cuda.py"),
            Self::Cpp => include_str!("candidates/softmax_cpp.py"),
        }
    }

    /// A kernel whose body differs from every other variant's, and computes the same.
    #[must_use]
    pub fn variant(self, number: usize) -> String {
        self.template().replace("VARIANT", &(number + 1).to_string()).replace("FUNCTION", "softmax")
    }

    /// A variant whose function for Python has a name of its own as well, so that nothing built for another one fits; where there is such a
    /// function.
    #[must_use]
    pub fn unlike(self, number: usize) -> Option<String> {
        let template = self.template();
        let named = || template.replace("FUNCTION", &format!("softmax_{number}")).replace("VARIANT", &(number + 1).to_string());
        template.contains("FUNCTION").then(named)
    }

    /// A variant with a flaw.
    #[must_use]
    pub fn flawed(self, number: usize, flaw: Flaw) -> String {
        let variant = self.variant(number);
        let call = "        x = x.contiguous()\n";
        match flaw {
            Flaw::None => variant,
            Flaw::Wrong => variant.replace(call, "        x = x.contiguous() * 0.5\n"),
            Flaw::Raises => variant.replace(call, "        raise ValueError(\"no\")\n"),
            Flaw::DoesNotBuild => variant.replace("in = x + row", "in = x + rows_of(row)").replace("tl.max(", "tl.maximal("),
        }
    }
}

/// What is wrong with a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// It computes something else.
    Wrong,
    /// It ends with an exception.
    Raises,
    /// Its compiler refuses it.
    DoesNotBuild,
}

impl Flaw {
    /// What verdict it comes to.
    #[must_use]
    pub fn statuses(self) -> &'static [&'static str] {
        match self {
            Self::None => &["correct"],
            Self::Wrong => &["incorrect"],
            // Triton compiles when it is called.
            Self::Raises | Self::DoesNotBuild => &["build_failed", "faulted"],
        }
    }
}
