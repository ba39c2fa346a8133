"""Ask models through chat completions: of OpenAI, of Azure, and of servers that speak the same format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pytest_recall.files.wording import one_line
from pytest_recall.models.model import Ask, ModelError, StopReason, system_of
from pytest_recall.models.sdk import NO_KEY, SdkModel

AZURE_VERSION = "2024-10-21"
"""The version of Azure's API, unless AZURE_OPENAI_API_VERSION names another."""
_STOPS: dict[str, StopReason] = {"length": "length", "content_filter": "refused"}
# The younger name first: newer models of OpenAI refuse the older, and other servers know no other.
_LIMITS = ("max_completion_tokens", "max_tokens")


class OpenAIModel(SdkModel):
    """A model behind the chat completions API."""

    package = "openai"
    base_error = "OpenAIError"
    keys = ("OPENAI_API_KEY",)
    takes = ("schema", "temperature", "seed", "max_tokens")
    _limit: str | None = None
    _listed: str | None = None

    def _base_url(self) -> str | None:
        return self._selector.url or self._environ.get("OPENAI_BASE_URL") or None

    def _make(self, module: Any) -> Any:
        base = self._base_url()
        key = self._key() or (base and NO_KEY)
        if not key:
            raise ModelError(
                "there is no key; set OPENAI_API_KEY, or name a server that needs none, as in openai:ID;http://HOST/v1"
            )
        return module.OpenAI(api_key=key, base_url=base, max_retries=0)

    def _send(self, client: Any, ask: Ask, takes: Collection[str], timeout: float) -> Any:
        system = system_of(ask, in_words="schema" not in takes)
        messages = [{"role": "system", "content": system}] if system else []
        messages += [message._asdict() for message in ask.messages]
        body: dict[str, Any] = {name: getattr(ask, name) for name in ("temperature", "seed") if name in takes}
        # Before 1.45 the SDK has no argument of the younger name.
        more = {self._spelling(): ask.max_tokens} if "max_tokens" in takes else {}
        if ask.schema is not None and "schema" in takes:
            wanted = {"name": "reply", "schema": dict(ask.schema), "strict": _is_strict(ask.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        model = self._selector.target or self._only_model(client, timeout)
        return client.chat.completions.with_raw_response.create(
            model=model, messages=messages, timeout=timeout, extra_body=more, **body
        )

    def _read(self, plain: Any) -> tuple[str, StopReason]:
        choice = plain["choices"][0]
        message = choice["message"]
        if message.get("refusal"):
            return str(message["refusal"]), "refused"
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part.get("text") or "" for part in content)
        if content is not None and not isinstance(content, str):
            raise TypeError(f"content is {type(content).__name__}")
        return content or "", _STOPS.get(choice.get("finish_reason"), "end")

    def _spelling(self) -> str:
        vendor = self._selector.kind == "azure" or self.seller == "openai"
        return self._limit or _LIMITS[not vendor]

    def _refuse(self, name: str, spelling: str) -> bool:
        """Try the other name of the limit, before there is none."""
        if name != "max_tokens":
            return super()._refuse(name, spelling)
        if self._spelling() == spelling:
            if self._limit is not None:
                return super()._refuse(name, spelling)
            self._limit = next(other for other in _LIMITS if other != spelling)
        return True  # Here, or in another thread since this one sent it, the name has changed.

    def _only_model(self, client: Any, timeout: float) -> str:
        """Return the model of an endpoint that has one."""
        if self._listed is None:
            names = [str(model.id) for model in client.models.list(timeout=timeout).data or ()]
            if len(names) != 1:
                shown = one_line(", ".join(names[:10])) or "none"
                raise ModelError(f"which model? write {self._base_url()}#ID with one of those listed there: {shown}")
            self._listed = names[0]
        return self._listed


class AzureModel(OpenAIModel):
    """A deployment at Azure OpenAI."""

    keys = ("AZURE_OPENAI_API_KEY",)

    def _base_url(self) -> str | None:
        return self._selector.url or self._environ.get("AZURE_OPENAI_ENDPOINT") or None

    def _make(self, module: Any) -> Any:
        endpoint, key = self._base_url(), self._key()
        given = {"AZURE_OPENAI_API_KEY": key, "AZURE_OPENAI_ENDPOINT": endpoint}
        if missing := [name for name, value in given.items() if not value]:
            raise ModelError(f"there is no {' and no '.join(missing)}; set what is missing in the environment")
        return module.AzureOpenAI(
            api_key=key,
            azure_endpoint=endpoint,
            api_version=self._environ.get("AZURE_OPENAI_API_VERSION") or AZURE_VERSION,
            azure_deployment=self._selector.target,
            max_retries=0,
        )


def _is_strict(schema: Any) -> bool:
    """Return whether OpenAI can hold a reply to the schema: every object has to name and require all that it has."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, Mapping):
        names = set(properties) if isinstance(properties, Mapping) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(map(_is_strict, schema.values()))
