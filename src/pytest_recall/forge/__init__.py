"""Code hosts: comments, issues and statuses over their REST APIs, one module for each host."""
