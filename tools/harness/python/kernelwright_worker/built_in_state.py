"""Building a module in another state: while a candidate's constructor runs, what equals tensors of the reference's state holds the other values.

So a candidate that packs or folds its state while it is built, under whatever names, is asked for nothing that it cannot do. Random weights of which one
follows from others are told by their bits: both sides draw the same.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as registration
from torch.overrides import TorchFunctionMode

from .another_state import form_of, is_gathered, is_plain, key_of, leaf_of, other_values
from .layout import same_bits

#: Ways to tell which tensors stand for those of the reference: parameters and statistics by what they hold; any by the last part of their names as well and
#: no more of them than there are; whatever is made, by what it holds, and of what is made more often than there are of it in the reference the first ones, or
#: the last. None is always right, and who leaves state out is wrong by each.
POLICIES = BY_VALUE, BY_NAME, OF_ANY, FIRST_OF_ANY, LAST_OF_ANY = ("by value", "by name", "of any", "first of any", "last of any")

#: What changes nothing, though it is named like what writes into a tensor.
_WRITES_NOTHING = frozenset({"requires_grad_", "share_memory_", "rename_", "resize_"})
#: What writes into its first argument under another name.
_WRITES = frozenset({"__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "eye"})

#: What makes a tensor out of none.
_NEW = frozenset({"zeros", "ones", "full", "eye", "tensor", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "new_tensor"})


@contextmanager
def built_with(state: Mapping[str, Tensor], seed: int, policy: str) -> Iterator[None]:
    """Has what is built meanwhile hold the other values from the beginning, where it holds what tensors of `state` do."""
    building = _Building(state, other_values(state, seed), policy)
    make = nn.Parameter.__new__

    def made(cls: type, *arguments: Any, **named: Any) -> Any:
        parameter = make(cls, *arguments, **named)
        with _unnoticed():
            # Many are never registered: what is packed is all that is kept of them.
            building.made(parameter)
        return parameter

    def registered(_parent: nn.Module, name: str, child: Any) -> None:
        with _unnoticed():
            building.register(name, child)

    def applied(apply: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(apply)
        def wrapper(module: nn.Module, *arguments: Any, **named: Any) -> Any:
            result = apply(module, *arguments, **named)
            with _unnoticed():
                # Tensors of another dtype lie elsewhere.
                building.register("", module)
            return result

        return wrapper

    with ExitStack() as stack:
        for register in (
            registration.register_module_parameter_registration_hook,
            registration.register_module_buffer_registration_hook,
            registration.register_module_module_registration_hook,
        ):
            stack.callback(register(registered).remove)
        stack.callback(setattr, nn.Module, "_apply", nn.Module._apply)
        nn.Module._apply = applied(nn.Module._apply)  # type: ignore[method-assign]
        stack.callback(setattr, nn.Parameter, "__new__", staticmethod(make))
        nn.Parameter.__new__ = staticmethod(made)  # type: ignore[assignment]
        stack.enter_context(_Watched(building))
        yield


@contextmanager
def _unnoticed() -> Iterator[None]:
    """For our own work: it is nothing that the candidate does, and what fails of it is none of its faults."""
    with suppress(Exception), torch._C.DisableTorchFunction():
        yield


class _Building:
    """Tensors that are being made, and what takes their place."""

    def __init__(self, state: Mapping[str, Tensor], others: Mapping[str, Tensor], policy: str) -> None:
        keys = {name: key_of(state[name], is_drawn=True) for name in others}
        drawn = [name for name in others if keys[name] != key_of(state[name])]
        times = Counter(keys[name] for name in drawn)
        told = [name for name in others if times[keys[name]] <= 1]
        self._others = {keys[name]: others[name] for name in told}
        self._before = {keys[name]: state[name] for name in told}
        self._copies = _Copies([(keys[name], state[name], others[name]) for name in others if name not in told])
        self._left = Counter((keys[name], leaf_of(name)) for name in told)
        self._leaves = {leaf_of(name) for name in told}
        #: What tensors have to be like for a look at what they hold, and whether that may have been drawn at random.
        self._forms = {form_of(state[name]): False for name in told} | {form_of(state[name]): True for name in drawn}
        self._policy, self._is_any = policy, policy in (OF_ANY, FIRST_OF_ANY, LAST_OF_ANY)
        self._times = Counter(keys[name] for name in told)
        #: Where what was replaced lies, by what it held; and what was and is to stay as it is.
        self._replaced: dict[Any, list[int]] = {}
        self._passed: dict[int, weakref.ref[Tensor]] = {}
        #: By where their memory begins; another tensor may come to lie there once one is gone.
        self._known: dict[int, tuple[weakref.ref[Tensor], str]] = {}
        #: What those stand for that were replaced, by the same.
        self._taken: dict[int, tuple[Any, str]] = {}

    def made(self, parameter: Any) -> None:
        """Notes a parameter that was just made, and replaces what it holds."""
        self._register("", parameter)
        self._take(parameter)

    def register(self, name: str, child: Any) -> None:
        """Notes a tensor, or those of a module, and replaces what they hold."""
        if isinstance(child, nn.Module):
            for part in child.modules():
                for own, tensor in [*part._parameters.items(), *part._buffers.items()]:
                    self._register(own, tensor)
        else:
            self._register(name, child)

    def _register(self, leaf: str, tensor: Any) -> None:
        if isinstance(tensor, Tensor) and form_of(tensor) in self._forms and is_plain(tensor) and self._stands_for_state(leaf, tensor):
            own, _leaf = self._own(tensor)
            if own is None or isinstance(tensor, nn.Parameter) or not isinstance(own, nn.Parameter):
                # Others over a parameter's memory come and go.
                self._known[tensor.untyped_storage().data_ptr()] = weakref.ref(tensor), leaf
            self._replace(leaf, tensor)

    def _stands_for_state(self, leaf: str, tensor: Tensor) -> bool:
        if self._policy == BY_NAME:
            return leaf in self._leaves
        return self._is_any or isinstance(tensor, nn.Parameter) or leaf in self._leaves or is_gathered(leaf)

    def computed(self, results: object, is_new: bool) -> None:
        """Replaces what any tensor holds that was just made, where any may stand for state: of the last ones, only what `is_new` and no result of others,
        which may be zeros by chance."""
        if self._is_any and (is_new or self._policy != LAST_OF_ANY):
            for result in results if isinstance(results, tuple | list) else (results,):
                self._register("", result)

    def fills(self, tensor: object) -> None:
        """Puts back what a known tensor held before it was replaced, as somebody is about to write into it, or into some of it."""
        own, _leaf = self._own(tensor)
        if own is None:
            return
        place = self._taken.pop(own.untyped_storage().data_ptr(), None)
        # Memory that was given back holds something else by now.
        if place is not None and same_bits(own, self._others[place[0]].to(own.device)):
            self._left[place] += 1
            self._replaced[place[0]].remove(own.untyped_storage().data_ptr())
            _write(own, self._before[place[0]])
        before = self._copies.give_back(own)
        if before is not None:
            _write(own, before)

    def filled(self, tensor: object) -> None:
        """Replaces what a known tensor holds now that it was filled, itself or through another over the same memory."""
        own, leaf = self._own(tensor)
        if own is not None:
            self._replace(leaf, own)
            if self._is_any:
                self._take(own)

    def _own(self, tensor: object) -> tuple[Tensor | None, str]:
        """The known tensor over the same memory, and the last part of its name."""
        if not isinstance(tensor, Tensor) or not is_plain(tensor):
            return None, ""
        place = tensor.untyped_storage().data_ptr()
        known, leaf = self._known.get(place, (None, ""))
        own = known() if known is not None else None
        return (own, leaf) if own is not None and own.untyped_storage().data_ptr() == place else (None, "")

    def _replace(self, leaf: str, tensor: Tensor) -> None:
        key = key_of(tensor, is_drawn=self._forms[form_of(tensor)])
        other = self._others.get(key)
        if other is None or self._policy == BY_NAME and not self._left[key, leaf] or not self._has_place(key, tensor):
            return
        self._left[key, leaf] -= 1
        self._replaced.setdefault(key, []).append(tensor.untyped_storage().data_ptr())
        self._taken[tensor.untyped_storage().data_ptr()] = key, leaf
        _write(tensor, other)

    def _has_place(self, key: Any, tensor: Tensor) -> bool:
        """Whether one more of what is made may stand for state. Where the last ones do, it takes the place of one before it, which is put back."""
        if self._policy == FIRST_OF_ANY:
            return len(self._replaced.get(key, [])) < self._times[key]
        if self._policy == LAST_OF_ANY:
            passed = self._passed.get(tensor.untyped_storage().data_ptr())
            if passed is not None and passed() is not None:
                return False
            if len(self._replaced.get(key, [])) >= self._times[key]:
                self._pass(key, self._replaced[key].pop(0))
        return True

    def _pass(self, key: Any, place: int) -> None:
        """Puts back what lies there."""
        known, _leaf = self._known.get(place, (None, ""))
        own = known() if known is not None else None
        if own is not None and same_bits(own, self._others[key].to(own.device)):
            self._passed[place] = weakref.ref(own)
            _write(own, self._before[key])

    def _take(self, parameter: Any) -> None:
        """Gives a parameter that is a copy of others the values of the next of them; what they are copies of counts as one of them where any may stand for
        state."""
        if isinstance(parameter, nn.Parameter) and self._policy != BY_NAME and self._forms.get(form_of(parameter)) and is_plain(parameter):
            other = self._copies.next(parameter)
            if other is not None:
                _write(parameter, other)


class _Copies:
    """Copies of what was drawn at random, each with its own other values: nothing but the order in which they are made tells them apart."""

    def __init__(self, copies: list[tuple[Any, Tensor, Tensor]]) -> None:
        self._before: dict[Any, Tensor] = {}
        self._left: dict[Any, list[Tensor]] = {}
        #: A copy of one that holds other values already is a copy as well.
        self._alike: dict[Any, Any] = {}
        for key, before, other in copies:
            self._before[key] = before
            self._left.setdefault(key, []).append(other)
            self._alike |= {key: key, key_of(other, is_drawn=True): key}
        self._taken: dict[int, tuple[weakref.ref[Tensor], Any, Tensor]] = {}

    def next(self, parameter: Tensor) -> Tensor | None:
        """What the next of them holds, where a parameter is one; None for one that has been told before, and where there are no more."""
        key = self._alike.get(key_of(parameter, is_drawn=True))
        taken, _key, _other = self._taken.get(id(parameter), (None, None, None))
        if key is None or not self._left[key] or taken is not None and taken() is parameter:
            return None
        other = self._left[key].pop(0)
        self._taken[id(parameter)] = weakref.ref(parameter), key, other
        return other

    def give_back(self, parameter: Tensor) -> Tensor | None:
        """What it held before, where it is one of them, which it is no more."""
        taken, key, other = self._taken.pop(id(parameter), (None, None, None))
        if taken is None or other is None or taken() is not parameter:
            return None
        self._left[key].insert(0, other)
        return self._before[key]


def _write(tensor: Tensor, values: Tensor) -> None:
    with torch.no_grad():
        tensor.copy_(values)


class _Watched(TorchFunctionMode):
    def __init__(self, building: _Building) -> None:
        super().__init__()
        self._building = building

    def __torch_function__(self, function: Any, _types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = named or {}
        name = getattr(function, "__name__", "")
        written = named.get("out", arguments[0] if arguments else named.get("tensor")) if _writes(name) else None
        with _unnoticed():
            self._building.fills(written)
        result = function(*arguments, **named)
        with _unnoticed():
            self._building.filled(written)
            if name == "__set__":
                # `parameter.data = values`: it lies elsewhere now.
                self._building.register("", arguments[0])
            self._building.computed(result, name in _NEW)
        return result


def _writes(name: str) -> bool:
    """Whether a function of torch's writes into its first argument: `fill_`, say, or an initialiser, which is told of whole."""
    return name in _WRITES or name.endswith("_") and not name.endswith("__") and name not in _WRITES_NOTHING
