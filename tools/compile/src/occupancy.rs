//! What a kernel's figures mean on a part: which limits it exceeds, and how many of its blocks fit on a multiprocessor.
//!
//! The rules are those of `cuda_occupancy.h` and of LLVM's AMDGPU backend. Clusters, named barriers and the driver's choice of cache
//! carve-out are left out: the figure is an upper bound.

use kernelwright_protocol::{Bytes, KernelFigures, Limiter, Occupancy};

use crate::parts::{Arch, Gpu, NVIDIA_GRID_YZ, QUARTERS, THREADS_PER_BLOCK, Vendor};

/// Scalar registers of a wave beyond which a CDNA compute unit holds one wave less per part.
const CDNA_SCALARS: u32 = 100;

/// A kernel as it would be launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) figures: &'a KernelFigures,
    pub(crate) threads: Option<u32>,
    pub(crate) grid: Option<[u32; 3]>,
}

/// Each limit that the launch exceeds, in words; empty where it fits.
pub(crate) fn exceeded(gpu: &Gpu, launch: Launch<'_>) -> Vec<String> {
    let Launch { figures, threads, grid } = launch;
    let arch = gpu.arch;
    let mut exceeded = Vec::new();
    let shared = figures.shared();
    if shared.0 > arch.shared_per_block {
        exceeded.push(format!("shared memory: {shared} ({} bytes) of {}", shared.0, Bytes(arch.shared_per_block)));
    }
    let registers = figures.registers.unwrap_or(0);
    if registers > arch.registers_per_thread {
        exceeded.push(format!("registers: {registers} of {} per thread", arch.registers_per_thread));
    }
    match threads {
        Some(threads) if threads > THREADS_PER_BLOCK => exceeded.push(format!("threads: {threads} of {THREADS_PER_BLOCK} per block")),
        Some(threads) if by_registers(arch, figures, warps(arch, threads)) == 0 => {
            exceeded.push(format!("registers: {registers} for each of {threads} threads is more than a multiprocessor has"));
        }
        _ => {}
    }
    if let Some(columns) = figures.tensor_memory_columns.filter(|&columns| columns > arch.tensor_memory) {
        exceeded.push(format!("tensor memory: {columns} columns of {}", arch.tensor_memory));
    }
    if let (Vendor::Nvidia, Some([_, y, z])) = (arch.vendor, grid)
        && y.max(z) > NVIDIA_GRID_YZ
    {
        exceeded.push(format!("grid: {} blocks along y or z of {NVIDIA_GRID_YZ}", y.max(z)));
    }
    exceeded
}

/// How many blocks fit; absent without the threads of a block or its registers, and where not even one fits.
pub(crate) fn occupancy(gpu: &Gpu, launch: Launch<'_>) -> Option<Occupancy> {
    let arch = gpu.arch;
    let warps = warps(arch, launch.threads.filter(|threads| (1..=THREADS_PER_BLOCK).contains(threads))?);
    launch.figures.registers?;
    let per_block = (launch.figures.shared().0 + arch.shared_reserved).next_multiple_of(arch.shared_step);
    let by_shared = u32::try_from(arch.shared.checked_div(per_block).unwrap_or(u64::MAX)).unwrap_or(u32::MAX);
    // Blocks of one wave need no barrier on AMD.
    let by_blocks = if arch.vendor == Vendor::Amd && warps == 1 { u32::MAX } else { arch.blocks };
    let bounds = [
        (arch.warps / warps, Limiter::Warps),
        (by_registers(arch, launch.figures, warps), Limiter::Registers),
        (by_shared, Limiter::SharedMemory),
        (by_blocks, Limiter::Blocks),
    ];
    let (blocks, limiter) = bounds.into_iter().min_by_key(|(blocks, _)| *blocks)?;
    let share = f64::from(blocks * warps) / f64::from(arch.warps);
    (blocks > 0).then(|| Occupancy { share: (share * 1e4).round() / 1e4, blocks, limiter })
}

fn warps(arch: &Arch, threads: u32) -> u32 {
    threads.div_ceil(arch.threads_per_warp)
}

