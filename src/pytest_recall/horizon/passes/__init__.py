"""The passes that write a persona, its days and questions; each runs by itself and can be resumed."""
