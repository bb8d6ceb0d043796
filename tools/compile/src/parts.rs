//! The parts that can be compiled for, and their limits: data, with where it is from.
//!
//! NVIDIA: "Technical specifications per compute capability" and "Feature support" of the CUDA C++ Programming Guide 13, and
//! `cuda_occupancy.h` of the same toolkit for granularities. AMD: "Accelerator and GPU hardware specifications" of `ROCm` 7, the CDNA3,
//! CDNA4, RDNA3 and RDNA4 instruction set guides, and LLVM's `AMDGPUBaseInfo` for granularities. Multiprocessors and memory are those of the
//! product named; an architecture's plain name stands for the first product of it.

use std::fmt;
use std::str::FromStr;

use kernelwright_protocol::{Bytes, Part};
use serde_json::{Value, json};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Who makes it, and with that which compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    Nvidia,
    Amd,
}

/// What holds for every product of an architecture.
#[derive(Debug)]
pub(crate) struct Arch {
    pub(crate) name: &'static str,
    pub(crate) vendor: Vendor,
    pub(crate) threads_per_warp: u32,
    /// Resident warps of one multiprocessor (AMD: compute unit; RDNA: pair of them).
    pub(crate) warps: u32,
    /// Resident blocks of one multiprocessor; on AMD they bind for blocks of several waves only.
    pub(crate) blocks: u32,
    /// Registers of one lane of one of the four parts of a multiprocessor, for every warp in it. 32 bits each.
    pub(crate) registers_per_lane: u32,
    /// Registers per thread are given out in steps of this.
    pub(crate) register_step: u32,
    pub(crate) registers_per_thread: u32,
    pub(crate) shared: u64,
    pub(crate) shared_per_block: u64,
    /// Kept by the system for each block.
    pub(crate) shared_reserved: u64,
    pub(crate) shared_step: u64,
    /// Columns of tensor memory; 0 where there is none.
    pub(crate) tensor_memory: u32,
}

/// The parts of a multiprocessor, each with registers of its own: the same number everywhere.
pub(crate) const QUARTERS: u32 = 4;
/// The most threads in one block, everywhere.
pub(crate) const THREADS_PER_BLOCK: u32 = 1024;
/// The most blocks along y and z of an NVIDIA grid.
pub(crate) const NVIDIA_GRID_YZ: u32 = 65_535;

const fn nvidia(name: &'static str, warps: u32, blocks: u32, shared: u64, shared_per_block: u64) -> Arch {
    Arch {
        name,
        vendor: Vendor::Nvidia,
        threads_per_warp: 32,
        warps,
        blocks,
        // 65,536 registers: four files of 16,384, for 32 lanes.
        registers_per_lane: 512,
        // 256 registers a warp.
        register_step: 8,
        registers_per_thread: 255,
        shared: shared * KIB,
        shared_per_block: shared_per_block * KIB,
        shared_reserved: KIB,
        shared_step: 128,
        tensor_memory: 0,
    }
}

const fn cdna(name: &'static str, shared: u64, shared_step: u64) -> Arch {
    Arch {
        name,
        vendor: Vendor::Amd,
        threads_per_warp: 64,
        warps: 32,
        blocks: 16,
        // One file of 512 for vector and accumulation registers.
        registers_per_lane: 512,
        register_step: 8,
        registers_per_thread: 512,
        shared: shared * KIB,
        shared_per_block: shared * KIB,
        shared_reserved: 0,
        shared_step,
        tensor_memory: 0,
    }
}

const fn rdna(name: &'static str) -> Arch {
    Arch {
        name,
        vendor: Vendor::Amd,
        threads_per_warp: 32,
        warps: 64,
        blocks: 32,
        registers_per_lane: 1536,
        register_step: 24,
        registers_per_thread: 256,
        shared: 128 * KIB,
        shared_per_block: 64 * KIB,
        shared_reserved: 0,
        shared_step: 512,
        tensor_memory: 0,
    }
}

static ARCHS: [Arch; 15] = [
    Arch { shared_reserved: 0, shared_step: 256, ..nvidia("sm_75", 32, 16, 64, 64) },
    nvidia("sm_80", 64, 32, 164, 163),
    nvidia("sm_86", 48, 16, 100, 99),
    nvidia("sm_87", 48, 16, 164, 163),
    nvidia("sm_89", 48, 24, 100, 99),
    nvidia("sm_90", 64, 32, 228, 227),
    Arch { tensor_memory: 512, ..nvidia("sm_100", 64, 32, 228, 227) },
    Arch { tensor_memory: 512, ..nvidia("sm_103", 64, 32, 228, 227) },
    nvidia("sm_120", 48, 24, 100, 99),
    nvidia("sm_121", 48, 24, 100, 99),
    cdna("gfx90a", 64, 512),
    cdna("gfx942", 64, 512),
    cdna("gfx950", 160, 1280),
    rdna("gfx1100"),
    rdna("gfx1201"),
];

