"""The code hosts that the package knows: what their jobs say, and clients of their APIs."""
