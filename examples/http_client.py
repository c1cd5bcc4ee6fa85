"""An HTTP client without further packages: start the server, read its address and token, call routes.

pip install 'clawperator[serve]'
python examples/http_client.py
"""

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import clawperator


class Server:
    """The address and the token of a running server."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def operate(server: Server, serial: str) -> None:
    execution = {
        "commandId": "open-1",
        "taskId": "open-1",
        "source": "example",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 10_000,
        "actions": [{"id": "a1", "type": "open_app", "params": {"applicationId": "com.android.settings"}}],
    }
    status, answer = server.call("POST", "/execute", {"execution": execution, "deviceId": serial})
    print(status, answer["envelope"]["status"])
    status, answer = server.call("POST", "/snapshot", {"deviceId": serial})
    print(status, answer["envelope"]["stepResults"][0]["data"]["foreground_package"])
    status, answer = server.call("POST", "/snapshot", {"deviceId": "nobody"})
    print(status, answer["error"]["code"])


def main() -> None:
    with clawperator.start_phone("http-client") as running, tempfile.TemporaryDirectory() as folder:
        token_file = Path(folder, "token")
        command = [sys.executable, "-m", "clawperator", "serve", "--port", "0", "--token-file", str(token_file)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            try:
                line = next(line for line in process.stderr if "http://" in line)
                url = line[line.index("http://") :].split()[0].rstrip(".,;/")
                operate(Server(url, token_file.read_text().strip()), running.serial)
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