/// A product: name, aliases, architecture, multiprocessors, memory and last-level cache on the way to it.
struct Product(&'static str, &'static [&'static str], &'static str, u32, u64, u64);

/// The first of an architecture is what its plain name stands for.
static PRODUCTS: [Product; 30] = [
    Product("NVIDIA T4", &["t4"], "sm_75", 40, 16 * GIB, 4 * MIB),
    Product("NVIDIA A100 SXM 80 GB", &["a100", "a100-80gb"], "sm_80", 108, 80 * GIB, 40 * MIB),
    Product("NVIDIA A10", &["a10"], "sm_86", 72, 24 * GIB, 6 * MIB),
    Product("NVIDIA A40", &["a40"], "sm_86", 84, 48 * GIB, 6 * MIB),
    Product("NVIDIA GeForce RTX 3090", &["rtx3090"], "sm_86", 82, 24 * GIB, 6 * MIB),
    Product("NVIDIA Jetson AGX Orin", &["orin"], "sm_87", 16, 64 * GIB, 4 * MIB),
    Product("NVIDIA L40S", &["l40s"], "sm_89", 142, 48 * GIB, 96 * MIB),
    Product("NVIDIA L4", &["l4"], "sm_89", 58, 24 * GIB, 48 * MIB),
    Product("NVIDIA GeForce RTX 4090", &["rtx4090"], "sm_89", 128, 24 * GIB, 72 * MIB),
    Product("NVIDIA H100 SXM", &["h100", "h100-sxm"], "sm_90", 132, 80 * GIB, 50 * MIB),
    Product("NVIDIA H100 PCIe", &["h100-pcie"], "sm_90", 114, 80 * GIB, 50 * MIB),
    Product("NVIDIA H200", &["h200"], "sm_90", 132, 141 * GIB, 50 * MIB),
    Product("NVIDIA GH200", &["gh200"], "sm_90", 132, 96 * GIB, 50 * MIB),
    Product("NVIDIA H20", &["h20"], "sm_90", 78, 96 * GIB, 60 * MIB),
    Product("NVIDIA B200", &["b200"], "sm_100", 148, 180 * GIB, 126 * MIB),
    Product("NVIDIA GB200", &["gb200"], "sm_100", 148, 186 * GIB, 126 * MIB),
    Product("NVIDIA B300", &["b300", "gb300"], "sm_103", 148, 270 * GIB, 126 * MIB),
    Product("NVIDIA GeForce RTX 5090", &["rtx5090"], "sm_120", 170, 32 * GIB, 96 * MIB),
    Product("NVIDIA RTX PRO 6000 Blackwell", &["rtxpro6000"], "sm_120", 188, 96 * GIB, 128 * MIB),
    Product("NVIDIA GB10", &["gb10", "dgx-spark"], "sm_121", 48, 128 * GIB, 24 * MIB),
    Product("AMD Instinct MI250X, one die", &["mi250x"], "gfx90a", 110, 64 * GIB, 8 * MIB),
    Product("AMD Instinct MI250, one die", &["mi250"], "gfx90a", 104, 64 * GIB, 8 * MIB),
    Product("AMD Instinct MI210", &["mi210"], "gfx90a", 104, 64 * GIB, 8 * MIB),
    Product("AMD Instinct MI300X", &["mi300x", "mi300"], "gfx942", 304, 192 * GIB, 256 * MIB),
    Product("AMD Instinct MI300A", &["mi300a"], "gfx942", 228, 128 * GIB, 256 * MIB),
    Product("AMD Instinct MI325X", &["mi325x"], "gfx942", 304, 256 * GIB, 256 * MIB),
    Product("AMD Instinct MI355X", &["mi355x"], "gfx950", 256, 288 * GIB, 256 * MIB),
    Product("AMD Instinct MI350X", &["mi350x", "mi350"], "gfx950", 256, 288 * GIB, 256 * MIB),
    Product("AMD Radeon RX 7900 XTX", &["rx7900xtx"], "gfx1100", 48, 24 * GIB, 96 * MIB),
    Product("AMD Radeon RX 9070 XT", &["rx9070xt"], "gfx1201", 32, 16 * GIB, 64 * MIB),
];

/// What to compile for: a part, or the host.
#[derive(Clone, Copy)]
pub enum CompileTarget {
    /// The host's own processor, for C++.
    Host,
    /// A GPU.
    Gpu(Gpu),
}

/// A product of an architecture.
#[derive(Clone, Copy)]
pub struct Gpu {
    pub(crate) arch: &'static Arch,
    product: &'static Product,
}

/// The text names nothing that can be compiled for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no architecture or part that is known here")]
pub struct UnknownArch(pub String);

impl UnknownArch {
    /// Every name that is understood.
    #[must_use]
    pub fn hint(&self) -> String {
        let archs: Vec<_> = ARCHS.iter().map(|arch| arch.name).collect();
        let parts: Vec<_> = PRODUCTS.iter().filter_map(|product| product.1.first().copied()).collect();
        format!("name architectures ({}), parts ({}) or cpu", archs.join(", "), parts.join(", "))
    }
}

impl FromStr for CompileTarget {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        let name = text.trim().to_ascii_lowercase();
        if name == "cpu" {
            return Ok(Self::Host);
        }
        // `sm90`, `sm_90a` and `90` are ways to say `sm_90`.
        let digits = name.strip_prefix("sm").map_or(name.as_str(), |rest| rest.trim_start_matches('_')).trim_end_matches(['a', 'f']);
        let compute = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.is_empty();
        let wanted = if compute { format!("sm_{digits}") } else { name.clone() };
        let product = PRODUCTS.iter().find(|product| product.1.contains(&name.as_str()) || product.2 == wanted);
        let product = product.ok_or_else(|| UnknownArch(text.to_owned()))?;
        let arch = ARCHS.iter().find(|arch| arch.name == product.2).ok_or_else(|| UnknownArch(text.to_owned()))?;
        Ok(Self::Gpu(Gpu { arch, product }))
    }
}

