"""Record and replay: what stands between an agent and its upstream."""
