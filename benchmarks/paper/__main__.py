"""Entry point of ``python -m benchmarks.paper``."""

from benchmarks.paper.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
