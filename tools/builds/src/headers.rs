//! Headers of ours that stand in for torch's: less to read for the same meaning.
//!
//! `torch/extension.h` brings everything of torch, of which a kernel's host code uses a handful of functions.
//!
//! - For g++, ours has the parts that such code uses, out of torch's own headers, and is precompiled once for each set of flags.
//! - nvcc reads headers twice and can precompile none, so there torch's are too long even in parts. Ours declares tensors and what is done
//!   with them anew, on top of functions that lie in an object of their own ([`Headers::support`]), which has torch's headers.
//! - The host's part of most CUDA extensions only binds their functions, as `load_inline` writes it. For g++ that is pybind11 and a tensor's name,
//!   precompiled as well.
//!
//! A unit that needs more does not compile with these, and is compiled as it was written: what a source means never depends on this, only how
//! long it takes.

use std::io;
use std::path::{Path, PathBuf};

use kernelwright_harness::copy_beneath;
use kernelwright_protocol::Bytes;
use serde_json::json;
use tokio::sync::Mutex;

use super::cache::{FILE, appear, evict, touch};
use super::maker::Maker;
use super::spec::{Build, Compiler, Unit, key};
use super::{Limits, Yard};

/// What is kept: a precompiled header has about 250 MB.
const KEPT: Bytes = Bytes(2 << 30);

/// The part of `torch/extension.h` for sources of the host.
const HOST: &str = include_str!("headers/extension.h");
/// What CUDA sources get for torch's headers.
const DEVICE: &str = include_str!("headers/kernelwright_torch.h");
/// What a source gets for them that only binds functions of CUDA sources.
const BINDING: &str = include_str!("headers/kernelwright_binding.h");
/// The functions below both.
const SUPPORT: &str = include_str!("headers/kernelwright_torch.cpp");
/// The name of the header and of the source.
const NAME: &str = "kernelwright_torch";

/// Headers of torch that stand for all of what [`DEVICE`] has.
const REPLACED: [&str; 12] = [
    "torch/extension.h",
    "torch/types.h",
    "torch/all.h",
    "torch/torch.h",
    "ATen/ATen.h",
    "ATen/Dispatch.h",
    "ATen/cuda/CUDAContext.h",
    "ATen/cuda/Exceptions.h",
    "c10/util/Exception.h",
    "c10/cuda/CUDAException.h",
    "c10/cuda/CUDAGuard.h",
    "c10/cuda/CUDAStream.h",
];

/// Parts of the standard library that [`DEVICE`] brings where a source has the word: reading them takes as long as all the rest.
const PARTS: [(&str, &str); 4] = [
    ("string", "-DKERNELWRIGHT_STRING"),
    ("_error(", "-DKERNELWRIGHT_STRING"),
    ("vector", "-DKERNELWRIGHT_VECTOR"),
    ("optional", "-DKERNELWRIGHT_OPTIONAL"),
];

/// Words of sources that need more than our headers, or would get another meaning from them.
const BEYOND: [&str; 9] = [
    "torch::nn",
    "torch::autograd",
    "torch::jit",
    "torch::optim",
    "torch::data",
    "torch::save",
    "TORCH_LIBRARY",
    "requires_grad",
    "PYBIND11",
];

/// What a source names of torch that only binds functions.
const BOUND: [&str; 3] = ["Tensor", "wrap_pybind_function", "extension"];
/// Where it begins to.
const MODULE: &str = "PYBIND11_MODULE";

/// What the objects beside one that was compiled with [`DEVICE`] may name of torch: types that are the same in both.
const SHARED: [&str; 7] = ["Tensor", "IntArrayRef", "ScalarType", "optional", "nullopt", "wrap_pybind_function", "extension"];

/// The folder of headers, readable for every compiler.
#[derive(Debug)]
pub(super) struct Headers {
    folder: PathBuf,
    /// Held while headers are written or precompiled, which would be done twice otherwise.
    making: Mutex<()>,
}

/// What a unit is compiled with instead of torch's headers.
#[derive(Debug)]
pub(super) struct Instead {
    /// Arguments that come first.
    pub(super) flags: Vec<String>,
    /// Whether its object needs that of [`Headers::support`].
    pub(super) is_supported: bool,
}

/// A digest of every text here.
pub(super) fn digest() -> String {
    key(&(HOST, DEVICE, BINDING, SUPPORT, REPLACED))
}

impl Headers {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder, making: Mutex::new(()) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The flags with which a unit that only binds functions is compiled first, made where they are not there; none for other units.
    pub(super) async fn binding(&self, yard: &impl Yard, build: &Build, unit: &Unit, installed: &str, limits: &Limits) -> Option<Instead> {
        if !only_binds(build, unit) {
            return None;
        }
        let folder = self.precompiled(yard, unit, BINDING, installed, limits).await?;
        Some(Instead { flags: include(&folder), is_supported: true })
    }

