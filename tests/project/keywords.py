"""The parameters of functions, with those that are collected by ``**``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from typing import Any, get_args, get_type_hints


def keywords_of(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the kind of every parameter; ``**name: Unpack[Class]`` has several."""
    for name, one in signature(function).parameters.items():
        if one.kind is not Parameter.VAR_KEYWORD:
            yield name, one.kind
            continue
        for several in get_args(get_type_hints(function).get(name)):
            yield from ((key, Parameter.KEYWORD_ONLY) for key in get_type_hints(several))
