"""`python -m tinker_nomics` is the command line."""

from .cli.main import main

raise SystemExit(main())
