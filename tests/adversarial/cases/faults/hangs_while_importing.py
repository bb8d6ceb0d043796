# problem: softmax
# target: both
# kind: fault
# mechanism: an import without end
# limit: 2
# expect: timed_out
import time

while True:
    time.sleep(1)
