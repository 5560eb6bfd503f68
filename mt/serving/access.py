"""Who may ask, and how often: API keys, of which only hashes are kept, and a limit on requests per minute."""

import hashlib
import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Iterable

from mt.errors import UserError

_MOST_CLIENTS = 10_000  # that are remembered; the one that asked longest ago is forgotten first


class ApiKeys:
    """The SHA-256 hashes of the keys that are accepted. Keys are random, so that a fast hash is enough."""

    def __init__(self, lines: Iterable[str], *, origin: str) -> None:
        """Take a hash in hexadecimal from each line; what follows it is a note. Raises UserError."""
        self._hashes: list[bytes] = []
        for number, line in enumerate(lines, start=1):
            digest, *_ = line.split(maxsplit=1) or [""]
            if digest and not digest.startswith("#"):
                if not re.fullmatch("[0-9a-fA-F]{64}", digest):
                    raise UserError(f"{origin}, line {number}: expected the SHA-256 of a key, 64 hexadecimal digits")
                self._hashes.append(bytes.fromhex(digest))

    def accept(self, key: str) -> bool:
        """Whether the key is known; takes as long for any key."""
        digest = hashlib.sha256(key.encode("utf-8", "replace")).digest()
        return any([hmac.compare_digest(digest, known) for known in self._hashes])  # noqa: C419  compares all of them


class RateLimit:
    """At most `per_minute` requests of a client in a minute, as many at once; None allows any number."""

    def __init__(self, per_minute: int | None) -> None:
        self._per_minute = per_minute
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    def allow(self, client: str) -> bool:
        """Count a request and return whether it is within the limit."""
        if self._per_minute is None:
            return True
        client, now = hashlib.sha256(client.encode("utf-8", "replace")).hexdigest(), time.monotonic()
        left, before = self._clients.pop(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - before) * self._per_minute / 60)
        allowed = left >= 1
        self._clients[client] = (left - 1 if allowed else left, now)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return allowed
