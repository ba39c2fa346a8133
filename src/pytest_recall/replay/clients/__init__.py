"""Put the player in front of each HTTP client."""

from __future__ import annotations

CLIENTS = "httpx, aiohttp, requests, urllib3, botocore, tornado, lm15, httplib2 and http.client"
"""Those whose calls are recorded and replayed, as messages name them."""
