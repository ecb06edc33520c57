"""What can be measured: models behind providers and addresses, programs, functions, retrievers and what was recorded."""
