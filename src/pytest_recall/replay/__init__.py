"""Record and replay: what stands between an agent and the model that it calls."""
