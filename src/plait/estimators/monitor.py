"""The class of `monitor_`, for those who set one of their own."""

from plait.fitting.monitor import ConvergenceMonitor

__all__ = ["ConvergenceMonitor"]
