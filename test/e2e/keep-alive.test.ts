/** Keep-alive output in a silent stream, read by widely used client decoders. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Stream as MessagesStream } from "@anthropic-ai/sdk/streaming";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { Stream as OpenAiStream } from "openai/streaming";
import { type Installation, startInstallation } from "../support/installation.ts";
import { root, runProgram } from "../support/processes.ts";
import { type Upstream, chatChunk, startUpstream } from "../support/providers/upstream.ts";

const doors = {
  "/responses": { model: "acme/large-2", input: "x", stream: true },
  "/chat/completions": { model: "acme/large-2", messages: [{ role: "user", content: "x" }], stream: true },
  "/messages": { model: "acme/large-2", max_tokens: 9, messages: [{ role: "user", content: "x" }], stream: true },
} as const;
const paths = Object.keys(doors) as (keyof typeof doors)[];

/** Streams by the path of their door, with two comments before the first words of the model and two between its words. */
const streams = new Map<string, string>();
let bytes: Server;
let bytesUrl: string;

beforeAll(async () => {
  const upstream = await startUpstream();
  const installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
limits: {status_gate_ms: 100, keep_alive_ms: 100}
`,
  });
  try {
    for (const path of paths) streams.set(path, await recordStream(installation, upstream, path));
  } finally {
    await installation.stop();
    await upstream.stop();
  }
  bytes = createServer((request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).end(streams.get(request.url ?? ""));
  });
  await new Promise<void>((resolve) => bytes.listen(0, "127.0.0.1", resolve));
  bytesUrl = `http://127.0.0.1:${(bytes.address() as AddressInfo).port}`;
});
afterAll(() => {
  bytes.closeAllConnections();
  bytes.close();
});

/** A chunk before which the provider waits. */
function step() {
  let take = () => {};
  const taken = new Promise<void>((resolve) => {
    take = resolve;
  });
  return { taken, take: () => take() };
}

async function recordStream(installation: Installation, upstream: Upstream, path: keyof typeof doors): Promise<string> {
  const steps = [step(), step()] as const;
  const words = (content: string) => ({ sse: [chatChunk({ content })] });
  const end = { sse: [chatChunk({}, "stop"), "[DONE]"] };
  upstream.script([
    { chunks: [{ after: steps[0].taken, ...words("One") }, { after: steps[1].taken, ...words(" two") }, end] },
  ]);
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(doors[path]),
  });
  let text = "";
  for await (const piece of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    text += piece;
    const [before = "", after] = text.split("One");
    if (countComments(before) >= 2) steps[0].take();
    if (after !== undefined && countComments(after) >= 2) steps[1].take();
  }
  return text;
}

const countComments = (text: string): number => text.split("\n").filter((line) => line.startsWith(":")).length;
const read = (path: string): string => streams.get(path) as string;
/** Number of events with data, without the end mark. */
const countEvents = (path: string): number =>
  read(path)
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]").length;

test.each(paths)("a silent stream of %s has comments, and no event without a field", (path) => {
  expect(countComments(read(path))).toBeGreaterThanOrEqual(4);
  const events = read(path).split("\n\n").slice(0, -1);
  expect(events.filter((event) => !/^(data|event):/m.test(event))).toEqual([]);
});

describe.each(paths)("the stream decoders of JavaScript at %s", (path) => {
  const controller = new AbortController();
  const response = () => new Response(read(path));

  test.each([
    ["openai", () => OpenAiStream.fromSSEResponse(response(), controller)],
    // This client knows only the event names of the Messages format.
    ...(path === "/messages"
      ? [["@anthropic-ai/sdk", () => MessagesStream.fromSSEResponse(response(), controller)] as const]
      : []),
  ] as const)("in %s read every event", async (_, open) => {
    let count = 0;
    for await (const event of open()) count += event === undefined ? 0 : 1;
    // The stream of Anthropic's client hides pings.
    const pings = path === "/messages" ? read(path).split('{"type":"ping"}').length - 1 : 0;
    expect([countEvents(path), countEvents(path) - pings]).toContain(count);
  });

  test("in eventsource-parser of the AI SDK read every event", async () => {
    const parsed = (response().body as ReadableStream<Uint8Array<ArrayBuffer>>)
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    let count = 0;
    for await (const { data } of parsed) count += data === "[DONE]" ? 0 : Object.keys(JSON.parse(data)).length && 1;
    expect(count).toBe(countEvents(path));
  });
});

const goSources = join(root, "test/fixtures/go-decoders");
/** Minimum number of processors on which all tests compile the clients: with the standard library of Go that takes two processors a minute. */
const enoughProcessors = 4;

/** The reason for skipping the clients of Go; undefined where they run. */
async function findMissing(): Promise<string | undefined> {
  if (availableParallelism() < enoughProcessors && process.env["GO_CLIENTS"] === undefined)
    return `it compiles for a minute on fewer than ${enoughProcessors} processors: GO_CLIENTS=1 npm test -- e2e/keep-alive`;
  const { code } = await runProgram("go", ["version"]).catch(() => ({ code: 1 }));
  if (code !== 0) return "there is no go";
  // This downloads the modules, if they are available.
  const listed = await runProgram("go", ["list", "-deps", "."], { cwd: goSources });
  return listed.code === 0 ? undefined : `modules of Go are not there: ${listed.stderr.trim().split("\n").at(-1)}`;
}

const missing = await findMissing();

(missing === undefined ? describe : describe.skip)(
  `the stream decoders of Go${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-go-decoders-"));
    beforeAll(() => cpSync(goSources, folder, { recursive: true }));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    // A module can require only one version 3.x of a package, so `newest.mod` is the same program with the newest version.
    test.each(["go.mod", "newest.mod"])("of the versions in %s read every event", async (modules) => {
      const program = join(folder, `read-${modules}`);
      const built = await runProgram("go", ["build", `-modfile=${modules}`, "-o", program, "."], { cwd: folder });
      expect([built.code, built.stderr]).toEqual([0, ""]);
      for (const path of paths) {
        const { code, stdout } = await runProgram(program, [`${bytesUrl}${path}`]);
        const clients = ["openai-go v1", "openai-go v2", "openai-go v3", "anthropic-sdk-go"];
        const whole = clients.map((client) => `${client}: ${countEvents(path)} <nil>`);
        const lines = stdout.trim().split("\n");
        // The client of Anthropic leaves out events of unknown names, and pings.
        expect([code, lines.slice(0, 3)]).toEqual([0, whole.slice(0, 3)]);
        expect(lines[3]).toMatch(/^anthropic-sdk-go: \d+ <nil>$/);
      }
    });
  },
);
