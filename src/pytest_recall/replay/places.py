"""Parse the host and port of a URL, and tell whether the host is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def place_of(url: str) -> tuple[str, int | None]:
    """Return the host and the port of a URL; nothing for what is none, which is for its client to say."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", None


def without_query(url: str) -> str:
    """Return the part of a URL that names what is asked, without credentials; empty for what is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    path = parts.path or ("/" if parts.scheme in ("http", "https") else "")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"


def is_address(host: str) -> bool:
    """Return whether a host is given by its address, with or without the zone of one."""
    return _address(host) is not None


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine for certain: `localhost`, a name below it, or an address of loopback.

    An address that stands for all of the machine's own, such as `0.0.0.0`, connects to it as well.
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    return address is not None and (address.is_loopback or address.is_unspecified)


def names_of(host: str) -> tuple[str, ...]:
    """Return the names by which a host is found in a list of hosts: its own, then `localhost` for this machine."""
    name = host.lower()
    return (name, "localhost") if name != "localhost" and is_this_machine(name) else (name,)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
