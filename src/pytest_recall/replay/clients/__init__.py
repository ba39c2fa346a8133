"""Put the player in front of each HTTP client."""
