"""The judges that several stages need: the offline judge, its small model, features and rules."""
