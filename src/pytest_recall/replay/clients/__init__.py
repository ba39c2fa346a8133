"""HTTP clients: how the player is put in front of each of them."""
