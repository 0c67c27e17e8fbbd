"""How much a selection hangs on the particular samples and labels."""