impl fmt::Display for CompileTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("cpu"),
            Self::Gpu(gpu) => f.write_str(gpu.arch.name),
        }
    }
}

/// With the product: two of one architecture compile alike and are not the same.
impl fmt::Debug for CompileTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("cpu"),
            Self::Gpu(gpu) => write!(f, "{} ({})", gpu.arch.name, gpu.product.0),
        }
    }
}

impl CompileTarget {
    /// The part, for the report.
    #[must_use]
    pub fn part(self) -> Option<Part> {
        let Self::Gpu(Gpu { arch, product }) = self else { return None };
        Some(Part {
            name: product.0.to_owned(),
            threads_per_warp: arch.threads_per_warp,
            multiprocessors: product.3,
            registers_per_thread: arch.registers_per_thread,
            shared_per_block: Bytes(arch.shared_per_block),
            threads_per_block: THREADS_PER_BLOCK,
        })
    }

    /// What the worker is told of it.
    #[must_use]
    pub fn to_json(self) -> Value {
        match self {
            Self::Host => json!({
                "arch": "cpu", "name": "the host", "backend": "cpu", "threads_per_warp": 1, "multiprocessors": 1, "threads_per_block": 1,
                "threads_per_multiprocessor": 1, "registers_per_multiprocessor": 0, "shared_per_block": 0, "shared_per_multiprocessor": 0,
                "memory": 0, "l2": 0}),
            Self::Gpu(Gpu { arch, product }) => json!({
                "arch": arch.name, "name": product.0,
                "backend": match arch.vendor { Vendor::Nvidia => "cuda", Vendor::Amd => "hip" },
                "threads_per_warp": arch.threads_per_warp, "multiprocessors": product.3, "threads_per_block": THREADS_PER_BLOCK,
                "threads_per_multiprocessor": arch.warps * arch.threads_per_warp,
                "registers_per_multiprocessor": arch.registers_per_lane * arch.threads_per_warp * QUARTERS,
                "shared_per_block": arch.shared_per_block, "shared_per_multiprocessor": arch.shared,
                "memory": product.4, "l2": product.5}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_find_their_part() {
        let found = |text: &str| text.parse::<CompileTarget>().map(|target| (target.to_string(), target.part().map(|part| part.name)));
        for (text, arch, name) in [
            ("sm_90", "sm_90", "NVIDIA H100 SXM"),
            ("sm90a", "sm_90", "NVIDIA H100 SXM"),
            ("90", "sm_90", "NVIDIA H100 SXM"),
            ("H200", "sm_90", "NVIDIA H200"),
            ("sm_100f", "sm_100", "NVIDIA B200"),
            ("gfx90a", "gfx90a", "AMD Instinct MI250X, one die"),
            ("mi300x", "gfx942", "AMD Instinct MI300X"),
        ] {
            assert_eq!(found(text), Ok((arch.to_owned(), Some(name.to_owned()))), "{text}");
        }
        assert_eq!(found("cpu"), Ok(("cpu".to_owned(), None)));
        let error = found("sm_42").unwrap_err();
        assert_eq!(error.to_string(), "`sm_42` is no architecture or part that is known here");
        assert!(error.hint().contains("gfx942") && error.hint().contains("mi300x"), "{}", error.hint());
    }

    #[test]
    fn every_product_has_an_architecture_and_the_other_way_round() {
        assert!(PRODUCTS.iter().all(|product| ARCHS.iter().any(|arch| arch.name == product.2)));
        assert!(ARCHS.iter().all(|arch| arch.name.parse::<CompileTarget>().is_ok_and(|target| target.to_string() == arch.name)));
    }
}
