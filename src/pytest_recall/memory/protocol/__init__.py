"""Protocol: the gRPC service of a memory system, and what protoc makes of it."""
