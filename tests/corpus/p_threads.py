# Threads that compute: joined, pooled, failing (threading.excepthook prints), and one that is not
# joined and outlives the script's last line.
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F

torch.manual_seed(0)
q = torch.randn(4, 3, 8)
results = [None] * 4


def attend(index):
    weights = F.softmax(q[index] @ q[index].T / 8**0.5, dim=-1)
    results[index] = weights @ q[index]
    return results[index].sum().item()


threads = [threading.Thread(target=attend, args=(index,)) for index in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(torch.stack(results).sum((1, 2)))

with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(attend, range(4))))
    print(repr(pool.submit(lambda: q @ q).exception()))

failing = threading.Thread(target=lambda: F.softmax(q, dim=4), name="failing")
failing.start()
failing.join()


def late():
    time.sleep(0.2)
    print("late", threading.main_thread().is_alive(), attend(0))


threading.Thread(target=late, name="late").start()
print("grad", torch.is_grad_enabled(), threading.current_thread().name, threading.active_count())
