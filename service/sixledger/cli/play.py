"""`sixledger play`: a person against bots."""
from __future__ import annotations
from pathlib import Path
from typing import Annotated
from cyclopts import Parameter
from sixledger.cli.options import OptionList, PresetName, build, find_game
from sixledger.cli.seating import Bot, Seed, bot_names, check_players, policy
from sixledger.cli.terminal import out

def play(game: str, *, bots: int = 3, bot: Bot = None, seed: Seed = None, preset: PresetName = None, option: OptionList = None) -> int:
    """Play a game against bots, here or on a server."""
    from sixledger.cli.local_table import LocalTable
    from sixledger.cli.table_talk import Talk
    chosen = find_game(game)
    check_players(chosen, bots + 1)
    setup = build(chosen, bots + 1, preset, option)
    mind = policy(chosen.id, bot)
    table = LocalTable(chosen, setup, ["You", *bot_names(bots)], {seat: mind for seat in range(1, bots + 1)}, seed=seed)
    Talk(table, out()).play()
    return 0
