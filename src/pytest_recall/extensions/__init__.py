"""What the package ships on its own public interface, `pytest_recall.ext`; the core knows none of it by name."""
