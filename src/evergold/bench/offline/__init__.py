"""The offline judge's parts: text, embeddings, features, weights. No model, no key, no network."""
