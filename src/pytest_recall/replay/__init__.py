"""Record the calls of an agent to its models, and replay them."""
