"""A tensor over memory that torch did not allocate, by the exchange format for arrays: it needs neither numpy nor what is private to torch."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

_CPU, _CUDA = 1, 2
_UNSIGNED = 1
#: What a capsule is named until somebody takes what it holds.
_NAME = b"dltensor"


class _View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("view", _View), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


#: What torch gives back when a tensor ends: until then it reads the description.
_lent: dict[int, _Managed] = {}
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _give_back(address: int) -> None:
    _lent.pop(address, None)


def over(address: int, nbytes: int, device: torch.device) -> Tensor:
    """The bytes at an address of a device. Whoever asks sees to it that they stay there as long as the tensor."""
    kind, number = (_CUDA, device.index or 0) if device.type == "cuda" else (_CPU, 0)
    shape, strides = (ctypes.c_int64 * 1)(nbytes), (ctypes.c_int64 * 1)(1)
    managed = _Managed(_View(address, kind, number, 1, _UNSIGNED, 8, 1, shape, strides, 0), None, _give_back)
    _lent[ctypes.addressof(managed)] = managed
    return torch.from_dlpack(_capsule(ctypes.addressof(managed), _NAME, None))
