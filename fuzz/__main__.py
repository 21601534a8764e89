"""``python -m fuzz``: each target for a while."""

from __future__ import annotations

import argparse
import time
import traceback

from fuzz.running import TARGETS, run, say


def main() -> int:
    """Return how many targets have found something wrong."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    words = "for each target (default: %(default)s)"
    parser.add_argument("--seconds", type=float, default=30.0, help=words)
    parser.add_argument("--only", choices=TARGETS, nargs="+", default=list(TARGETS))
    words = "the same cases again; default: others each time"
    parser.add_argument("--seed", type=int, default=int(time.time()) % 2**31, help=words)
    arguments = parser.parse_args()
    return sum(not _passes(name, arguments.seed, arguments.seconds) for name in arguments.only)


def _passes(name: str, seed: int, seconds: float) -> bool:
    try:
        found = run(TARGETS[name], seed=seed, seconds=seconds)
    except Exception:  # noqa: BLE001 - the other targets are still to be run
        say(traceback.format_exc())
        say(f"{name}: WRONG, see above (--only {name} --seed {seed})")
        return False
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(found.items()))
    say(f"{name}: {found.total():,} cases, {told}; none wrong")
    return True


if __name__ == "__main__":
    raise SystemExit(main())
