"""The three ways to a broker, each used as the acts use a wire: the command's, the Python client's, the asyncio client's."""

from __future__ import annotations

import asyncio
from functools import partial

from redischat.aio.connection import AsyncConnection
from redischat.aio.connection import client_of as aio_client_of
from redischat.aio.errand import drive as aio_drive
from redischat.aio.routed import AsyncRouted
from redischat.settings import Place
from redischat.sync.connection import Connection, client_of
from redischat.sync.errand import drive
from redischat.sync.routed import Routed
from redischat.wire import Wire


class Sync:
    """The Python client's connection, as the acts use a wire."""

    def __init__(self, url):
        place = Place(url)
        self.connection = Routed(place) if place.kind else Connection(partial(client_of, place), place.shown, place=place)
        self.run, self.pipe = self.connection.run, self.connection.pipe

    def drive(self, flow):
        return drive(self.connection, flow)

    def close(self):
        self.connection.disconnect()


class Aio:
    """The asyncio client's connection, likewise."""

    def __init__(self, url):
        place = Place(url)
        self.runner = asyncio.Runner()
        self.connection = AsyncRouted(place) if place.kind else AsyncConnection(partial(aio_client_of, place), place.shown, place=place)

    def run(self, call):
        return self.runner.run(self.connection.run(call))

    def pipe(self, calls):
        return self.runner.run(self.connection.pipe(calls))

    def drive(self, flow):
        return self.runner.run(aio_drive(self.connection, flow))

    def close(self):
        self.runner.run(self.connection.disconnect())
        self.runner.close()


CARRIERS = {"command": Wire, "client": Sync, "asyncio": Aio}
