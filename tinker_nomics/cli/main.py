"""The command `tinker-nomics`: finds the subcommand, and turns the package's errors into one clear line."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from .early_interrupt import ending_at_once

# name -> (module, help); a module is imported only when its command is called, and JAX only when that command runs
COMMANDS = {
    "estimate": ("estimate_command", "what a run costs on Tinker and on own GPUs, side by side"),
    "sensitivity": ("sensitivity_command", "what moves that cost, by how much, and where the choice flips"),
    "monte-carlo": ("monte_carlo_command", "the cost under uncertainty: percentiles, chance of exceeding a budget"),
    "sweep": ("sweep_command", "the cost over a grid: every point, or the cheapest, the front, the winner by group"),
    "merge": ("merge_command", "parts of one Monte Carlo or sweep, computed anywhere, as one result"),
    "sobol": ("sobol_command", "how much of the cost's variance each uncertain input explains"),
    "config": ("config_command", "the effective configuration of a run, as TOML"),
    "catalog": ("catalog_command", "chips, models, prices and recipes, each row with its source"),
    "decode": ("decode_command", "what one decoded token costs, read from a checkpoint's header"),
    "header": ("header_command", "what a checkpoint's header says: sizes, types, caches"),
}
PROGRAM = "tinker-nomics"
_LINES = "\n\t"
_STOPPED = f"{PROGRAM}: stopped"


class Parser(argparse.ArgumentParser):
    """A parser whose complaint about a flag names the nearest ones."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n  try: {self.prog} --help\n")

    def parse_strictly(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The parsed arguments; an unknown one ends the program, naming the three flags most like it."""
        args, unknown = self.parse_known_args(arguments)
        if unknown:
            from ..parameters import nearest

            flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            first = unknown[0]
            hint = (
                f"; the nearest are {', '.join(nearest(first.split('=')[0], flags))}" if first.startswith("-") else ""
            )
            self.error(f"unrecognized argument {first}{hint}")
        return args


def _top_help() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        f"usage: {PROGRAM} COMMAND [...]",
        "",
        "What a reinforcement-learning run costs, before the money is spent.",
        "",
    ]
    lines += [f"  {name.ljust(width)}  {text}" for name, (_, text) in COMMANDS.items()]
    lines += [
        "",
        f"  {PROGRAM} COMMAND --help tells a command's flags; {PROGRAM} --version the version.",
        f"  try: {PROGRAM} estimate math_rl --model Qwen3-8B --chip h100-sxm --gpus 8",
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 the answer is a refusal, 2 bad input."""
    if sys.stderr is None:  # closed by the caller: print would then write to standard output
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the program runs
    if sys.stdout is None:  # also closed: what is printed would vanish without a word
        print(f"{PROGRAM}: error: standard output is closed; leave it open, or send it to a file", file=sys.stderr)
        return 2
    try:
        with ending_at_once(_STOPPED):
            status = _main(list(sys.argv[1:] if argv is None else argv))
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # the reader of a pipe (head, less) has seen enough; Python would complain once more when it closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # what is written to is full
        print(f"{PROGRAM}: error: {_told(error)}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except KeyboardInterrupt:
        return _stopped()


def _stopped() -> int:
    print(_STOPPED, file=sys.stderr)
    return 130


def _told(error: OSError) -> str:
    """What cannot be done, of which file; files that are written name themselves, and standard output does not."""
    if error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT):
        return f"standard output cannot be written to: {error.strerror}"
    return str(error)


def _main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_top_help())
        return 0
    if arguments[0] in ("--version", "-V"):
        from .. import __version__

        print(f"{PROGRAM} {__version__}")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        from ..parameters import nearest

        kind = "flag" if name.startswith("-") else "command"
        print(
            f"{PROGRAM}: error: no {kind} {name!r}; the nearest commands are {', '.join(nearest(name, COMMANDS))}\n"
            f"  try: {PROGRAM} --help",
            file=sys.stderr,
        )
        return 2
    return _run(name, arguments[1:])


def _run(name: str, arguments: Sequence[str]) -> int:
    module, text = COMMANDS[name]
    command = import_module(f"{__package__}.{module}")
    parser = Parser(
        prog=f"{PROGRAM} {name}",
        description=text[0].upper() + text[1:] + ".",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    try:
        args = parser.parse_strictly(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    from ..errors import TinkerNomicsError
    from ..printable import printable

    try:
        return int(command.run(args))
    except BrokenPipeError:
        raise
    except TinkerNomicsError as error:
        print(f"{PROGRAM}: error: {printable(str(error), keep=_LINES)}", file=sys.stderr)
        return 2
    except OSError as error:  # of a file that is written, or of the machine
        print(f"{PROGRAM}: error: {printable(_told(error), keep=_LINES)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _stopped()
