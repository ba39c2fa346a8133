"""Pydantic AI with Gemini, whose calls of tools have no ids."""

# /// script
# dependencies = ["pydantic-ai-slim[google]"]
# [tool.check-frameworks]
# agent = "pydantic-ai"
# setups = []
# environment = { MODEL = "google:gemini-2.5-flash" }
# ///
