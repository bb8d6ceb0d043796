# problem: softmax
# target: cpu
# kind: fault
# mechanism: C++ that does not compile
# expect: build_failed
import subprocess

subprocess.run(["g++", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input="void kernel() { undeclared; }", text=True, check=True)
