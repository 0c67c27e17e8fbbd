"""Tables in files or on other machines that are larger than memory and are read in pieces."""
