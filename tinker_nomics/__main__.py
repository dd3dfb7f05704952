"""`python -m tinker_nomics` is the command line."""

try:
    from .cli.main import main

    status = main()
except KeyboardInterrupt:  # before the command line could say so itself
    status = 130
raise SystemExit(status)
