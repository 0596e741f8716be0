"""Where scripts/ and hooks/ lie: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def folder(name: str) -> str:
    """The path of the project's folder ``name``."""
    inside = os.path.join(_HERE, name)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_HERE), name)
