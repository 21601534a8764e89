"""Entry point of ``python -m benchmarks.deep``."""

from benchmarks.deep.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
