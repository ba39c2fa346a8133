"""Read what people write in `eval/`: cases and settings."""
