"""The normal form of a path, of a pattern's prefix and of a repository's key: one file has one name, whoever writes it, on whatever system."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, strategies

from redischat import names, remote
from redischat.errors import BadText, TooLarge
from redischat.errors.paths import PathLockInvalidPath


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src//a.py", "src/a.py"),
        ("src/../src/a.py", "src/a.py"),
        ("src/a.py/", "src/a.py"),
        ("a/b/../../src/./a.py", "src/a.py"),
        (".", ""),
        ("./", ""),
        ("src/..", ""),
        ("two words.md", "two words.md"),
        (" a", " a"),
        ("~/a", "~/a"),
        ("~", "~"),
        (".gitignore", ".gitignore"),
        ("a/.github/b", "a/.github/b"),
        ("...a", "...a"),
        ("console.py", "console.py"),
        ("com0", "com0"),
        ("com10", "com10"),
        ("a.con", "a.con"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("app/[[...sign-in]]/page.tsx", "app/[[...sign-in]]/page.tsx"),
        ("a{b}!#%&'();=@^`,+$", "a{b}!#%&'();=@^`,+$"),
        ("docs/se\u00f1ales.md", "docs/se\u00f1ales.md"),
        ("docs/sen\u0303ales.md", "docs/se\u00f1ales.md"),
        ("\U0001f469\u200d\U0001f680.md", "\U0001f469\u200d\U0001f680.md"),
    ],
)
def test_spellings_of_one_path_have_one_normal_form(written, normal):
    assert names.path(written) == normal
    assert names.path(normal or ".") == normal


@pytest.mark.parametrize(
    "written",
    [
        "", "/", "/src", "//host/share", "..", "../a", "a/../../b", "C:/a", "c:a", "a:stream", "\\a", "a\\b", "..\\a", "a\0b", "a\nb", "a\tb", "a\x1bb", "a\x7f", "a\x80b",
        "a\x9fb", "a\u2028b", "a\u2029b", "a\udc80b", "\ud83d", "a\u202eb", "a\u2066b", "a<b", "a>b", 'a"b', "a|b", "a?b", "a*b", "*", "src/**", "a.", "a ", "a./b", "a /b",
        "...", " ", "a/ /b", "CON", "con", "nul.txt", "a/Aux/b", "prn.tar.gz", "COM1", "lpt9.x", "com\u00b9", "con .txt", "conout$", ".git", ".git/index", "a/.git/x", ".GIT/x",
        "x" * 256, "\u00e9" * 128, "a/" * 2048 + "b",
    ],
)  # fmt: skip
def test_what_no_lock_can_hold_is_refused_on_every_system(written):
    with pytest.raises(PathLockInvalidPath) as caught:
        names.path(written)
    caught.value.sentence().encode()
    caught.value.facts["path"].encode()
    assert caught.value.facts["why"]


def test_a_path_that_is_no_text_is_refused():
    with pytest.raises(PathLockInvalidPath):
        names.path(b"src")  # type: ignore[arg-type]


def test_the_longest_part_and_the_longest_path_are_taken():
    assert names.path("x" * 255) == "x" * 255
    longest = "/".join(["x" * 127] * 32)
    assert len(longest) == 4095
    assert names.path(longest) == longest
    with pytest.raises(PathLockInvalidPath):
        names.path(longest + "/x")


def test_a_pattern_says_how_patterns_are_written():
    with pytest.raises(PathLockInvalidPath) as caught:
        names.path("src/*.py")
    assert "--glob" in caught.value.facts["why"]
    with pytest.raises(PathLockInvalidPath) as caught:
        names.path("src/a>b")
    assert "--glob" not in caught.value.facts["why"]


@pytest.mark.parametrize(
    ("pattern", "normal"),
    [
        ("src/**/*.py", "src"),
        ("src/**", "src"),
        ("src/*.py", "src"),
        ("src/a*.py", "src"),
        ("**", ""),
        ("*", ""),
        ("./**", ""),
        ("src/./x//{a,b}/c", "src/x"),
        ("src/a?/b", "src"),
        ("app/[id]/*.tsx", "app"),
        ("app/[id]", "app"),
        ("app/../src/**", "src"),
        ("src/a.py", "src/a.py"),
        (".", ""),
    ],
)
def test_a_pattern_is_locked_as_what_stands_before_its_first_wildcard(pattern, normal):
    assert names.glob(pattern) == normal


@pytest.mark.parametrize("pattern", ["", "/**", "/src/*", "../*", "src/**/../../x", "src\\*", "a:b/*", "con/*", ".git/*", "src/*\0", "src/*\udc80", "src|/*"])
def test_a_pattern_that_leads_elsewhere_is_refused(pattern):
    with pytest.raises(PathLockInvalidPath):
        names.glob(pattern)


def test_square_brackets_are_letters_of_a_path_and_wildcards_only_of_a_pattern():
    """PATH-04."""
    held = [names.path("app/[id]/page.tsx"), names.path("app/[[...sign-in]]/page.tsx")]
    assert held == ["app/[id]/page.tsx", "app/[[...sign-in]]/page.tsx"]
    free = names.path("app/i/page.tsx")
    assert not any(overlap(free, one) for one in held)
    assert overlap(free, names.glob("app/**"))
    assert all(overlap(one, names.glob("app/**")) for one in held)


def overlap(one, other):
    """Whether one path is, or holds, the other: part by part."""
    a, b = (text.split("/") if text else [] for text in (one, other))
    return a[: len(b)] == b or b[: len(a)] == a


def texts(letters, *words):
    return strategies.lists(strategies.sampled_from([*letters, *words]), max_size=14).map("".join)


HOSTILE = texts("aA.. //~ñ\u0303\\:*?[]{<\0\n\x85\u2028\u202e\udc80", "..", "con", ".git")


@given(HOSTILE | strategies.text(max_size=20))
def test_a_path_is_refused_or_is_its_own_normal_form(text):
    for verb in (names.path, names.glob):
        try:
            normal = verb(text)
        except PathLockInvalidPath as refused:
            refused.sentence().encode()
            continue
        assert verb(normal or ".") == normal
        assert unicodedata.is_normalized("NFC", normal)
        assert all(part not in ("", ".", "..") for part in normal.split("/")) or normal == ""
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in normal)


@given(HOSTILE, HOSTILE)
def test_composed_and_decomposed_spellings_meet(one, other):
    try:
        normal = names.path(f"{one}/{other}")
    except PathLockInvalidPath:
        return
    assert names.path(unicodedata.normalize("NFD", f"{one}/{other}")) == normal


def test_an_ascii_path_costs_no_import():
    code = "import sys; from redischat import names; names.path('src/[a]/b.py'); names.glob('src/**'); print([m for m in ('unicodedata', 're', 'typing') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The keys of repositories.

ONE = [
    "https://example.org/team/quay",
    "https://example.org/team/quay/",
    "https://example.org/team/quay.git",
    "https://example.org/team/quay.git/",
    "https://Example.ORG:443/team//quay",
    "http://example.org:80/team/quay",
    "https://amy@example.org/team/quay.git",
    "https://amy:secret@example.org/team/quay.git",
    "https://amy:sec@ret@example.org/team/quay.git",
    "https://amy:sec/ret@example.org/team/quay.git",
    "https://amy:s@ec/ret@example.org/team/quay.git",
    "https://amy:sec#ret@example.org/team/quay.git",
    "https://amy:sec?ret@example.org/team/quay.git",
    "https://secret@example.org/team/quay.git",
    "https://amy:secret@example.org/team/quay.git?token=secret#secret",
    "ssh://git@example.org/team/quay.git",
    "SSH://git@example.org:22/team/quay",
    "git+ssh://git@example.org/team/quay",
    "git://example.org:9418/team/quay.git",
    "git@example.org:team/quay.git",
    "git@example.org:/team/quay.git",
    "amy:secret@example.org:team/quay.git",
    "amy:sec@ret@example.org:team/quay.git",
    "example.org:team/quay",
]


@pytest.mark.parametrize("url", [*ONE, "example.org/team/quay", "Example.org/team/quay.git/", "amy:secret@example.org/team/quay", "  example.org/team/quay "])
def test_addresses_of_one_repository_are_one_key_without_a_login(url):
    assert names.repository(url) == "example.org/team/quay"


@pytest.mark.parametrize("url", ONE)
def test_an_origins_address_is_the_same_key(url):
    assert remote.origin(url) == "example.org/team/quay"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ssh://git@example.org:2222/team/quay", "example.org:2222/team/quay"),
        ("https://[::1]:8443/team/quay", "[::1]:8443/team/quay"),
        ("git@[fe80::1]:team/quay.git", "[fe80::1]/team/quay"),
        ("git@GitHub.com:Team/Quay.git", "github.com/team/quay"),
        ("ssh://git@ssh.github.com:443/team/quay.git", "github.com/team/quay"),
        ("https://example.org/Team/Quay", "example.org/Team/Quay"),
        ("https://example.org/my%20team/quay", "example.org/my team/quay"),
        ("git@example.org:my team/quay", "example.org/my team/quay"),
        ("https://example.org/se%C3%B1ales/sen%CC%83", "example.org/se\u00f1ales/se\u00f1"),
        ("https://example.org/%ff", "example.org/%ff"),
        ("https://example.org/@team/quay", "example.org/@team/quay"),
        ("https://amy:secret@example.org/@team/quay", "example.org/@team/quay"),
        ("https://example.org", "example.org"),
    ],
)
def test_an_address_keeps_what_tells_repositories_apart(url, key):
    assert remote.origin(url) == key
    assert names.repository(key) == key


@pytest.mark.parametrize(
    "url", ["", "/srv/quay", "../quay", "quay", "./a:b", "file:///srv/quay", "C:/quay", "C:\\quay", "ext::sh -c x", "codecommit::x://quay", "a b:c"]
)
def test_an_origin_that_is_no_address_has_no_key(url):
    assert not remote.origin(url)


@pytest.mark.parametrize(
    "key", ["quay", "the quay", "a" * 40, "heron:/home/amy/quay", "example.org:2222/team/quay", "/srv/quay", "file:///srv/quay", "se\u00f1ales"]
)
def test_a_key_as_it_is_shown_can_be_given_again(key):
    assert names.repository(key) == key


def test_a_password_in_an_address_of_an_unknown_kind_is_dropped():
    assert "secret" not in names.repository("codecommit::x://amy:secret@quay")
    assert "secret" not in names.repository("my_way://amy:secret@quay/x")


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "a\0b", "a\x1bb", "a\u202eb", "a\x85b", "a\udc80b", "https://", "https:///x", "https://example.org/a%0ab"])
def test_a_key_that_cannot_be_seen_is_refused(key):
    with pytest.raises(BadText):
        names.repository(key)


def test_a_key_is_at_most_500_characters():
    assert names.repository("k" * 500) == "k" * 500
    with pytest.raises(TooLarge):
        names.repository("k" * 501)


ADDRESS = texts("ab.:/@[]?#~ -é", ".git", "://", "https", "22", "github.com", "%2e", "%25")


@given(ADDRESS)
def test_a_keys_normal_form_is_its_own(text):
    try:
        key = names.repository(text)
    except BadText:
        return
    assert names.repository(key) == key


WORD = strategies.text(alphabet="abcd0123", min_size=1, max_size=6)
SECRET = texts("SECRET#?@:+%&=!").map(lambda text: "S" + text + "S")


@given(strategies.sampled_from(["https", "http", "ssh", "git"]), WORD, SECRET, WORD, WORD)
def test_no_password_is_ever_in_a_key(scheme, user, secret, host, team):
    for url in (f"{scheme}://{user}:{secret}@{host}.org/{team}/quay.git", f"{scheme}://{secret}@{host}.org/{team}/quay"):
        assert remote.origin(url) == names.repository(url) == f"{host}.org/{team}/quay"