    /// What a unit of a build is to be compiled with, made where it is not there; none where it goes with torch's.
    pub(super) async fn instead(&self, yard: &impl Yard, build: &Build, unit: &Unit, installed: &str, limits: &Limits) -> Option<Instead> {
        match unit.compiler() {
            Compiler::Gnu if unit.source.contains("<torch/extension.h>") && !BEYOND[..8].iter().any(|word| unit.source.contains(word)) => {
                let folder = self.precompiled(yard, unit, HOST, installed, limits).await?;
                Some(Instead { flags: include(&folder), is_supported: false })
            }
            Compiler::Nvcc if !BEYOND.iter().any(|word| unit.source.contains(word)) && shares_only(build, unit) => {
                let headers = REPLACED.iter().map(|&name| (name, format!("#include <{NAME}.h>\n")));
                let folder = self.written("device", headers.chain([("kernelwright_torch.h", DEVICE.to_owned())])).await?;
                let mut flags = include(&folder);
                flags.extend(PARTS.iter().filter(|(word, _)| unit.source.contains(word)).map(|(_, flag)| (*flag).to_owned()));
                Some(Instead { flags, is_supported: true })
            }
            _ => None,
        }
    }

    /// The object that an object which was compiled with our header for CUDA needs beside it.
    pub(super) async fn support(&self, unit: &Unit) -> Option<(Unit, Instead)> {
        let folder = self.written("host", [("torch/extension.h", HOST.to_owned())].into_iter()).await?;
        let (file, object) = (format!("{NAME}.cpp"), format!("{NAME}.o"));
        let mut argv = vec!["c++".to_owned()];
        let mut words = unit.argv.iter().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "-isystem" | "-I" => argv.extend([word.clone(), words.next()?.clone()]),
                _ if ["-I", "-std=", "-D_GLIBCXX", "-DTORCH_API"].iter().any(|start| word.starts_with(start)) => argv.push(word.clone()),
                _ => {}
            }
        }
        argv.extend(["-fPIC", "-O1", "-c", &file, "-o", &object].map(str::to_owned));
        let flags = include(&folder);
        Some((Unit { argv, file, source: SUPPORT.to_owned(), object }, Instead { flags, is_supported: false }))
    }

    /// The folder with a header of ours for g++, precompiled for a unit's flags.
    async fn precompiled(&self, yard: &impl Yard, unit: &Unit, header: &'static str, installed: &str, limits: &Limits) -> Option<PathBuf> {
        let flags = flags(unit);
        let folder = self.folder.join(key(&(installed, &flags, header)));
        if !folder.is_dir() {
            let _turn = self.making.lock().await;
            if !folder.is_dir()
                && let Err(reason) = precompile(yard, &flags, header, &folder, limits).await
            {
                tracing::debug!(reason, "the header is not precompiled");
            }
        }
        touch(&folder).ok()?;
        // Where our header does not compile, its folder stays empty.
        folder.join("torch").is_dir().then_some(folder)
    }

    /// A folder with these files.
    async fn written(&self, name: &str, files: impl Iterator<Item = (&str, String)>) -> Option<PathBuf> {
        let folder = self.folder.join(format!("{name}-{}", digest()));
        let _turn = self.making.lock().await;
        if !folder.is_dir() {
            let partial = folder.with_extension(format!("partial-{}", std::process::id()));
            for (name, text) in files {
                let path = partial.join(name);
                tokio::fs::create_dir_all(path.parent()?).await.ok()?;
                tokio::fs::write(path, text).await.ok()?;
            }
            appear(&partial, &folder).ok()?;
        }
        touch(&folder).ok()?;
        Some(folder)
    }
}

fn include(folder: &Path) -> Vec<String> {
    vec!["-I".to_owned(), folder.to_string_lossy().into_owned()]
}

/// Whether what the other units name of torch is the same for both headers: whatever passes between two objects is declared in both.
fn shares_only(build: &Build, unit: &Unit) -> bool {
    let others = build.units.iter().filter(|other| other.object != unit.object);
    others.into_iter().all(|other| other.compiler() == Compiler::Nvcc || names(&other.source).all(|name| SHARED.contains(&name)))
}

/// Whether a unit declares functions of a CUDA unit and binds them, and nothing else.
fn only_binds(build: &Build, unit: &Unit) -> bool {
    let has_device = build.units.iter().any(|other| other.compiler() == Compiler::Nvcc);
    let Some((declarations, _)) = unit.source.split_once(MODULE).filter(|_| has_device && unit.compiler() == Compiler::Gnu) else {
        return false;
    };
    !declarations.contains('{') && !unit.source.contains("std::") && names(&unit.source).all(|name| BOUND.contains(&name))
}

/// What a source names of torch's namespaces.
fn names(source: &str) -> impl Iterator<Item = &str> {
    ["torch::", "at::", "c10::"].into_iter().flat_map(|space| {
        source.split(space).skip(1).map(|rest| {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            &rest[..end]
        })
    })
}

