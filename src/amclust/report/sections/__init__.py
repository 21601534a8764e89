"""The sections of the page as HTML, one file each."""
