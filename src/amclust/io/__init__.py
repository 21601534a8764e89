"""Files: what is written is written whole, what is read is checked."""
