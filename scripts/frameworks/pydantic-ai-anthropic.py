"""Pydantic AI with Claude."""

# /// script
# dependencies = ["pydantic-ai-slim[anthropic]"]
# [tool.check-frameworks]
# agent = "pydantic-ai"
# setups = []
# environment = { MODEL = "anthropic:claude-sonnet-4-5" }
# ///
