"""The service under test: sorts reviews of a restaurant, in a process of its own. Any language would do."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

from fastapi import FastAPI, HTTPException
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

MODEL = os.environ.get("MODEL", "qwen2.5-coder-1.5b-instruct")
SYSTEM = (
    "You sort reviews of a restaurant. Give the topics that a review speaks of, each once, and its sentiment: "
    "positive for praise, negative for complaints, mixed if it has both."
)
BUILD = hashlib.sha256(Path(__file__).read_text(encoding="utf-8").encode()).hexdigest()[:12]


class Review(BaseModel):
    """What is sent."""

    text: str = Field(min_length=1)
    language: str = "en"


class Sorted(BaseModel):
    """What is returned."""

    sentiment: Literal["positive", "negative", "mixed"]
    topics: list[Literal["food", "service", "price", "place"]] = Field(min_length=1, max_length=3)


app = FastAPI()
client = AsyncOpenAI()


@app.post("/sort")
async def sort(review: Review, build: str = BUILD) -> dict[str, object]:
    """Sort one review. Whoever expects another build of the service is told so."""
    if build != BUILD:
        raise HTTPException(409, f"this is build {BUILD}")
    if review.language != "en":
        raise HTTPException(422, f"no reviews in {review.language!r}")
    completion = await client.chat.completions.parse(
        model=MODEL,
        messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": review.text}],
        response_format=Sorted,
        temperature=0,
        max_tokens=60,
    )
    found, used = completion.choices[0].message.parsed, completion.usage
    assert found is not None
    usage = {} if used is None else {"input_tokens": used.prompt_tokens, "output_tokens": used.completion_tokens}
    return {**found.model_dump(), "usage": usage}
