"""Addresses: the sockets that a server listens on, and how a caller's address is written."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

BACKLOG = 1024


class SocketFile:
    """The file of `unix:PATH`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._made: tuple[int, int] | None = None

    async def claim(self) -> None:
        """Make sure that no server answers there. Raises OSError if one does.

        asyncio and grpcio would take the file away from it. A file that a server has left behind is no hindrance.
        """
        try:
            _, writer = await asyncio.open_unix_connection(self.path)
        except (FileNotFoundError, ConnectionRefusedError):
            return
        writer.close()
        raise OSError(errno.EADDRINUSE, "a server listens on the socket file already")

    def made(self) -> None:
        """Remember the file that is there now as one's own."""
        self._made = self._identity()

    def remove(self) -> None:
        """Remove one's own file; not that of a server which came after."""
        with suppress(OSError):
            if self._made is not None and self._made == self._identity():
                Path(self.path).unlink()

    def _identity(self) -> tuple[int, int]:
        status = Path(self.path).stat()
        return status.st_dev, status.st_ino


def socket_file(address: str) -> SocketFile | None:
    """That of `unix:PATH`; None for other addresses."""
    return SocketFile(address.removeprefix("unix:")) if address.startswith("unix:") else None


async def bound(address: str, *, reuse_port: bool) -> list[socket.socket]:
    """Sockets for every address that a name stands for, all with one port. Raises OSError."""
    host, _, port_text = address.rpartition(":")
    if not (host and port_text.isdecimal()):
        raise OSError(errno.EINVAL, "the address is not HOST:PORT")
    port = int(port_text)
    found = await asyncio.get_running_loop().getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, *_, where in dict.fromkeys(found):
            if sockets and not port:
                port = sockets[0].getsockname()[1]
            both = family == socket.AF_INET6 and where[0] == "::" and socket.has_dualstack_ipv6()
            try:
                one = socket.create_server(
                    (where[0], port), family=family, backlog=BACKLOG, reuse_port=reuse_port, dualstack_ipv6=both
                )
            except OSError as error:
                # A machine without IPv6 may still have names for it.
                if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and len(found) > 1:
                    continue
                raise
            one.setblocking(False)
            sockets.append(one)
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, "no such address here")
    except BaseException:
        for one in sockets:
            one.close()
        raise
    return sockets


def peer_of(address: Any) -> str:
    """The address of a caller as grpc writes it: `ipv4:127.0.0.1:5000`, `ipv6:%5B::1%5D:5000` or `unix:`."""
    if not isinstance(address, tuple):
        return "unix:"
    host, port = address[:2]
    if len(address) == 4:
        mapped = ipaddress.IPv6Address(host).ipv4_mapped
        if mapped is None:
            return f"ipv6:{quote(f'[{host}]', safe=':')}:{port}"
        host = str(mapped)
    return f"ipv4:{host}:{port}"
