"""How kernels are compiled: only what Python calls becomes machine code.

Numba optimizes and translates every function together with all that it calls, and does it again for
each caller. Here a function that another kernel calls is only typed and lowered to LLVM's language.
This is a part. For the function that Python calls, all parts are linked, optimized and translated
once. If Python calls a function that is a part already, only its wrapper is added.

Some parts are optimized by themselves too: those that call no other kernel, tiny ones aside. This
takes little time, and without it kernels are up to 4 % slower.

All this rests on names inside of Numba. Importing this module fails with ImportError if they are
missing or the version was never tried, and then kernels are compiled as Numba does it.
"""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompileResult, Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.core.environment import Environment
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.targetconfig import ConfigStack

TRIED = ("0.68", "0.68")
"""The first and the last version of Numba with which the tests passed."""

_USED = {
    CPUCodeLibrary: ("_get_module_for_linking", "_optimize_final_module", "add_linking_library"),
    CompileResult: ("_find_referenced_environments", "_replace"),
    Flags: ("forceinline", "no_cfunc_wrapper", "no_compile", "no_cpython_wrapper"),
    _FunctionCompiler: ("_compile_core",),
    CPUDispatcher: ("add_overload", "compile", "enable_caching"),
    FunctionCache: ("save_overload",),
}


def _check() -> None:
    """Raise ImportError if this Numba may work otherwise."""
    first, last = (tuple(map(int, version.split("."))) for version in TRIED)
    if not first <= numba.version_info.short <= last:
        raise ImportError(f"Numba {numba.__version__} was never tried")
    for owner, names in _USED.items():
        for name in names:
            if not hasattr(owner, name):
                raise ImportError(f"{owner.__name__} of Numba has no {name}")


_check()


class FunctionCode(CPUCodeLibrary):
    """The code of one function, for its callers to link."""

    is_tiny = False
    callees: tuple[FunctionCode, ...] = ()

    def finalize(self) -> None:
        """Link Numba's own functions, and what a part needs to be optimized by itself."""
        others = dict.fromkeys(self._linking_libraries)
        self.callees = tuple(lib for lib in others if isinstance(lib, FunctionCode))
        _, *below = self.with_callees()
        is_leaf = not self.is_tiny and all(part.is_tiny for part in below)
        linked = [*(below if is_leaf else ()), *(lib for lib in others if lib not in self.callees)]
        for library in linked:
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if is_leaf:
            self._optimize_final_module()
            self.callees = ()
        self._finalized = True

    def with_callees(self) -> list[FunctionCode]:
        """Return this part and all that it calls, directly or not."""
        parts = {self: None}
        for part in (waiting := [self]):
            fresh = [callee for callee in part.callees if callee not in parts]
            parts.update(dict.fromkeys(fresh))
            waiting.extend(fresh)
        return list(parts)


class PartCompiler(_FunctionCompiler):
    """A compiler of functions to parts for other kernels, and to machine code for Python."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._parts: dict[Hashable, CompileResult] = {}

    def _compile_core(self, args: Any, return_type: Any) -> CompileResult:
        key = args, return_type
        if key not in self._parts:
            self._parts[key] = self._part(args, return_type)
        return self._parts[key] if _is_for_a_caller() else _machine_code(self._parts[key])

    def _part(self, args: Any, return_type: Any) -> CompileResult:
        described, flags = self.targetdescr, Flags()
        described.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = FunctionCode(described.target_context.codegen(), self.py_func.__qualname__)
        library.is_tiny = flags.forceinline
        result = compile_extra(
            described.typing_context, described.target_context, self.py_func, args, return_type,
            flags, self.locals, library,
        )  # fmt: skip
        result = result._replace(entry_point=object())  # a key for callers; nothing can call it
        described.target_context.insert_user_function(result.entry_point, result.fndesc, [library])
        return result


def _is_for_a_caller() -> bool:
    """Whether this thread compiles another function, which calls this one."""
    return ConfigStack.top_or_none() is not None


def _machine_code(part: CompileResult) -> CompileResult:
    """Translate a part and all that it calls, with a wrapper for Python."""
    context, fndesc = part.target_context, copy(part.fndesc)
    # The wrapper's constants: those of the part may be on disk already, without them.
    fndesc.env_name += ".wrapper"
    environment = Environment.from_fndesc(fndesc)
    library = context.codegen().create_library(part.library.name)
    library.enable_object_caching()
    library.add_linking_library(part.library)  # which finalizes it
    for callee in part.library.with_callees():
        library.add_linking_library(callee)
    context.create_cpython_wrapper(library, fndesc, environment, part.call_helper, True)
    entry_point = context.get_executable(library, fndesc, environment)
    context.insert_user_function(entry_point, fndesc, [part.library])
    result = part._replace(
        library=library,
        entry_point=entry_point,
        fndesc=fndesc,
        environment=environment,
        metadata={},
    )
    for env in result._find_referenced_environments():  # exceptions are raised with their help
        library.codegen.set_env(env.env_name, env)
    return result


class MachineCodeCache(FunctionCache):
    """A cache on disk of machine code, without parts."""

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        """Save the code of a signature."""
        if not isinstance(result.library, FunctionCode):
            super().save_overload(signature, result)


class CompiledFunction(CPUDispatcher):
    """A function that is compiled at its first call from Python."""

    def __init__(self, function: Any, *others: Any, **named: Any) -> None:
        super().__init__(function, *others, **named)
        plain = self._compiler
        self._compiler = PartCompiler(
            function, plain.targetdescr, plain.targetoptions, plain.locals, plain.pipeline_class
        )

    def enable_caching(self) -> None:
        """Keep machine code on disk."""
        self._cache = MachineCodeCache(self.py_func)

    def add_overload(self, result: CompileResult) -> None:
        """Take the result for a signature. Python's calls must not find a part."""
        if isinstance(result.library, FunctionCode):
            self.overloads[tuple(result.signature.args)] = result
        else:
            super().add_overload(result)

    def compile(self, signature: Any) -> Any:
        """Compile for a caller or for Python, or take what is in the cache."""
        with global_compiler_lock:
            args = tuple(normalize_signature(signature)[0])
            known = self.overloads.get(args)
            if known and isinstance(known.library, FunctionCode) and not _is_for_a_caller():
                del self.overloads[args]
            return super().compile(signature)
