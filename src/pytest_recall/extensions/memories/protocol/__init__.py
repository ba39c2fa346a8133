"""The gRPC service of a memory system, and the descriptor that protoc compiles from it."""
