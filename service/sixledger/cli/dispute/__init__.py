"""`sixledger dispute`: a report that settles a dispute, for people who trust nobody.

`case` collects what is known, `standing` asks who can have made it, `verdicts` says it in plain words, `boards` draws
the table, `page` makes one HTML file of it and `document` the same as JSON.
"""
