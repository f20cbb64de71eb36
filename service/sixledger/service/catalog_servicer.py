"""CatalogService: the games of this server and its identity."""

from __future__ import annotations

from typing import Any

from sixledger.engine.errors import UnknownGame
from sixledger.engine.game import Game
from sixledger.engine.registry import Registry, installed
from sixledger.engine.version import __version__
from sixledger.ledger.origin_signer import OriginSigner
from sixledger.service.errors import ServiceError
from sixledger.v1 import catalog_service_pb2 as pb
from sixledger.v1 import error_pb2, record_pb2


class CatalogServicer:
    """The calls of CatalogService, by their names."""

    def __init__(self, signer: OriginSigner, registry: Registry | None = None) -> None:
        """Describe the games of `registry` (by default of this installation) and the origin that signs."""
        self._signer = signer
        self._registry = registry or installed()

    async def ListGames(self, request: pb.ListGamesRequest) -> pb.ListGamesResponse:
        """List the games."""
        del request
        return pb.ListGamesResponse(games=[describe(game) for game in self._registry.offered()])

    async def GetGame(self, request: pb.GetGameRequest) -> pb.GetGameResponse:
        """Describe one game, with its rules."""
        try:
            game = self._registry.latest(request.id)
        except UnknownGame as error:
            raise ServiceError(error_pb2.REASON_UNKNOWN_GAME, str(error)) from error
        return pb.GetGameResponse(game=describe(game), rules_markdown=game.rules_markdown())

    async def GetOrigin(self, request: pb.GetOriginRequest) -> pb.GetOriginResponse:
        """Tell who signs the heads of this server."""
        del request
        signer = self._signer
        return pb.GetOriginResponse(
            origin=signer.origin,
            verifier_key=str(signer.verifier_key),
            version=__version__,
            key_list=signer.signed_list.note,
        )


def describe(game: Game[Any]) -> pb.GameInfo:
    """A game as players choose it."""
    info = pb.GameInfo(
        ruleset=record_pb2.Ruleset(id=game.id, version=game.version, digest=game.digest),
        title=game.title,
        min_seats=game.min_seats,
        max_seats=game.max_seats,
    )
    for option in game.option_docs:
        info.options.add(
            name=option.name,
            description=option.description,
            values=option.values,
            default_value=option.default,
            applies_to=option.applies_to,
        )
    for name, preset in game.presets.items():
        info.presets.add(name=name, description=preset.description, options=game.schema.options.pack(preset.options))
    return info
