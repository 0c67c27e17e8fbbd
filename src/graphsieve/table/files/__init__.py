"""Tables as people have them: read strictly and alike from any format, written whole or not at
all.
"""
