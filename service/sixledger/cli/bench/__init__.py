"""`sixledger bench`: a load generator that does not lie.

`command` reads what a person asks for; `runner` starts the server and the load, each a process of its own;
`scenarios` are what the load does; `window` is how it measures; `report` and `picture` tell what was found.
"""
