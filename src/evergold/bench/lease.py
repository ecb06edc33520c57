"""The lease of a run: one process works on it at a time, and must renew the lease in the database to keep it.

A holder that dies stops renewing, and the run is free when the lease runs out. On the same machine nobody has to wait:
the holder's name says which process it is, and whether that process still lives can be looked up.
"""

from evergold.holders import is_alive, is_dead, new_owner

__all__ = ["BEAT_SECONDS", "LEASE_SECONDS", "MOST_TAKES", "is_alive", "is_dead", "new_owner"]

# Twenty missed beats: a busy machine or a short outage of the database must not lose a run.
LEASE_SECONDS = 20.0
BEAT_SECONDS = 1.0
MOST_TAKES = 2
"""So often in a row a run is taken up whose server died before anything of it was stored; then it has failed."""
