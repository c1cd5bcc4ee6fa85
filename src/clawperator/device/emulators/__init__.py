"""Android emulators (AVDs) through the SDK's tools."""
