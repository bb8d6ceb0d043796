# problem: softmax
# target: both
# kind: cheat
# mechanism: a clean exit while the file is imported
# expect: build_failed | faulted
import sys

print('{"status": "correct"}', flush=True)
sys.exit(0)
