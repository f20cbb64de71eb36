"""`sixledger replay`: a match record by record, from a ledger file or from a server as it grows.

course     where the match stands after each record: pure, no terminal
sources    ledger files and live matches, verified before they are shown
words      what a record says
scene      a moment as lines of text that fit a terminal
app        the full-screen program
plain      the same without a terminal
command    the sub-command
"""
