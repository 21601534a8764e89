"""Fuzzing: whatever comes in, a right answer or an error with a name.

    make fuzz                                  # all targets, FUZZ_SECONDS each
    python -m fuzz --seconds 600 --only tables
    python -m fuzz --seed 7                    # the same cases again

Targets are tables, parameters, model files and text tables (with hypothesis, which shrinks what it
finds), and the core under sanitizers (`core/`, with libFuzzer, where clang has it).
"""
