"""The page that signs a browser in: it sends the token of the URL fragment once and gets a cookie for it."""

import base64
import hashlib

from starlette.responses import Response

_SCRIPT = """
const status = document.getElementById("status");
async function signIn() {
  const token = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  if (token) {
    const answer = await fetch("/session", {
      method: "POST",
      headers: {"Content-Type": "application/json"},
      body: JSON.stringify({token}),
    });
    if (!answer.ok) { status.textContent = (await answer.json()).error.message; return; }
  }
  const answer = await fetch("/devices");
  if (answer.status === 401) {
    status.textContent = "Not signed in: open this page with # and the token after its address.";
    return;
  }
  status.textContent = "Signed in.";
}
signIn();
"""
_PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Clawperator</title>
<h1>Clawperator</h1>
<p id="status">Signing in.</p>
<p><a href="/openapi.json">API description</a></p>
<script>{_SCRIPT}</script>
</html>
"""
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; script-src 'sha256-{_HASH}'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def page_response() -> Response:
    return Response(_PAGE, media_type="text/html", headers={"Content-Security-Policy": _POLICY})
