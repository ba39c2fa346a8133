"""Ask models through the Messages API of Anthropic, and of servers that speak the same format."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pytest_recall.files.wording import one_line
from pytest_recall.models.model import Ask, ModelError, StopReason, system_of
from pytest_recall.models.sdk import NO_KEY, SdkModel

_STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class AnthropicModel(SdkModel):
    """A model behind the Messages API."""

    package = "anthropic"
    base_error = "AnthropicError"
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    takes = ("schema", "temperature", "max_tokens")

    def _base_url(self) -> str | None:
        return self._selector.url or self._environ.get("ANTHROPIC_BASE_URL") or None

    def _make(self, module: Any) -> Any:
        base = self._base_url()
        key, token = (self._environ.get(name, "").strip() for name in self.keys)
        if not key and not token and self._selector.url:
            key = NO_KEY
        # Without either the SDK looks for a login of its own, in a profile or a federation.
        found = {} if not key and not token else {"api_key": key} if key else {"auth_token": token}
        try:
            client = module.Anthropic(**found, base_url=base, max_retries=0)
        except module.AnthropicError as error:
            said = one_line(self._safe(str(error)), 160)
            raise ModelError(f"there is no key, and no login ({said}); set ANTHROPIC_API_KEY") from error
        if not (client.api_key or client.auth_token or getattr(client, "credentials", None)):
            client.close()
            raise ModelError("there is no key; set ANTHROPIC_API_KEY")
        return client

    def _send(self, client: Any, ask: Ask, takes: Collection[str], timeout: float) -> Any:
        body: dict[str, Any] = {}
        if system := system_of(ask, in_words="schema" not in takes):
            body["system"] = system
        # Of these the SDK has no argument in all releases; the API takes them from any.
        more: dict[str, Any] = {}
        if ask.schema is not None and "schema" in takes:
            more["output_config"] = {"format": {"type": "json_schema", "schema": dict(ask.schema)}}
        if "temperature" in takes:
            more["temperature"] = ask.temperature
        return client.messages.with_raw_response.create(
            model=self._selector.target,
            messages=[message._asdict() for message in ask.messages],
            max_tokens=ask.max_tokens,
            timeout=timeout,
            extra_body=more,
            **body,
        )

    def _read(self, plain: Any) -> tuple[str, StopReason]:
        texts = [block["text"] for block in plain["content"] if block["type"] == "text"]
        return "".join(texts), _STOPS.get(plain.get("stop_reason"), "end")

    def _refuse(self, name: str, spelling: str) -> bool:
        """Go on without anything but the limit, which this API requires."""
        return name != "max_tokens" and super()._refuse(name, spelling)
