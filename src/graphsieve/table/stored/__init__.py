"""Tables that are larger than memory, in files or on other machines, read in pieces."""
