from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.http_client import Client, RunningServer, running_server
from tests.support.routes import Route


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the server."""
    made = tmp_path / "served"
    made.mkdir()
    return made


@pytest.fixture
def serving(folder: Path) -> Iterator[RunningServer]:
    """A server without a device."""
    with running_server(folder) as running:
        yield running


@pytest.fixture
def client(serving: RunningServer) -> Client:
    return serving.client


@pytest.fixture
def phone_client(route: Route, folder: Path) -> Iterator[Client]:  # noqa: ARG001 - the phone it finds
    """A client of a server that finds the shared phone."""
    with running_server(folder) as running:
        yield running.client
