"""The client without its transport: what to call when, and what to believe of the answers."""
