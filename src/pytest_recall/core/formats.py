"""Formats: what the keys, tokens and webhooks of known vendors look like.

The expressions are our own. What they say (marks, alphabets, lengths) is what the vendors document, compared with
the rules of gitleaks (https://github.com/gitleaks/gitleaks, MIT), which names more of them; lengths are the least
that is issued, as vendors lengthen their keys. Keys without a mark, such as those of Azure, Mistral and Cohere, are
known only by the name beside them (see `core.credentials`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Format(NamedTuple):
    """What a kind of token is called, the mark that it begins with, and what follows that.

    `before` must stand in front of the mark, within `REACH` characters; by default it must be no part of a word.
    """

    said: str
    mark: str
    rest: str
    before: str = ""


REACH = 48
_ALONE = r"(?![\w/+=-])"
_HEX_32 = r"[0-9a-f]{32}" + _ALONE

_FORMATS = (
    # Models and what stands around them
    Format("an Anthropic key", "sk-ant-", r"[\w-]{20,}"),
    Format("an OpenRouter key", "sk-or-", r"[\w-]{20,}"),
    Format("an OpenAI key", "sk-", r"(?!ant-|or-)[\w-]{20,}"),
    Format("a Google key", "AIza", r"[\w-]{35}" + _ALONE),
    Format("a Google token", "ya29.", r"[\w-]{20,}"),
    Format("a Google client secret", "GOCSPX-", r"[\w-]{20,}"),
    Format("a Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    Format("a Groq key", "gsk_", r"[A-Za-z0-9]{32,}"),
    Format("an xAI key", "xai-", r"[A-Za-z0-9]{32,}"),
    Format("an NVIDIA key", "nvapi-", r"[\w-]{32,}"),
    Format("a Cerebras key", "csk-", r"[a-z0-9]{32,}"),
    Format("a Fireworks key", "fw_", r"[A-Za-z0-9]{20,}" + _ALONE),
    Format("a Perplexity key", "pplx-", r"[A-Za-z0-9]{32,}"),
    Format("a Replicate token", "r8_", r"[A-Za-z0-9]{37,}"),
    Format("a LangSmith key", "lsv2_", r"[ps][kt]_\w{32,}"),
    Format("a Pinecone key", "pcsk_", r"\w{40,}"),
    Format("a Tavily key", "tvly-", r"[\w-]{20,}"),
    Format("an E2B key", "e2b_", r"[0-9a-f]{40,}"),
    # Clouds and databases
    *(Format("an AWS key id", mark, r"[A-Z2-7]{16}" + _ALONE) for mark in ("AKIA", "ASIA")),
    Format("an AWS Bedrock key", "ABSK", r"[\w+/]{60,}=*"),
    Format("an Azure client secret", "Q~", r"[\w.~-]{31,34}" + _ALONE, before=r"(?<![\w.~])[\w.~]{3}\d"),
    Format("a Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d)?" + _ALONE),
    *(Format("a DigitalOcean token", f"do{kind}_v1_", r"[0-9a-f]{64}") for kind in "opr"),
    Format("a Supabase token", "sbp_", r"[0-9a-f]{40}"),
    Format("a Supabase key", "sb_secret_", r"[\w-]{20,}"),
    Format("a PlanetScale credential", "pscale_", r"(?:tkn|oauth|pw)_[\w=.-]{32,}"),
    Format("a Heroku key", "HRKU-", r"[\w-]{36,}"),
    Format("a Vault token", "hvs.", r"[\w-]{24,}"),
    Format("a Doppler token", "dp.", r"(?:pt|st\.[\w-]{1,40}|sa|ct)\.[A-Za-z0-9]{40,}"),
    Format("a Terraform token", ".atlasv1.", r"[\w=-]{60,}", before=r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}"),
    Format("an age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
    # Code, packages and work
    *(Format("a GitHub token", f"gh{kind}_", r"[A-Za-z0-9]{36,}") for kind in "pousr"),
    Format("a GitHub token", "github_pat_", r"\w{22,}"),
    *(
        Format("a GitLab token", f"gl{kind}-", r"[\w-]{20,}(?:\.[\w-]{6,})*")
        for kind in ("pat", "ptt", "dt", "rt", "soat", "cbt")
    ),
    Format("a PyPI token", "pypi-", r"[\w-]{50,}"),
    Format("an npm token", "npm_", r"[A-Za-z0-9]{36,}"),
    Format("a Docker token", "dckr_pat_", r"[\w-]{20,}"),
    Format("an Atlassian token", "ATATT3", r"[\w=-]{60,}"),
    Format("a Linear key", "lin_api_", r"[A-Za-z0-9]{32,}"),
    Format("a Notion token", "ntn_", r"[A-Za-z0-9]{40,}"),
    Format("a Figma token", "figd_", r"[\w-]{36,}"),
    Format("a Postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    Format("a Sentry token", "sntrys_", r"[\w+/=-]{60,}"),
    Format("a Sentry token", "sntryu_", r"[0-9a-f]{64}"),
    *(Format("a Grafana token", mark, r"[\w=+/-]{32,}") for mark in ("glsa_", "glc_")),
    Format("a New Relic key", "NRAK-", r"[A-Z0-9]{27}"),
    # Mail, messages, money
    Format("a Slack token", "xox", r"[abeoprs]-[\w-]{10,}"),
    Format("a Slack token", "xapp-", r"\d-[\w-]{30,}"),
    Format("a Slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/+-]{24,}"),
    Format("a Discord webhook", "/webhooks/", r"\d{16,20}/[\w-]{40,}", before=r"/api(?:/v\d{1,2})?"),
    Format("a Teams webhook", ".webhook.office.com/", r"webhookb2/[\w@/-]{60,}", before=r"\w"),
    Format("a Telegram token", ":A", r"[\w-]{34}(?![\w-])", before=r"(?<![0-9A-Za-z])(?:bot)?\d{8,10}"),
    Format("a SendGrid key", "SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),
    Format("a Mailgun key", "key-", _HEX_32),
    Format("a Mailchimp key", "-us", r"\d{1,2}(?!\w)", before=r"(?<![0-9A-Za-z])[0-9a-f]{32}"),
    Format("a Brevo key", "xkeysib-", r"[0-9a-f]{64}-\w{16}"),
    Format("a Twilio key", "SK", _HEX_32),
    *(
        Format("a Stripe key", f"{kind}_{mode}_", r"\w{16,}")
        for kind in ("sk", "rk")
        for mode in ("live", "test", "prod")
    ),
    Format("a Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,}"),
    *(Format("a Shopify token", f"shp{kind}_", r"[0-9a-fA-F]{32}") for kind in ("at", "ca", "pa", "ss")),
    *(Format("a Square token", f"sq0{kind}-", r"[\w-]{22,}") for kind in ("atp", "csp")),
    Format("a JSON web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
)


class Compiled(NamedTuple):
    """A format whose expressions are compiled: `token` begins with the mark, which is what makes a search fast."""

    said: str
    mark: str
    token: re.Pattern[str]
    before: re.Pattern[str] | None


@cache
def formats() -> tuple[Compiled, ...]:
    """Return the formats. They are compiled when something is about to be written, which in most runs is never."""
    return tuple(
        Compiled(
            said,
            mark,
            # That no word goes before it is looked up behind the mark.
            re.compile(re.escape(mark) + ("" if before else rf"(?<![\w-]{re.escape(mark)})") + rest, re.ASCII),
            re.compile(before + r"\Z", re.ASCII) if before else None,
        )
        for said, mark, rest, before in _FORMATS
    )
