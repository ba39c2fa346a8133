"""The agent: mail to a web shop becomes a typed ticket, with Pydantic AI."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.models.openai import OpenAIChatModel

MODEL = os.environ.get("MODEL", "qwen2.5-coder-1.5b-instruct")


class Ticket(BaseModel):
    """What a mail is about."""

    team: Literal["delivery", "billing", "returns"] = Field(
        description="delivery: a parcel is late or lost; billing: payments, invoices; returns: to send something back"
    )
    order: str = Field(description="the number of the order as the mail has it; empty if the mail has none")
    angry: bool = Field(description="whether the customer is angry")


@dataclass
class Shop:
    """What the agent may look at."""

    orders: frozenset[str]


def desk(model: str = MODEL) -> Agent[Shop, Ticket]:
    """Return the agent that sorts the mail."""
    agent = Agent(
        OpenAIChatModel(model),
        deps_type=Shop,
        output_type=Ticket,
        instructions="You sort the mail of a web shop. Fill in the ticket from the mail alone.",
        model_settings={"temperature": 0, "max_tokens": 120},
        retries=2,
    )

    @agent.output_validator
    def known_order(ctx: RunContext[Shop], ticket: Ticket) -> Ticket:
        if ticket.order and ticket.order not in ctx.deps.orders:
            raise ModelRetry(f"There is no order {ticket.order!r}. Copy its number from the mail, or leave it empty.")
        return ticket

    return agent
