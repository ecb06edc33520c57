"""How long a test waits for what must come before it says that it did not.

Long, because a machine may be busy with other things, and because waiting costs nothing when what is waited for comes.
"""

PATIENCE = 300.0
