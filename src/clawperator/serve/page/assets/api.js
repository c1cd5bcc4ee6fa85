/* Requests to the server. The session is a cookie that scripts cannot read. */

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message || `HTTP ${status}`);
    this.status = status;
    this.code = error.code || "";
    this.hint = error.hint || "";
  }
}

async function send(method, path, { body, signal } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new ApiError(0, { code: "SERVER_UNREACHABLE", message: "The server does not answer.", hint: "Start it again with 'clawperator serve'." });
  }
  const document = await response.json();
  if (!response.ok) {
    throw new ApiError(response.status, document.error || {});
  }
  return document;
}

export const get = (path, fields = {}, options = {}) => {
  const query = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)])).toString();
  return send("GET", query ? `${path}?${query}` : path, options);
};

export const post = (path, body = {}) => send("POST", path, { body });

export const signIn = (token) => post("/session", { token });

/** Exchange the code of the address for a session. The code leaves the address at once. */
export async function signInByAddress() {
  const code = decodeURIComponent(location.hash.slice(1));
  if (code) {
    history.replaceState(null, "", location.pathname);
    await signIn(code);
  }
}
