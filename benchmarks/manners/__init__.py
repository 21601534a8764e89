"""What fits and predictions cost others: threads, interrupts, the start of the command line."""
