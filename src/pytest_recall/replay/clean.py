"""Clean: a call as it may be written down, or why it must not be."""

from __future__ import annotations

from pytest_recall.core.encodings import MAX_PLAIN_BYTES, decoded, package_to_install, unpacks_too_far
from pytest_recall.core.errors import RecallError
from pytest_recall.core.exchange import Exchange
from pytest_recall.core.matching import plain_body
from pytest_recall.core.redact import Redactor, is_form


def cleaned(exchange: Exchange, redactor: Redactor) -> Exchange:
    """Return the call without the values of known secrets, its key as it was.

    Raises RecallError, in words that follow the name of the call, for one that cannot be searched
    or still holds what looks like a key.
    """
    # Only what is written down is searched by so much.
    from pytest_recall.core.credentials import suspicious
    from pytest_recall.core.unwrapped import in_url, pairs, spelled

    request, response, failure = exchange.request, exchange.response, exchange.failure
    request = redactor.request(request)
    asked = plain_body(request).decode("utf-8", "replace")
    texts = [in_url(request.url), *(value for _, value in request.headers)]
    texts.append(pairs(asked) if is_form(request.headers) else asked)
    if response is not None:
        response = redactor.response(response)
        plain = decoded(response.headers, response.chunks)
        if plain is None:
            if unpacks_too_far(response.headers, response.chunks):
                raise RecallError(
                    f"has an answer that is larger than {MAX_PLAIN_BYTES >> 20} MB when it is unpacked, which is not"
                    " searched for secrets; let the agent ask for less at once"
                )
            package = package_to_install(response.headers)
            raise RecallError(
                f"has an answer in the encoding {response.header('content-encoding')!r}, which cannot be searched for"
                f" secrets; {f'install {package}, or ' if package else ''}let the client ask for gzip or none"
            )
        said = b"".join(plain).decode("utf-8", "replace")
        together = list(spelled(said))
        if any(redactor.text(text) != text for text in together):
            response = redactor.across_events(response)
            said = b"".join(decoded(response.headers, response.chunks) or ()).decode("utf-8", "replace")
            together = list(spelled(said))
        texts += [*(value for _, value in response.headers), said, *together]
    if failure is not None:
        failure = redactor.failure(failure)
        texts.append(failure.message)
    found = suspicious("\n".join(texts))
    if found:
        raise RecallError(
            f"holds what looks like {', '.join(sorted(set(found)))}; set the variable that holds it,"
            " or name it under `secrets`"
        )
    return exchange._replace(request=request, response=response, failure=failure)
