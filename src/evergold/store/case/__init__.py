"""Cases in the tables: content, revisions, reviews, builds."""
