"""The stability of a selection: how much it depends on the particular samples and labels."""
