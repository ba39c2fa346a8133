"""LangGraph with the tracing of LangSmith on."""

# /// script
# [tool.check-frameworks]
# agent = "langgraph"
# setups = []
# environment = { LANGSMITH_TRACING = "true", LANGSMITH_API_KEY = "no-key-of-langsmith" }
# ///
