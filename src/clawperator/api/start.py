"""Simulated phones from Python."""

from clawperator.api.phone import naming_methods
from clawperator.phone.process import launch

start_phone = naming_methods()(launch.start_phone)
