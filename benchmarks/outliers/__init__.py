"""Rows that belong nowhere, and wild cells, beside the methods that are meant for them."""
