"""What the HTTP API answers, as far as the command line uses it.

Fields that are not named here are ignored and words that are not known are shown as they are: a newer
server can be asked by an older command line.
"""
