# problem: softmax
# target: both
# kind: fault
# mechanism: no Python
# expect: build_failed
class ModelNew(:
