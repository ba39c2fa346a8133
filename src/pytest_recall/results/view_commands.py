"""The command `recall view`: serve the page of a run while the run goes on."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest_recall.cli.common import Commands, command, place_of, whole
from pytest_recall.files.errors import RecallError, sentence_of
from pytest_recall.results.report_commands import add_runs, bench_folders, check_runs, horizon_files, view_of
from pytest_recall.trials.journal import NAME as JOURNAL

VIEW_DETAILS = """\
Serves the page of `recall report` on 127.0.0.1, reachable from this machine only, until Ctrl+C. While the run goes on
the page shows what has come; `latest` is whatever run is the newest then.

  recall view --open
  recall view --once                the summary of the page, for a log or a script

RUN may also be the folder of a long-horizon run. Before its first checkpoint that says how many questions are answered.
"""
HOST = "127.0.0.1"


def add_view(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "view", "serve the page of a run, updated while it runs", run_view, VIEW_DETAILS)
    add_runs(parser)
    parser.add_argument(
        "--port",
        type=whole("a port from 0 to 65535", 0, 65_535),
        default=0,
        metavar="N",
        help="the port (default: any that is free)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument(
        "--once", action="store_true", help="serve nothing: print how far the run has come, in lines of text"
    )


def run_view(args: argparse.Namespace) -> int:
    """Run the command."""
    check_runs(args)
    from pytest_recall.horizon.runs import UnreachedError

    try:
        said = view_of(args).lines  # What is wrong with the arguments is said here, and not in a browser.
    except UnreachedError as error:
        said = partial(list, error.messages)
    if args.once:
        if args.open or args.port:
            raise RecallError("--once serves no page, so it takes neither --open nor --port; remove the other option")
        print("\n".join(said()).rstrip())
        return 0
    try:
        server = Server(args)
    except OSError as error:
        raise RecallError(f"port {args.port}: {error.strerror}; give another --port, or none") from None
    with server:
        print(f"{server.address}  (Ctrl+C ends it)", flush=True)
        if args.open:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


class Server(ThreadingHTTPServer):
    """Serves one page, and the stamp that tells whether there is a newer one."""

    daemon_threads = True

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__((HOST, args.port), _Handler)
        self.args = args

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of what went wrong here, and not of a reader who left before the page was there."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def stamp(self) -> str:
        """Return what changes with the journals behind the page. Raises RecallError or OSError."""
        journals = horizon_files(self.args) or [one / JOURNAL for one in bench_folders(self.args)]
        if not journals:
            find = place_of(self.args).artifacts.find
            journals = [find(name) / JOURNAL for name in self.args.runs or ["latest"]]
        return "-".join(f"{path.parent.name}:{path.stat().st_size}" for path in journals)


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        """Answer with the page or its stamp."""
        # A page from elsewhere may have a name that leads here: it would be let in under that name.
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}:
            self._send(403, "text/plain", "only for this machine")
            return
        try:
            if self.path == "/stamp":
                self._send(200, "text/plain", self.server.stamp())
            elif self.path == "/":
                stamp = self.server.stamp()
                self._send(200, "text/html", view_of(self.server.args).page(stamp))
            else:
                self._send(404, "text/plain", "there is only one page here: /")
        except (RecallError, OSError) as error:
            # A journal may be there whose first line is still being written.
            self._send(503, "text/plain", f"recall: {sentence_of(error)}", ("Refresh", "2"))

    def _send(self, status: int, kind: str, text: str, *more: tuple[str, str]) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            *more,
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a line every two seconds helps no reader."""
