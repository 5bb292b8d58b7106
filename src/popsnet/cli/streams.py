"""Where what the user's own code prints goes."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from typing import Any

__all__ = ["user_code"]


def user_code(as_json: bool) -> AbstractContextManager[Any]:
    """While it runs with --json, what it prints goes to standard error: one object is ours."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()
