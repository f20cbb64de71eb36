"""Players of boardgame.io: its lobby over HTTP, its moves over WebSockets with the framing of Socket.IO 4."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

NAMESPACE = "/nimmt"
SEATS = 2


class Player:
    """A seat with a connection of its own, as a browser has."""

    def __init__(self, match_id: str, seat: int, credentials: str, connection: ClientConnection) -> None:
        self.match_id, self.seat = match_id, seat
        self._credentials, self._connection = credentials, connection
        #: What came last: read only when somebody wants to know.
        self._text = ""
        self._state: dict[str, Any] | None = None
        self._came = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def sit(cls, port: int, match_id: str, seat: int, credentials: str) -> Player:
        """Connect and ask for the state."""
        address = f"ws://127.0.0.1:{port}/socket.io/?EIO=4&transport=websocket"
        connection = await connect(address, max_size=None, compression=None, ping_interval=None)
        await connection.recv()  # the handshake
        await connection.send(f"40{NAMESPACE},")
        await connection.recv()
        player = cls(match_id, seat, credentials, connection)
        await player._send(["sync", match_id, str(seat), credentials, SEATS])
        return player

    async def move(self, name: str, argument: int, number: int) -> dict[str, Any]:
        """Make a move in the state `number`; the state after it."""
        payload = {"type": name, "args": [argument], "playerID": str(self.seat), "credentials": self._credentials}
        action = {"type": "MAKE_MOVE", "payload": payload}
        await self._send(["update", action, number, self.match_id, str(self.seat)])
        return await self.state(number + 1)

    async def state(self, number: int) -> dict[str, Any]:
        """The newest state as the seat sees it, once it has got that with `number`."""
        while (state := self._newest()) is None or state["_stateID"] < number:
            self._came.clear()
            await self._came.wait()
        return state

    def _newest(self) -> dict[str, Any] | None:
        if self._state is None and self._text:
            kind, _, content, *_ = json.loads(self._text)
            self._state = content if kind == "update" else content["state"]
        return self._state

    async def _send(self, content: list[Any]) -> None:
        await self._connection.send(f"42{NAMESPACE},{json.dumps(content)}")

    async def _read(self) -> None:
        head = f"42{NAMESPACE},"
        states = (head + '["update"', head + '["sync"')
        async for message in self._connection:
            text = message if isinstance(message, str) else message.decode()
            if text == "2":  # are you there?
                await self._connection.send("3")
            elif text.startswith(states):
                self._text, self._state = text[len(head) :], None
                self._came.set()

    async def close(self) -> None:
        """Leave."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._connection.close()


class Match:
    """A match with both of its players: a lane that plays any card, and any row where one must be taken."""

    def __init__(self, players: list[Player], chance: Random) -> None:
        self.players, self._chance = players, chance
        self._state: dict[str, Any] | None = None

    @classmethod
    async def open(cls, lobby: httpx.AsyncClient, port: int, chance: Random) -> Match:
        """Make a match and join it as both players."""
        made = (await lobby.post("/games/nimmt/create", json={"numPlayers": SEATS})).raise_for_status().json()
        players = []
        for seat in range(SEATS):
            wanted = {"playerID": str(seat), "playerName": f"Seat {seat}"}
            joined = await lobby.post(f"/games/nimmt/{made['matchID']}/join", json=wanted)
            credentials = joined.raise_for_status().json()["playerCredentials"]
            players.append(await Player.sit(port, made["matchID"], seat, credentials))
        return cls(players, chance)

    async def __call__(self) -> None:
        """One move: until the one who made it has the state after it."""
        if self._state is None:
            self._state = await self.players[0].state(0)
        board, number = self._state["G"], self._state["_stateID"]
        if board["chooser"] is not None:
            player = self.players[int(board["chooser"])]
            self._state = await player.move("takeRow", self._chance.randrange(4), number)
            return
        seat = next(seat for seat in range(SEATS) if not board["chosen"][str(seat)])
        player = self.players[seat]
        hand = (await player.state(number))["G"]["hands"][str(seat)]
        self._state = await player.move("selectCard", self._chance.choice(hand), number)

    async def close(self) -> None:
        """Leave it."""
        for player in self.players:
            await player.close()
