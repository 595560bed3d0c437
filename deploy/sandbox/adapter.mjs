/**
 * Reference adapter for the sandbox of server tools: answers POST /v1/runs with the output of programs in rootless containers of podman. See
 * docs/tools/sandbox.md.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { NoFreeContainer, Containers } from "./containers.mjs";
import { Podman, requireLimits } from "./podman.mjs";

const setting = (name, fallback) => {
  const value = process.env[name] || fallback;
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};

const host = setting("SANDBOX_HOST", "127.0.0.1");
const port = Number(setting("SANDBOX_PORT", "8070"));
const maxMemoryGiB = Number(setting("SANDBOX_MEMORY_GIB", "1"));
const keyDigest = digest(`Bearer ${setting("SANDBOX_API_KEY")}`);
const podman = new Podman({ image: setting("SANDBOX_IMAGE"), label: `sluice-sandbox=${port}` });
const containers = new Containers({ podman, maxContainers: Number(setting("SANDBOX_MAX_CONTAINERS", "20")) });

let prepared;
/** Resolves once the containers of an earlier process are removed; only the process with the port may remove them. */
const ready = new Promise((resolve) => (prepared = resolve));

/** Maximum bytes of a request: 20 programs of 30,000 characters fit. */
const maxBodyBytes = 4 * 1024 * 1024;
const maxTimeoutMs = 60_000;
const maxOutputBytes = 1024 * 1024;
/** Maximum bytes of a command: Linux accepts no longer argument of a process. */
const maxCommandBytes = 128 * 1024 - 1;

function digest(text) {
  return createHash("sha256").update(text).digest();
}

/** An answer with a status other than 200. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    // A body too large is still read to its end: a client that is sending would not see the answer.
    if (size <= maxBodyBytes) chunks.push(chunk);
  }
  if (size > maxBodyBytes) throw new Refusal(413, `a body has at most ${maxBodyBytes} bytes`);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new Refusal(400, "the body is not JSON");
  }
}

const isCount = (value, max) => Number.isInteger(value) && value >= 1 && value <= max;

function requireThat(holds, status, message) {
  if (!holds) throw new Refusal(status, message);
}

/** Checks the body of a request. @returns the run described by it */
function parseRun(body) {
  requireThat(typeof body === "object" && body !== null, 400, "the body is no object");
  const { tenant, container_id: id, language, commands, timeout_ms: timeoutMs, max_output_bytes: outputBytes } = body;
  const { network_policy: network = { type: "disabled" }, memory_limit: memory, sleep_after_seconds: sleep } = body;
  requireThat(/^[0-9a-f]{64}$/.test(tenant), 400, "tenant: 64 hexadecimal digits");
  requireThat(/^[\w-]{1,64}$/.test(id), 400, "container_id: 1 to 64 letters, digits, _ and -");
  requireThat(language === "shell" || language === "python", 422, "language: shell or python");
  requireThat(Array.isArray(commands) && commands.length > 0, 400, "commands: at least one");
  for (const command of commands) {
    requireThat(typeof command === "string" && !command.includes("\0"), 422, "commands: texts without NUL");
    requireThat(Buffer.byteLength(command) <= maxCommandBytes, 413, `commands: at most ${maxCommandBytes} bytes each`);
  }
  requireThat(isCount(timeoutMs, maxTimeoutMs), 400, `timeout_ms: 1 to ${maxTimeoutMs}`);
  requireThat(isCount(outputBytes, maxOutputBytes), 400, `max_output_bytes: 1 to ${maxOutputBytes}`);
  requireThat(isCount(sleep, 2_592_000), 400, "sleep_after_seconds: 1 to 2592000");
  requireThat(network?.type === "disabled", 422, "network_policy: this adapter gives no network");
  const memoryGiB = memory === undefined ? maxMemoryGiB : Number(/^(\d+)g$/.exec(memory)?.[1]);
  requireThat(memoryGiB <= maxMemoryGiB, 422, `memory_limit: at most ${maxMemoryGiB}g`);
  const program = language === "shell" ? ["sh", "-c"] : ["python3", "-c"];
  return { tenant, id, program, commands, timeoutMs, outputBytes, memoryGiB, sleepMs: sleep * 1_000 };
}

async function answer(request, response) {
  requireThat(timingSafeEqual(digest(request.headers.authorization ?? ""), keyDigest), 401, "wrong key");
  requireThat(request.method === "POST" && request.url === "/v1/runs", 404, "only POST /v1/runs");
  const run = parseRun(await readBody(request));
  const abort = new AbortController();
  // A client ends a run by closing the connection.
  response.on("close", () => abort.abort());
  return { output: await containers.run(run, abort.signal) };
}

function send(response, status, body) {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function handle(request, response) {
  await ready;
  try {
    send(response, 200, await answer(request, response));
  } catch (error) {
    const status = error instanceof NoFreeContainer ? 429 : (error.status ?? 500);
    if (status === 500) process.stderr.write(`${error.message}\n`);
    send(response, status, { error: status === 500 ? "the run failed" : error.message });
  }
}

await requireLimits(podman);
const server = createServer((request, response) => void handle(request, response));
server.listen(port, host);
await once(server, "listening");
await podman.removeAll();
prepared();
process.stdout.write(`sandbox adapter on http://${host}:${port}\n`);
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
    void containers.close().then(() => process.exit(0));
  });
}