/// A unit's compiler and flags: without its files, and without the extension's name, which no header mentions.
fn flags(unit: &Unit) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = unit.argv.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "-MF" => drop(words.next()),
            "-c" | "-MMD" | "-MD" => {}
            _ if word.starts_with("-DTORCH_EXTENSION_NAME=") || word.ends_with(&format!("/{}", unit.file)) => {}
            _ => kept.push(word.clone()),
        }
    }
    kept
}

/// Precompiles a header for some flags into a folder, which appears when that is done. It is empty where the compiler refuses.
async fn precompile(yard: &impl Yard, flags: &[String], header: &'static str, folder: &Path, limits: &Limits) -> Result<(), String> {
    const HEADER: &str = "extension.h";
    const PRECOMPILED: &str = "extension.h.gch";
    let mut maker = Maker::start(yard, limits).await.map_err(|unmade| format!("{unmade:?}"))?;
    let argv: Vec<_> = flags.iter().map(String::as_str).chain(["-x", "c++-header", HEADER, "-o", PRECOMPILED]).map(str::to_owned).collect();
    let made = maker.make(&argv, json!({ HEADER: header })).await;
    let scratch = maker.worker.finish().await;
    let (folder, name) = (folder.to_path_buf(), format!("{}/{PRECOMPILED}", Maker::FOLDER));
    let keep = move || -> io::Result<()> {
        let partial = folder.with_extension(format!("partial-{}", std::process::id()));
        std::fs::create_dir_all(&partial)?;
        if made.is_ok() {
            let torch = partial.join("torch");
            std::fs::create_dir(&torch)?;
            std::fs::write(torch.join(HEADER), header)?;
            copy_beneath(scratch.path(), &name, FILE, &torch.join(PRECOMPILED))?;
        }
        appear(&partial, &folder)?;
        folder.parent().into_iter().for_each(|all| evict(all, KEPT));
        made.map_err(|unmade| io::Error::other(format!("{unmade:?}")))
    };
    tokio::task::spawn_blocking(keep).await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(cpp: &str) -> Build {
        let text = json!({
            "units": [
                {"argv": ["c++", "-MMD", "-MF", "main.o.d", "-DTORCH_EXTENSION_NAME=a", "-O2", "-c", "@BUILD@/main.cpp", "-o", "main.o"],
                 "file": "main.cpp", "source": cpp, "object": "main.o"},
                {"argv": ["nvcc", "-isystem", "/torch/include", "-std=c++20", "-fplugin=x"], "file": "cuda.cu", "source": "", "object": "cuda.o"}],
            "link": {"argv": ["c++", "main.o", "cuda.o"], "library": "a.so"}});
        Build::parse(&text.to_string()).unwrap()
    }

    #[test]
    fn only_types_that_are_the_same_in_both_may_pass_between_objects() {
        let shares = |cpp: &str| {
            let build = build(cpp);
            shares_only(&build, &build.units[1])
        };
        assert!(shares("torch::Tensor run(torch::Tensor x, at::IntArrayRef sizes); m.def(\"run\", torch::wrap_pybind_function(run));"));
        assert!(!shares("torch::Tensor run(torch::Tensor x, torch::TensorOptions options);"));
        assert!(!shares("void run(at::Half x);"));
    }

    #[test]
    fn a_source_that_only_binds_is_told_from_one_that_computes() {
        let binds = |cpp: &str| {
            let build = build(cpp);
            only_binds(&build, &build.units[0])
        };
        let module = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"run\", torch::wrap_pybind_function(run), \"run\"); }";
        assert!(binds(&format!("#include <torch/extension.h>\ntorch::Tensor run(torch::Tensor x, double scale);\n{module}")));
        assert!(!binds(&format!("torch::Tensor run(torch::Tensor x) {{ return x; }}\n{module}")));
        assert!(!binds(&format!("std::vector<torch::Tensor> run(torch::Tensor x);\n{module}")));
        assert!(!binds(&format!("torch::Tensor run(torch::Tensor x, at::IntArrayRef sizes);\n{module}")));
        assert!(!binds("torch::Tensor run(torch::Tensor x);"));
    }

    #[test]
    fn a_header_is_shared_by_extensions_of_other_names() {
        assert_eq!(flags(&build("").units[0]), ["c++", "-O2"]);
    }

    #[tokio::test]
    async fn the_support_is_compiled_with_our_choice_of_flags() {
        let folder = tempfile::tempdir().unwrap();
        let (unit, _) = Headers::at(folder.path().to_path_buf()).support(&build("").units[1]).await.unwrap();
        assert_eq!(unit.argv[..4], ["c++", "-isystem", "/torch/include", "-std=c++20"]);
        assert!(!unit.argv.iter().any(|word| word.contains("plugin")));
    }
}
