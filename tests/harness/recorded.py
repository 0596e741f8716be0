"""The recorded events of each client: what its hooks were given in real runs, paths normalised. ``fixtures/<client>-<version>/<event>[.<what>].json``."""

from __future__ import annotations

import json
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"


def names(client=None):
    """All as "<client>-<version>/<event>[.<what>]", for parametrize; of one client."""
    found = sorted(path for path in FIXTURES.glob(f"{client or ''}*/*.json") if not path.name.startswith("_"))
    return [f"{path.parent.name}/{path.stem}" for path in found]


def given(name):
    """What the hook was given."""
    return json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))


def environment(client):
    """The client's own part of the environment that a hook of it had."""
    found = sorted(FIXTURES.glob(f"{client}-*/_env.json"))
    return json.loads(found[-1].read_text("utf-8")) if found else {}
