"""Report pages: self-contained HTML, from templates and from assets that are built beforehand."""
