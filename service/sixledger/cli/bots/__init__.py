"""`sixledger bot`: plays seats on a server with a policy, built in or of the caller's own.

policies   from a name or `module:function` to something that chooses commands
tables     finding a free seat, or opening a table
runner     games at once, crashes, what is left behind
tally      what came of the games
command    the sub-command
"""
