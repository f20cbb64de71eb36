"""The seed chain of a match: committed before the deal, revealed epoch by epoch (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Callable

from sixledger.engine.chance import Chance
from sixledger.engine.errors import EpochSealed
from sixledger.ledger import hashing


class SeedMismatch(ValueError):
    """A revealed element does not lead to the commitment."""


class SeedChain:
    """The elements ch[0] … ch[top] of the chain that are known here. ch[0] is the commitment C."""

    __slots__ = ("_chance", "_links", "match_id")

    def __init__(self, match_id: bytes, commitment: bytes) -> None:
        """What everybody knows before the first reveal."""
        self.match_id = match_id
        self._links = [commitment]
        self._chance: tuple[bytes, Chance] | None = None

    @classmethod
    def from_secret(cls, root_secret: bytes, match_id: bytes, epochs: int) -> SeedChain:
        """The whole chain, from the root secret S (32 bytes) and the number of epochs N."""
        links = [hashing.chain_root(root_secret, match_id, epochs)]
        for epoch in range(epochs, 0, -1):
            links.append(hashing.chain_step(match_id, epoch, links[-1]))
        links.reverse()
        chain = cls(match_id, links[0])
        chain._links = links
        return chain

    @property
    def commitment(self) -> bytes:
        """C, 32 bytes."""
        return self._links[0]

    @property
    def known(self) -> int:
        """The highest epoch whose element is known; 0: only the commitment."""
        return len(self._links) - 1

    def element(self, epoch: int) -> bytes:
        """ch[epoch], 32 bytes. Raises EpochSealed."""
        if not 0 <= epoch < len(self._links):
            raise EpochSealed(epoch)
        return self._links[epoch]

    def reveal(self, epoch: int, element: bytes) -> None:
        """Learn ch[epoch] and all before it. Raises SeedMismatch if it does not lead to what is known."""
        links = [element]
        for number in range(epoch, self.known, -1):
            links.append(hashing.chain_step(self.match_id, number, links[-1]))
        expected = self.element(min(epoch, self.known))
        if len(element) != len(expected) or links[-1] != expected:
            raise SeedMismatch(f"the revealed seed of epoch {epoch} does not lead to the commitment")
        self._links += reversed(links[:-1])

    def copy(self) -> SeedChain:
        """An independent copy."""
        chain = SeedChain(self.match_id, self.commitment)
        chain._links = self._links.copy()
        return chain

    def chance(self, entropy: bytes) -> Chance:
        """Chance with the epochs known here, mixed with X (32 bytes)."""
        if self._chance is None or self._chance[0] != entropy:
            self._chance = (entropy, Chance(self._key_of(entropy)))
        return self._chance[1]

    def _key_of(self, entropy: bytes) -> Callable[[int], bytes]:
        keys: dict[int, bytes] = {}

        def key_of(epoch: int) -> bytes:
            if epoch not in keys:
                keys[epoch] = hashing.epoch_key(self.element(epoch), self.match_id, epoch, entropy)
            return keys[epoch]

        return key_of
