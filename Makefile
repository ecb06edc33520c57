# Evergold's commands. `make help` lists them.
BIN := .venv/bin

.PHONY: check
check:  ## fast subset for a commit: format, lint, types, import contract, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pytest -m "not slow" -n 2
