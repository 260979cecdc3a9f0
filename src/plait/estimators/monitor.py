"""The class of `monitor_`, for users who want to set their own."""

from plait.fitting.monitor import ConvergenceMonitor

__all__ = ["ConvergenceMonitor"]
