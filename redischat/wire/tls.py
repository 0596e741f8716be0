"""A TLS connection, imported only for URLs that ask for one: the host's name is checked, by the authority that the URL names, else by the system's."""

from __future__ import annotations

import socket
import ssl

from ..calls.call import CONNECT_S
from ..errors.broker import Untrusted, of_tls
from .line import watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import Place


def connected(place: Place) -> ssl.SSLSocket:
    """The connection, once the server has proved who it is.

    Raises:
        Untrusted: it has not, or will not have us.
    """
    context = _context(place)
    sock = watched(socket.create_connection((place.host, place.port), CONNECT_S))
    try:
        return context.wrap_socket(sock, server_hostname=place.host)
    except ssl.SSLError as error:
        sock.close()
        refused = of_tls(error, place.shown)
        if refused:
            raise refused from error
        raise
    except BaseException:
        sock.close()
        raise


def _context(place: Place) -> ssl.SSLContext:
    """What is trusted, and what we show of ourselves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if place.ca else ssl.create_default_context()  # reading the system's authorities costs 10 ms and more
    what = f"ca={place.ca}"
    try:
        if place.ca:
            context.load_verify_locations(place.ca)
        what = f"cert={place.cert}"
        if place.cert:
            context.load_cert_chain(place.cert, place.key or None)
    except OSError as error:  # SSLError too
        raise Untrusted(url=place.shown, why=f"{what} cannot be used ({error.strerror or 'it is no certificate, or not the one of its key'})") from error
    return context
