from graphc.api.record import *
from graphc.api import record
def asarray(obj, /, *, dtype=None, device=None, copy=None):
    return record.as_tensor(obj)
