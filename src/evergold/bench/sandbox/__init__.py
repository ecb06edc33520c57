"""The sandbox for code of models: `run_tests` runs tests against an answer where it can reach nothing and use up nothing."""

from evergold.bench.sandbox.box import Bounds, TestResult, missing_sandbox, run_tests

__all__ = ["Bounds", "TestResult", "missing_sandbox", "run_tests"]
