"""Store repeated texts once. Everything here saves bytes; nothing of it changes what is read back.

Three savings, each undone on reading, to the letter:

- `sharing`: a text that is the trace's and one of its spans' stands in the row of the trace alone.
- `folding`: an attribute that holds the input or output of its span keeps only what surrounds it.
- `differences`: a span that repeats an earlier one (`recent_spans`) is stored as its difference from it; `chains` reads it.

Intake calls four functions: `pack` makes the stored form of what a span carried, `share_texts` leaves a text to the trace,
`RecentSpans.shortened` describes rows by earlier ones, `unshare_texts` takes shared texts back before a trace grows.
"""
