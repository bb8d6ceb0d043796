# problem: numbers_of_arrays
# target: cpu
# kind: honest
# mechanism: numbers of Python's in the place of numpy's
# expect: correct
import math


def kernel(a, b):
    return {"product": math.fsum((a * b).tolist()), "largest": int(a.argmax()), "any": bool((a > 3).any())}