/// Blocks of so many warps that the registers allow.
fn by_registers(arch: &Arch, figures: &KernelFigures, warps: u32) -> u32 {
    let registers = figures.registers.unwrap_or(0).max(1).next_multiple_of(arch.register_step);
    let mut per_quarter = (arch.registers_per_lane / registers).min(arch.warps / QUARTERS);
    match arch.vendor {
        // The hardware checks a block as if its warps filled whole rounds over the four parts.
        Vendor::Nvidia if registers * warps.next_multiple_of(QUARTERS) > arch.registers_per_lane * QUARTERS => return 0,
        Vendor::Amd if arch.threads_per_warp == 64 && figures.scalar_registers.is_some_and(|scalars| scalars > CDNA_SCALARS) => {
            per_quarter = per_quarter.min(7);
        }
        _ => {}
    }
    per_quarter * QUARTERS / warps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CompileTarget;

    fn gpu(name: &str) -> Gpu {
        match name.parse() {
            Ok(CompileTarget::Gpu(gpu)) => gpu,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn check(name: &str, threads: u32, registers: u32, shared: u64) -> Option<(u32, &'static str)> {
        let figures = KernelFigures { registers: Some(registers), dynamic_shared: Some(Bytes(shared)), ..KernelFigures::default() };
        let launch = Launch { figures: &figures, threads: Some(threads), grid: None };
        occupancy(&gpu(name), launch).map(|occupancy| (occupancy.blocks, occupancy.limiter.as_str()))
    }

    /// The expected figures are those of NVIDIA's own `cuda_occupancy.h` and of the `Occupancy` that LLVM writes into AMD assembly
    /// (waves on each of four parts: 2 for 206 registers, 3 for 144, 5 for 256 on gfx1100).
    #[test]
    fn blocks_are_those_of_the_makers_own_rules() {
        assert_eq!(check("sm_90", 128, 26, 16), Some((16, "warps")));
        assert_eq!(check("sm_90", 128, 202, 131_072), Some((1, "shared memory")));
        assert_eq!(check("sm_80", 128, 237, 98_304), Some((1, "shared memory")));
        assert_eq!(check("sm_90", 256, 128, 0), Some((2, "registers")));
        assert_eq!(check("sm_90", 32, 64, 0), Some((32, "registers")));
        assert_eq!(check("sm_90", 32, 16, 0), Some((32, "blocks")));
        assert_eq!(check("sm_120", 128, 40, 49_152), Some((2, "shared memory")));
        assert_eq!(check("gfx942", 256, 206, 0), Some((2, "registers")));
        assert_eq!(check("gfx950", 256, 144, 0), Some((3, "registers")));
        assert_eq!(check("gfx942", 64, 298, 0), Some((4, "registers")));
        assert_eq!(check("gfx942", 256, 20, 32_768), Some((2, "shared memory")));
        assert_eq!(check("gfx1100", 128, 256, 0), Some((5, "registers")));
        assert_eq!(check("sm_90", 2048, 16, 0), None);
    }

    #[test]
    fn what_would_not_launch_says_which_limit() {
        let exceeded = |name: &str, threads: u32, registers: u32, shared: u64, grid: [u32; 3]| {
            let figures = KernelFigures { registers: Some(registers), dynamic_shared: Some(Bytes(shared)), ..KernelFigures::default() };
            super::exceeded(&gpu(name), Launch { figures: &figures, threads: Some(threads), grid: Some(grid) })
        };
        assert!(exceeded("sm_90", 128, 202, 131_072, [1, 1, 1]).is_empty());
        assert_eq!(exceeded("gfx942", 256, 206, 98_304, [1, 1, 1]), ["shared memory: 96.0 KiB (98304 bytes) of 64.0 KiB"]);
        assert_eq!(exceeded("sm_86", 512, 255, 0, [1, 1, 1]), ["registers: 255 for each of 512 threads is more than a multiprocessor has"]);
        assert_eq!(exceeded("sm_90", 2048, 16, 0, [1, 70_000, 1]).len(), 2);
    }
}
