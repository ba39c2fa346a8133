"""Render self-contained HTML pages, from templates and assets that are built beforehand."""
