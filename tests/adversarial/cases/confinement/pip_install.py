# problem: softmax
# target: both
# kind: cheat
# mechanism: a package with kernels is installed
# expect: build_failed
import subprocess
import sys

subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--retries", "0", "flash-attn"], check=True, timeout=20)
