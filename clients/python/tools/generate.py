#!/usr/bin/env python3
"""Writes the parts of the package that follow from others; needs nothing besides Python.

    tools/generate.py            writes them
    tools/generate.py --check    says which are out of date, and changes nothing

- ``_models.py`` and ``_async/operations.py`` from ``docs/reference/openapi.json``, the description of the nodes' API;
- ``_sync/*.py`` from ``_async/*.py``, except ``io.py``, which is written by hand for each.
"""

from __future__ import annotations

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import models  # noqa: E402
import operations  # noqa: E402
import unasync  # noqa: E402
from schema import Document  # noqa: E402

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
SOURCE = PACKAGE / "src" / "tallystick"
DOCUMENT = PACKAGE.parent.parent / "docs" / "reference" / "openapi.json"


def wanted() -> dict[pathlib.Path, str]:
    """Returns every generated file with its required content."""
    document = Document.read(DOCUMENT)
    by_hand = {path.name: path.read_text() for path in sorted((SOURCE / "_async").glob("*.py"))}
    by_hand["operations.py"] = operations.write(document)
    files = {SOURCE / "_models.py": models.write(document), SOURCE / "_async" / "operations.py": by_hand["operations.py"]}
    for name, text in by_hand.items():
        if name != "io.py":
            files[SOURCE / "_sync" / name] = unasync.write(name, text)
    return files


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    stale = []
    for path, text in wanted().items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(PACKAGE))
        if not check:
            path.write_text(text)
    for path in stale:
        print(f"{'out of date' if check else 'wrote'}: clients/python/{path}", file=sys.stderr)
    if check and stale:
        print("run `make python-generate`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
