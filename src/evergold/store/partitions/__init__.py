"""The partitions of `spans` on PostgreSQL: one for the traces that first came on a day, and one for what datasets cite."""
