"""What is known of programs whose writing follows one rule: who only reads, who writes all that is named, who writes what a flag names."""

from __future__ import annotations

# Say something, compute, change the mode of a file or the shell itself: no file's content.
READERS = frozenset(
    """
    : [ [[ ack ag alias apropos arch arp base32 base64 bat batcat bc bg bind break builtin bzcat cal chattr chgrp chmod chown cksum clear cloc cmp colordiff
    column comm compgen complete continue cut dc delta df diff diff3 difft dig dirs disown dmesg du duf dust egrep exa exit expand expr eza factor false fd
    fdfind fg fgrep file fmt fold free getconf getent getfacl getopt getopts grep groups hash head help hexdump hexyl history host hostname icdiff id
    ifconfig info infocmp iostat ip ipcs jobs join journalctl jq kill killall last ldd less locale locate logger login logname lsattr lsblk lscpu lsof
    ltrace man md5 md5sum mesg mkdir more mountpoint nc ncal netstat nl nm nproc nslookup numfmt objdump od otool paste pathchk pgrep pidof ping pkill pmap
    pr printenv procs ps pstack pstree ptree pwdx readelf return rev rg rgrep ripgrep route sar setfacl sha1sum sha224sum sha256sum sha384sum sha512sum
    shasum shift shopt size sleep ss ssh stat strings stty sum suspend sw_vers sync sysctl tabs tac tail telnet test times tload tokei top tput tr
    traceroute tree true tsort tty type ulimit umask unalias uname unexpand units unset uptime users vmstat w wait wall wc whatis whereis which who whoami
    whois xzcat yes zcat zgrep zless zmore zstdcat
    """.split()  # noqa: SIM905 - a page of words is read, a page of quotes is not
)

# name -> letters of flags that take a value; every other word is a file that is written.
ALL = {
    "rm": "", "unlink": "", "rmdir": "", "shred": "ns", "touch": "dtr", "truncate": "sr", "tee": "", "sponge": "", "ed": "p", "red": "p", "ex": "c", "trash": "",
    "srm": "", "dos2unix": "", "unix2dos": "", "mkfifo": "m", "nano": "", "vi": "cS", "vim": "cS", "nvim": "cS", "trash-put": "", "grm": "", "rmtrash": "",
}  # fmt: skip
ALL_LONGS = {"touch": "--date --reference", "truncate": "--size --reference", "shred": "--iterations --size"}

# name -> (letters and long flags that take a value, flags whose value is a file that is written).
FLAGGED = {
    "sort": ("oktST", "--output --key --field-separator --buffer-size", "-o --output"),
    "shuf": ("oien", "--output", "-o --output"),
    "iconv": ("oft", "--output", "-o --output"),
    "pandoc": ("oftVM", "--output --from --to --metadata --template", "-o --output"),
    "gcc": ("oIDLlx", "", "-o"), "g++": ("oIDLlx", "", "-o"), "cc": ("oIDLlx", "", "-o"), "clang": ("oIDLlx", "", "-o"), "clang++": ("oIDLlx", "", "-o"),
    "gpg": ("or", "--output --recipient", "-o --output"),
    "dot": ("oT", "", "-o"), "xsltproc": ("o", "--output", "-o --output"), "xmllint": ("o", "--output", "-o --output"),
    "tcpdump": ("wric", "", "-w"), "rustc": ("oCL", "", "-o"), "http": ("o", "--output", "-o --output"), "age": ("oriR", "--output", "-o --output"),
}  # fmt: skip

