"""The permissions this phone knows."""

# What a person, or ``pm grant``, may give an app and take away again.
RUNTIME_PERMISSIONS = tuple(
    f"android.permission.{name}"
    for name in (
        "ACCESS_BACKGROUND_LOCATION",
        "ACCESS_COARSE_LOCATION",
        "ACCESS_FINE_LOCATION",
        "ACTIVITY_RECOGNITION",
        "BLUETOOTH_ADVERTISE",
        "BLUETOOTH_CONNECT",
        "BLUETOOTH_SCAN",
        "BODY_SENSORS",
        "CALL_PHONE",
        "CAMERA",
        "GET_ACCOUNTS",
        "NEARBY_WIFI_DEVICES",
        "POST_NOTIFICATIONS",
        "READ_CALENDAR",
        "READ_CALL_LOG",
        "READ_CONTACTS",
        "READ_EXTERNAL_STORAGE",
        "READ_MEDIA_AUDIO",
        "READ_MEDIA_IMAGES",
        "READ_MEDIA_VIDEO",
        "READ_PHONE_NUMBERS",
        "READ_PHONE_STATE",
        "READ_SMS",
        "RECEIVE_SMS",
        "RECORD_AUDIO",
        "SEND_SMS",
        "WRITE_CALENDAR",
        "WRITE_CALL_LOG",
        "WRITE_CONTACTS",
        "WRITE_EXTERNAL_STORAGE",
    )
)
# Given to a program that develops others, never asked for on the screen.
DEVELOPMENT_PERMISSIONS = tuple(
    f"android.permission.{name}"
    for name in ("DUMP", "PACKAGE_USAGE_STATS", "READ_LOGS", "SET_ANIMATION_SCALE", "WRITE_SECURE_SETTINGS")
)
# Every app that asks for one has it, and nobody can take it away.
INSTALL_PERMISSIONS = tuple(
    f"android.permission.{name}"
    for name in ("ACCESS_NETWORK_STATE", "ACCESS_WIFI_STATE", "INTERNET", "VIBRATE", "WAKE_LOCK")
)
GRANTABLE = frozenset((*RUNTIME_PERMISSIONS, *DEVELOPMENT_PERMISSIONS))
