"""The many addresses of one git repository, as one key without a login."""

from __future__ import annotations

_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+.-")
_PORTS = frozenset(("22", "80", "443", "9418"))
_ALSO = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}  # their ssh on port 443
_CASELESS = frozenset(("github.com", "gitlab.com", "bitbucket.org", "codeberg.org"))


def key(text: str) -> str:
    """The key that somebody gives or has seen: an address becomes :func:`origin`'s form; a key, and any other name, stays as it is."""
    scheme, mark, rest = text.partition("://")
    if mark:
        return origin(text) if _remote(scheme) else scheme + mark + rest.rpartition("@")[2]
    head, slash, rest = text.partition("/")
    login, at, host = head.rpartition("@")
    if text.startswith("[") or (not at and head.partition(":")[2].isdigit()):
        return _place(head, rest)
    if at and ":" not in host and (":" in login or "." in host):
        return _place(host, rest)
    if ":" in head:
        return text if not at and head.endswith(":") and not text.endswith(".git") else origin(text) or text
    return _place(head, rest) if slash and "." in head.strip(".") else text


def origin(url: str) -> str:
    """``host/org/repo`` of a remote's URL or ssh address; "" when it is none: a path, a file URL, a helper's address.

    Dropped: scheme, user, password, query, the usual ports, ``.git`` and ``/`` at the end, the case of the host. Known hosts whose repositories have no
    case lose it, and their ssh-over-443 hosts are the same. Never holds a login, also not of a malformed URL.
    """
    scheme, mark, rest = url.strip().partition("://")
    if mark:
        host, _, where = _without_login(rest).partition("#")[0].partition("?")[0].partition("/")
        return _place(host, unquoted(where)) if _remote(scheme) and host.strip(". ") else ""
    head = scheme.partition("/")[0]
    if ":" not in head:
        return ""
    cut = scheme.rfind("@", 0, max(scheme.rfind(":"), 0))
    place = scheme[cut + 1 :]
    host, colon, where = place.partition("]:") if place.startswith("[") else place.partition(":")
    host += colon[:-1]
    drive = len(host) == 1 and cut < 0 and where[:1] in "/\\"
    if drive or where.startswith(":") or not host or any(c in "/\\ " for c in host):
        return ""
    return _place(host, where)


def _remote(scheme: str) -> bool:
    """Whether it may stand before the ``://`` of an address; a helper's ``way::`` and ``file`` may not."""
    return scheme != "" and scheme.lower() != "file" and _SCHEME.issuperset(scheme.lower())


def _place(authority: str, where: str) -> str:
    """A host, its port if it is an unusual one, and a path, as one key."""
    start = authority.find("]") + 1 if authority.startswith("[") else 0
    host, _, port = authority[start:].partition(":")
    host = (authority[:start] + host).lower().strip(". ")
    host = _ALSO.get(host, host)
    parts = [part for part in where.split("/") if part]
    path_ = "/".join(parts).lower() if host in _CASELESS else "/".join(parts)
    if not path_.isascii():
        from unicodedata import normalize

        path_ = normalize("NFC", path_)
    while path_ != (path_ := path_.strip().strip("/").removesuffix(".git")):
        pass
    return (host + (f":{port}" if port.isdigit() and port not in _PORTS else "") + "/" + path_).rstrip("/")


def _without_login(rest: str) -> str:
    """What follows ``://`` without user and password, also where they hold an ``@`` or ``/`` that should have been escaped."""
    authority = rest.partition("/")[0]
    login, at, host = authority.rpartition("@")
    if at:
        rest = rest[len(login) + 1 :]
        stray = rest.partition("?")[0].rfind("@")
        return rest[stray + 1 :] if ":" in login and stray > 0 and rest[stray - 1] != "/" else rest
    return rest.rpartition("@")[2] if ":" in host and not host.startswith("[") and not host.partition(":")[2].isdigit() else rest


def unquoted(text: str) -> str:
    """Percent-decoded, where it is UTF-8."""
    if "%" not in text:
        return text
    from urllib.parse import unquote_to_bytes

    try:
        return unquote_to_bytes(text).decode()
    except ValueError:
        return text
