"""The reference of JSON, made from the schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parent / "reference" / "schemas.json"

_INTRODUCTION = """\
# JSON

With `--json` every command prints one JSON object. [schemas.json](schemas.json) has a schema of
each (JSON Schema, draft 2020-12), under the name of the command in `$defs`; this page is made from
it, and a test validates what the commands print against it. `?` marks a key that is not always
there. Keys of objects in a list are shown as `list[].key`, those of other objects as `object.key`.
"""


def json_page() -> str:
    """Return the page as Markdown."""
    definitions = json.loads(SCHEMAS.read_text(encoding="utf-8"))["$defs"]
    shared = [name for name in definitions if f"#/$defs/{name}" in SCHEMAS.read_text("utf-8")]
    commands = sorted(definitions.keys() - set(shared))
    sections = [*(_section(f"popsnet {name}", definitions[name]) for name in commands)]
    sections += [_section(f"The object “{name}”", definitions[name]) for name in shared]
    return "\n".join([_INTRODUCTION, *sections])


def _section(title: str, schema: dict[str, Any]) -> str:
    rows = "\n".join(_rows(schema, ""))
    return f"## {title}\n\n| key | type | meaning |\n|---|---|---|\n{rows}\n"


def _rows(schema: dict[str, Any], before: str) -> Iterator[str]:
    for name, one in schema.get("properties", {}).items():
        key = f"`{before}{name}`" + ("" if name in schema.get("required", ()) else " ?")
        yield f"| {key} | {_type(one)} | {one['description'].replace('|', '&#124;')} |"
        yield from _rows(one.get("items", {}), f"{before}{name}[].")
        yield from _rows(one, f"{before}{name}.")


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    types = schema.get("type", "any value")
    first, null = (types[0], " or null") if isinstance(types, list) else (types, "")
    if first == "array":
        return f"array of {_type(schema['items'])}{null}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}s{null}"
    return f"{first}{null}"
