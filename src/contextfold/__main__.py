"""`python -m contextfold`: the command line."""

from contextfold.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
