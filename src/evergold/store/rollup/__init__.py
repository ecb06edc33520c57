"""The traffic counted by hour and by day, and which hours have to be counted again."""
