"""The schemas of what commands print with --json, and reports that are held against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from popsnet.base.report import Report
from popsnet.cli import output

SCHEMAS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs/reference/schemas.json").read_text(encoding="utf-8")
)


def require_schema(command: str, printed: object) -> None:
    validator = Draft202012Validator({**SCHEMAS, "$ref": f"#/$defs/{command}"})
    errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(printed)]
    assert not errors, "\n".join(errors)


def require_schemas(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Whatever the command reports from now on must have the form that its schema states."""
    printed = output._print

    def checked(report: Report, form: Any) -> None:
        require_schema(command, json.loads(json.dumps(report.to_dict())))
        printed(report, form)

    monkeypatch.setattr(output, "_print", checked)
