# problem: softmax
# target: both
# kind: cheat
# mechanism: a kernel is fetched over the network
# expect: build_failed
import urllib.request

exec(urllib.request.urlopen("http://127.0.0.1:9/kernel.py", timeout=2).read())
