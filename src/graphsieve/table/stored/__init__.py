"""Out-of-core tables, which lie in files or on other machines and are read in pieces."""
