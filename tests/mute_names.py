#!/usr/bin/env python3
"""Run a command where the name service never answers: mute_names.py COMMAND ... in network and mount namespaces of its own (unshare --net --mount)."""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile

GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    request = array.array("B", struct.pack("16sh22x", b"lo", 0))
    fcntl.ioctl(control, GET_FLAGS, request)
    struct.pack_into("h", request, 16, struct.unpack_from("h", request, 16)[0] | UP)
    fcntl.ioctl(control, SET_FLAGS, request)
with tempfile.NamedTemporaryFile("w") as lines, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
    lines.write("nameserver 127.0.0.1\n")
    lines.flush()
    mute.bind(("127.0.0.1", 53))
    subprocess.run(["mount", "--bind", lines.name, os.path.realpath("/etc/resolv.conf")], check=True)
    sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
