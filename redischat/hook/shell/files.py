"""Programs that copy, move, pack and fetch files."""

from __future__ import annotations

import os

from .call import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call

_COPYING = {
    "cp": ("tS", "--target-directory --suffix"),
    "gcp": ("tS", "--target-directory --suffix"),
    "mv": ("tS", "--target-directory --suffix"),
    "gmv": ("tS", "--target-directory --suffix"),
    "ln": ("tS", "--target-directory --suffix"),
    "install": ("mogtS", "--target-directory --mode --owner --group"),
    "rsync": ("efBMT", "--rsh --exclude --include --exclude-from --include-from --files-from --filter --chmod --max-size --min-size --log-file --backup-dir"),
    "scp": ("iPoFSJlc", ""),
}
_CURL = "odDHXubAeFTKmwxcCEYyzrPtU"
_CURL_LONGS = (
    "--output --data --data-raw --data-binary --data-urlencode --header --request --user --cookie --user-agent --referer --form --upload-file --config "
    "--max-time --connect-timeout --write-out --proxy --cookie-jar --retry --retry-delay --retry-max-time --output-dir --dump-header --url --cacert --cert "
    "--key --resolve --json --unix-socket --max-redirs --range --limit-rate"
)
_WGET = "OoaPiTtUwQeBADRlI"
_WGET_LONGS = "--output-document --output-file --directory-prefix --input-file --timeout --tries --user-agent --header --user --password"
_ENDINGS = {"gzip": ".gz", "gunzip": ".gz", "bzip2": ".bz2", "bunzip2": ".bz2", "xz": ".xz", "unxz": ".xz", "lz4": ".lz4", "zstd": ".zst", "unzstd": ".zst"}


def copy(call: Call) -> None:
    """cp, mv, ln, install, rsync, scp: the last word is the target, or -t's; mv writes both sides."""
    flags, names = options(call.args, *_COPYING[call.name])
    remote = call.name in {"rsync", "scp"}
    if (call.name == "rsync" and {"-n", "--dry-run"} & set(flags)) or (call.name == "install" and "-d" in flags) or not names:
        return
    target = flags.get("-t" if not remote else "", flags.get("--target-directory", ""))
    alone = len(names) == 1 and not target
    if alone and call.name != "ln":
        return
    if alone:
        target, flags = ".", {}
    where = target or names.pop()
    if call.name.endswith("mv") or "--remove-source-files" in flags:
        call.write(*names)
    if remote and ":" in where.partition("/")[0]:
        return
    names = [one.rpartition(":")[2] for one in names] if remote else names
    if target:
        call.write(*(os.path.join(where, os.path.basename(one.rstrip("/"))) for one in names))
    elif "--parents" in flags:
        call.write(*(os.path.join(where, one) for one in names))
    elif {"-T", "--no-target-directory"} & set(flags) or (call.name == "rsync" and ("--delete" in flags or any(one.endswith("/") for one in names))):
        call.write(where)
    else:
        call.write(*call.into(where, names))


def dd(call: Call) -> None:
    """of=FILE."""
    call.write(*(one[3:] for one in call.args if one.startswith("of=")))


def second(call: Call) -> None:
    """uniq, xxd: the second file is written."""
    call.write(*options(call.args, "fsw" if call.name == "uniq" else "cglos")[1][1:2])


def curl(call: Call) -> None:
    """-o, -O, -D, -c."""
    flags, urls = options(call.args, _CURL, _CURL_LONGS)
    for one in ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar"):
        if flags.get(one, "-") != "-":
            call.write(os.path.join(flags.get("--output-dir", ""), flags[one]) if "o" in one else flags[one])
    if {"-O", "--remote-name", "--remote-name-all"} & set(flags):
        call.write(*(os.path.join(flags.get("--output-dir", ""), _fetched(url)) for url in urls))
    if {"-J", "--remote-header-name", "-K", "--config"} & set(flags):
        call.opaque()


def wget(call: Call) -> None:
    """-O, else the last part of the address, below -P."""
    flags, urls = options(call.args, _WGET, _WGET_LONGS)
    output = flags.get("-O", flags.get("--output-document", ""))
    call.write(*(flags[one] for one in ("-o", "-a", "--output-file") if one in flags))
    if "--spider" in flags or output == "-":
        return
    if {"-r", "-m", "-i", "-p", "-x", "--recursive", "--mirror", "--input-file", "--content-disposition"} & set(flags):
        call.opaque()
    elif output:
        call.write(output)
    else:
        call.write(*(os.path.join(flags.get("-P", flags.get("--directory-prefix", "")), _fetched(url) or "index.html") for url in urls))


def _fetched(url: str) -> str:
    return os.path.basename(url.partition("://")[2].partition("?")[0].partition("#")[0] or url)


def tar(call: Call) -> None:
    """What packs writes the archive; what unpacks writes what cannot be seen."""
    first = call.args[:1]
    args = ["-" + first[0], *call.args[1:]] if first and not first[0].startswith("-") else call.args
    flags, _ = options(args, "fCTXbIgHVK", "--file --directory --exclude --files-from --exclude-from --transform --strip-components --use-compress-program")
    if {"-x", "--extract", "--get"} & set(flags) and not {"-O", "--to-stdout"} & set(flags):
        call.opaque("unpacks what cannot be seen before it runs")
    elif {"-c", "-r", "-u", "--create", "--append", "--update"} & set(flags):
        call.write(*(flags[one] for one in ("-f", "--file") if flags.get(one, "-") != "-"))


def pack(call: Call) -> None:
    """Zip: the first word is the archive."""
    _, names = options(call.args, "xitnbP")
    call.write(*(one if "." in os.path.basename(one) else one + ".zip" for one in names[:1] if one != "-"))


def unpack(call: Call) -> None:
    """unzip, 7z, cpio, ar: what comes out cannot be seen; a listing can."""
    flags, names = options(call.args)
    if not ({"-l", "-p", "-t", "-v", "-Z", "-z", "--list"} & set(flags) or names[:1] in (["l"], ["t"])):
        call.opaque("unpacks what cannot be seen before it runs")


def squeeze(call: Call) -> None:
    """Pack or unpack a file where it is, as gzip does: the file goes, the packed one comes; or the other way round."""
    flags, names = options(call.args, "S", "--suffix")
    if {"-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"} & set(flags):
        return
    ending = _ENDINGS[call.name]
    for one in names:
        call.write(*([one] if not {"-k", "--keep"} & set(flags) and "zst" not in call.name else []))
        call.write(one.removesuffix(ending) if "un" in call.name or {"-d", "--decompress"} & set(flags) else one + ending)


def split(call: Call) -> None:
    """split, csplit: many files with made-up names."""
    call.opaque()


KNOWN = {
    **dict.fromkeys(_COPYING, copy),
    **dict.fromkeys(_ENDINGS, squeeze),
    **dict.fromkeys(("unzip", "7z", "7za", "cpio", "ar", "unrar", "bsdtar"), unpack),
    "dd": dd,
    "uniq": second,
    "xxd": second,
    "curl": curl,
    "wget": wget,
    "tar": tar,
    "gtar": tar,
    "zip": pack,
    "split": split,
    "csplit": split,
}