# name -> (flags that make it write, flags that keep it from it, letters and long flags that take a value, what it takes when nothing is named).
FORMATTERS = {
    "black": ("", "--check --diff -c --code", "ltc", "--line-length --target-version --config --exclude --include --code", ""),
    "isort": ("", "--check --check-only -c --diff --stdout", "lpm", "--profile --line-length --settings-path", ""),
    "autopep8": ("-i --in-place", "--diff", "", "--max-line-length --ignore --select", ""),
    "yapf": ("-i --in-place", "--diff -d", "", "--style", ""),
    "autoflake": ("-i --in-place", "--check", "", "--imports --exclude", ""),
    "pyupgrade": ("", "", "", "", ""),
    "docformatter": ("-i --in-place", "", "", "", ""),
    "prettier": ("--write -w", "", "", "--config --parser --ignore-path --plugin --log-level --print-width", ""),
    "eslint": ("--fix", "--fix-dry-run", "cfo", "--config --ext --format --rule --parser --ignore-pattern --max-warnings", "."),
    "stylelint": ("--fix", "", "cf", "--config --formatter", ""),
    "markdownlint": ("--fix -f", "", "c", "--config", ""), "markdownlint-cli2": ("--fix", "", "", "--config", ""),
    "standard": ("--fix", "", "", "", "."), "rubocop": ("-a -A --autocorrect --autocorrect-all --auto-correct", "", "c", "--config --only", "."),
    "gofmt": ("-w", "", "r", "", ""), "goimports": ("-w", "", "", "-local", ""), "gofumpt": ("-w", "", "", "", ""),
    "clang-format": ("-i", "--dry-run -n", "", "--style", ""), "shfmt": ("-w", "-d -l", "i", "", ""), "rustfmt": ("", "--check", "", "--edition --config", ""),
    "stylua": ("", "--check", "", "", ""), "swiftformat": ("", "--lint", "", "", ""), "ktlint": ("-F --format", "", "", "", "."), "zigfmt": ("", "", "", "", ""),
    "ruff format": ("", "--check --diff", "", "--config --line-length --target-version --exclude", "."),
    "ruff check": ("--fix --fix-only --add-noqa", "--diff", "", "--config --select --ignore --line-length --target-version --output-format --extend-select --exclude", "."),
    "biome format": ("--write --fix", "", "", "--config-path", "."), "biome check": ("--write --fix --apply --apply-unsafe", "", "", "--config-path", "."),
    "biome lint": ("--write --fix --apply --apply-unsafe", "", "", "--config-path", "."), "terraform fmt": ("", "-check", "", "", "."),
    "deno fmt": ("", "--check", "", "", "."), "buf format": ("-w --write", "", "", "", "."), "dart format": ("", "-o --output", "", "", "."),
}  # fmt: skip

# name -> (letters and long flags that take a value, words before the command that it runs).
PREFIXES = {
    "sudo": ("ugCDhpRrtT", "--user --group --chdir", 0), "doas": ("uC", "", 0), "nice": ("n", "--adjustment", 0), "ionice": ("cnp", "", 0), "nohup": ("", "", 0),
    "time": ("fo", "", 0), "timeout": ("ks", "--kill-after --signal", 1), "gtimeout": ("ks", "", 1), "stdbuf": ("ioe", "", 0), "setsid": ("", "", 0),
    "exec": ("a", "", 0), "builtin": ("", "", 0), "chronic": ("", "", 0), "caffeinate": ("tw", "", 0), "unbuffer": ("", "", 0), "watch": ("n", "--interval", 0),
    "npx": ("p", "--package", 0), "bunx": ("p", "--package", 0), "uvx": ("p", "--from --with --python", 0), "flock": ("wE", "--timeout", 1), "taskset": ("", "", 1),
    "xvfb-run": ("s", "", 0), "rlwrap": ("", "", 0), "busybox": ("", "", 0), "noglob": ("", "", 0), "nocorrect": ("", "", 0), "proxychains": ("", "", 0),
    "uv run": ("p", "--with --python --project --directory --extra --group --env-file", 0), "poetry run": ("", "", 0), "pipx run": ("", "--spec", 0),
    "pnpm exec": ("", "", 0), "pnpm dlx": ("", "", 0), "npm exec": ("", "", 0), "yarn exec": ("", "", 0), "yarn dlx": ("", "", 0), "bundle exec": ("", "", 0),
    "hatch run": ("", "", 0), "pdm run": ("", "", 0), "rye run": ("", "", 0), "pipenv run": ("", "", 0), "conda run": ("np", "--name --prefix", 0),
    "mise exec": ("", "", 0), "uv tool run": ("", "--from", 0), "bun x": ("", "", 0), "pixi run": ("", "", 0),
}  # fmt: skip
