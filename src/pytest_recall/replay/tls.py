"""TLS: a context that reads certificates when a connection needs them, which in a replay is mostly never."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any


class LazyContext(ssl.SSLContext):
    """Stands for the context that `make` gives, and makes it at the first connection."""

    _make: Callable[[], ssl.SSLContext]
    _real: ssl.SSLContext | None
    _protocols: list[str] | None

    @classmethod
    def standing_for(cls, make: Callable[[], ssl.SSLContext]) -> LazyContext:
        """Return a context that stands for what `make` gives."""
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context._make, context._real, context._protocols = make, None, None
        return context

    def set_alpn_protocols(self, alpn_protocols: Any) -> None:
        self._protocols = list(alpn_protocols)
        super().set_alpn_protocols(self._protocols)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> Any:
        return self._made().wrap_socket(*args, **kwargs)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> Any:
        return self._made().wrap_bio(*args, **kwargs)

    def _made(self) -> ssl.SSLContext:
        if self._real is None:
            self._real = self._make()
            if self._protocols is not None:
                self._real.set_alpn_protocols(self._protocols)
        return self._real
