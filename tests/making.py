"""Pages of the documentation that are made: written, or with ``--check`` only compared."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def page(target: Path, made: str) -> int:
    """Write the page, or compare it; the exit code."""
    fresh = target.exists() and target.read_text("utf-8") == made
    if "--check" not in sys.argv:
        target.write_text(made, "utf-8")
    sys.stdout.write(f"{'fresh' if fresh else 'stale'} {target.name}\n")
    return int("--check" in sys.argv and not fresh)
