"""The small claim-support model of the offline judge: its data, the changes made by rule, its training and packing."""
