"""`python -m graphc`, for where the `graphc` command is not on the path."""

from graphc.cli import main

raise SystemExit(main())
