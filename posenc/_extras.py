"""Says which extra to install when a room of posenc needs packages that are not there."""

from importlib import import_module


def need(extra: str, *packages: str) -> None:
    """Raise ModuleNotFoundError, with what to install, unless all `packages` are there."""
    for package in packages:
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            message = f"posenc.{extra} needs {package}: pip install 'posenc[{extra}]'"
            raise ModuleNotFoundError(message, name=package) from error
