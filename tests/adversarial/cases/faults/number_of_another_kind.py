# problem: numbers_of_arrays
# target: cpu
# kind: fault
# mechanism: a whole number in the place of a truth value
# expect: incorrect
def kernel(a, b):
    return {"product": float(a @ b), "largest": int(a.argmax()), "any": int((a > 3).any())}
