"""The five papers run again: what each did, what it reported, what comes out here."""
