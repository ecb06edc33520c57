"""People make the data true: queue, edit, decide, agree."""
