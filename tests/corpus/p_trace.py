# The user's own sys.settrace and sys.setprofile, counting the calls and lines of the user's functions.
import sys
import threading
from collections import Counter

import torch
import torch.nn.functional as F

seen = Counter()


def tracer(frame, event, arg):
    if frame.f_code.co_filename != __file__:
        return None
    seen[event, frame.f_code.co_name] += 1
    return tracer


def profiler(frame, event, arg):
    if frame.f_code.co_filename == __file__ and not event.startswith("c_"):
        seen["profile " + event, frame.f_code.co_name] += 1


def attend(q):
    weights = F.softmax(scores(q), dim=-1)
    return weights @ q


def scores(q):
    return q @ q.mT / 2


torch.manual_seed(0)
q = torch.randn(1, 3, 4)
sys.settrace(tracer)
attend(q)
sys.settrace(None)
sys.setprofile(profiler)
attend(q)
sys.setprofile(None)
threading.settrace(tracer)
thread = threading.Thread(target=attend, args=(q,))
thread.start()
thread.join()
print(*sorted(seen.items()), sep="\n")
print(sys.gettrace(), sys.getprofile())
