"""Name the commands of `recall bench`, from a persona to the pictures of a run."""

from __future__ import annotations

BENCH: tuple[str, ...] = (
    *(
        "horizon.commands.authoring",
        "cli.bench_generate",
        "cli.bench_generate_conversations",
        "cli.bench_generate_tool_calls",
    ),
    *(
        "horizon.commands.passes",
        "cli.bench_check",
        "cli.bench_lint",
        "horizon.commands.checks",
        "horizon.commands.run",
    ),
    *(
        "cli.bench_rebuild",
        "cli.bench_merge",
        "cli.bench_rescore",
        "cli.bench_heatmap",
        "cli.bench_report",
        "horizon.commands.reports",
    ),
)
"""The modules of its commands, in the order of a benchmark."""
BENCH_DETAILS = """\
the way through:
  recall bench create-persona       write a persona and its story
  recall bench generate             write its days
  recall bench check                whether persona, story and days fit together
  recall bench generate-qa          write the questions about them
  recall bench lint                 what is wrong with the questions, by their words
  recall bench verify               whether the days support the references, by a model
  recall bench run                  tell the days to a memory system, and ask it
  recall bench rescore              whether the numbers of its files are what the answers come to
  recall bench heatmap              what it came to, as pictures
  recall bench report               the same, with what chance may have done
  recall bench audit                look at answers again, and find where it went wrong

Each command takes --help.
"""
