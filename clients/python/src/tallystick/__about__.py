"""Version and user agent of this package."""

__all__ = ["USER_AGENT", "__version__"]

__version__ = "0.1.0"
USER_AGENT = f"tallystick-python/{__version__}"
