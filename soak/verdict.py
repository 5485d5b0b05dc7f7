"""The exit codes of a soak; 1 is an error of its own."""

#: A rule was broken, or something never became idle.
BROKEN = 3
#: A rule was not tried: nothing happened in which a broken product would have been seen.
NOT_TRIED = 4
