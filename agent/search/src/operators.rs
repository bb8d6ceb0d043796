//! Which operators a problem calls, read off its source: the words by which problems are compared and passages searched.
//!
//! This is a look at the text, not an understanding of it: what is computed through a name that the text does not show stays unknown.

/// Names in torch's modules that compute nothing.
const NO_OPERATORS: [&str; 27] = [
    "",
    "module",
    "module_list",
    "sequential",
    "parameter",
    "parameters",
    "tensor",
    "nn",
    "functional",
    "init",
    "rand",
    "randn",
    "randint",
    "manual_seed",
    "no_grad",
    "device",
    "float",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "half",
    "int",
    "int32",
    "int64",
    "bool",
    "long",
];

/// Tensors' methods that compute something. Others, such as `view` or `contiguous`, say nothing about a kernel.
const METHODS: [&str; 61] = [
    "matmul",
    "mm",
    "bmm",
    "addmm",
    "softmax",
    "log_softmax",
    "sigmoid",
    "tanh",
    "relu",
    "gelu",
    "silu",
    "exp",
    "log",
    "log1p",
    "sqrt",
    "rsqrt",
    "pow",
    "square",
    "abs",
    "sign",
    "clamp",
    "clip",
    "sin",
    "cos",
    "round",
    "floor",
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "std",
    "var",
    "norm",
    "logsumexp",
    "cumsum",
    "cumprod",
    "sort",
    "argsort",
    "topk",
    "gather",
    "scatter",
    "scatter_add",
    "scatter_add_",
    "index_add",
    "index_add_",
    "index_select",
    "masked_fill",
    "triu",
    "tril",
    "roll",
    "flip",
    "chunk",
    "split",
    "unique",
    "cross",
    "histc",
];

/// The operators a problem's source names, each once, in the order of the text: the last part of `torch.x`, `F.x` and `nn.X`, the methods
/// that compute something, and `matmul` for `@`. Modules are named like their functions, `nn.LayerNorm` as `layer_norm`. What makes the
/// inputs does not count.
#[must_use]
pub fn operators(source: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        let name = match name {
            "mm" | "bmm" | "addmm" => "matmul",
            name => name.trim_end_matches('_'),
        };
        if !NO_OPERATORS.contains(&name) && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    };
    for line in without_inputs(source) {
        let is_decorator = line.trim_start().starts_with('@');
        for token in line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.' || c == '@')) {
            if token == "@" && !is_decorator {
                add("matmul");
            }
            let Some((module, name)) = token.rsplit_once('.') else { continue };
            if module == "F" || module == "nn" || module.starts_with("torch") {
                add(&snake(name));
            } else if METHODS.contains(&name) {
                add(name);
            }
        }
    }
    found
}

/// The lines outside `get_inputs` and `get_init_inputs`.
fn without_inputs(source: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    source.lines().filter(move |line| {
        if line.starts_with(|c: char| !c.is_whitespace() && c != '#' && c != ')') {
            inside = line.starts_with("def get_inputs") || line.starts_with("def get_init_inputs");
        }
        !inside
    })
}

/// `LayerNorm` as `layer_norm`, `Conv2d` as `conv2d`, `GELU` as `gelu`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    let mut characters = name.chars().peekable();
    let mut after_small = false;
    while let Some(c) = characters.next() {
        if c.is_uppercase() && after_small && characters.peek().is_some_and(|next| next.is_lowercase()) {
            text.push('_');
        }
        after_small = c.is_lowercase();
        text.extend(c.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_problems_operators_are_found_once_each() {
        let source = "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n  @torch.no_grad\n  def forward(self, x: torch.Tensor):\n    \
                      y = F.gelu(nn.Linear(3, 4)(x))\n    return torch.nn.functional.layer_norm(torch.diag(y) @ x, (4,)) + F.gelu(y) + x.view(4).sum()\n\
                      def get_inputs():\n    return [torch.arange(4)]\n";
        assert_eq!(operators(source), ["gelu", "linear", "layer_norm", "diag", "matmul", "sum"]);
    }

    #[test]
    fn modules_are_named_like_their_functions() {
        for (module, function) in
            [("LayerNorm", "layer_norm"), ("GELU", "gelu"), ("ReLU", "relu"), ("Conv2d", "conv2d"), ("MaxPool2d", "max_pool2d")]
        {
            assert_eq!(snake(module), function);
        }
    }
}
