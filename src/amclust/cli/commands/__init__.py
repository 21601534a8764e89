"""The commands of the command line, one file each.

A command's module is an `options.Command`. `options.py` has the options that commands share,
`console.py` what is written to the terminal, `files.py` the way from arguments to tables and
models.
"""
