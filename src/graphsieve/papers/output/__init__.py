"""The results as terminal text, Markdown or HTML, all rendered from `Reproduction.facts`."""
