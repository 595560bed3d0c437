/** Addresses that a provider would load: addresses of private networks are not sent to any provider, in any field and spelling. */
import { create } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { type Stack, buildStack } from "@sluice/inference-svc/stack.js";
import { PassedAddresses } from "@sluice/inference-svc/features/web/passed-addresses.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.ts";
import { newScope, openParts, runTestTurn } from "../../asking.js";

const allowed = "http://10.1.1.1:8000";
const allowedServer = "https://tools.internal:8443";

let provider: Upstream;
let engine: ReturnType<typeof openParts>;
let stack: Stack;
const names = new Map<string, readonly string[]>();
let lookedUp: string[];

beforeAll(async () => {
  provider = await startUpstream([chatStream("Hello")]);
  const providers = ["responses", "chat", "messages", "gemini"].map((dialect) => ({
    id: dialect,
    dialect,
    base_url: `${provider.url}/v1`,
    api_keys: ["k"],
  }));
  engine = openParts(
    configSchema.parse({
      providers,
      models: providers.map(({ id }) => ({
        id: `${id}/m`,
        endpoints: [{ provider: id }],
        input_modalities: ["text", "image", "file", "video", "audio"],
      })),
      fetch: { allow_private_origins: [allowed] },
      mcp: { allow: [allowedServer] },
    }),
    undefined,
    undefined,
    undefined,
    (host) => {
      lookedUp.push(host);
      const known = names.get(host);
      return known ? Promise.resolve(known) : Promise.reject(new Error("ENOTFOUND"));
    },
  );
  stack = buildStack(engine.parts);
});
beforeEach(() => {
  lookedUp = [];
  names.clear();
});
afterEach(() => provider.script([chatStream("Hello")]));
afterAll(async () => {
  await engine.engine.upstreams.close();
  await provider.stop();
});

/** Fields with an address, and their paths. */
const part = (fields: object) => ({
  input: [{ role: "user", content: [{ type: "input_text", text: "Look." }, fields] }],
});
const call = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
const computer = { type: "computer_call", call_id: "call_2", action: { type: "screenshot" } };
interface Places {
  readonly input?: unknown;
  readonly tools?: unknown;
  readonly options?: unknown;
  /** Fields with an address that the contract does not describe. */
  readonly extra?: unknown;
}

const fields: readonly (readonly [string, (url: string) => Places])[] = [
  ["input.0.content.1.image_url", (url) => part({ type: "input_image", image_url: url })],
  ["input.0.content.1.video_url", (url) => part({ type: "input_video", video_url: url })],
  ["input.0.content.1.file_url", (url) => part({ type: "input_file", file_url: url })],
  ["input.0.content.1.file_data", (url) => part({ type: "input_file", file_data: url, filename: "a.pdf" })],
  [
    "input.0.content.1.input_audio.data",
    (url) => part({ type: "input_audio", input_audio: { data: url, format: "mp3" } }),
  ],
  ["input.0.content.1.audio_url", (url) => part({ type: "input_text", text: "a", audio_url: url })],
  [
    "input.1.output.0.image_url",
    (url) => ({
      input: [
        call,
        { type: "function_call_output", call_id: "call_1", output: [{ type: "input_image", image_url: url }] },
      ],
    }),
  ],
  [
    "input.1.output.image_url",
    (url) => ({
      input: [
        computer,
        { type: "computer_call_output", call_id: "call_2", output: { type: "computer_screenshot", image_url: url } },
      ],
    }),
  ],
  [
    "input.0.content.0.image_url",
    (url) => ({
      input: [
        { type: "agent_message", author: "a", recipient: "b", content: [{ type: "input_image", image_url: url }] },
      ],
    }),
  ],
  [
    "input.0.outputs.0.url",
    (url) => ({
      input: [
        {
          type: "code_interpreter_call",
          id: "ci_1",
          code: "1",
          container_id: "c",
          outputs: [{ type: "image", url }],
        },
        { role: "user", content: "Go on." },
      ],
    }),
  ],
  [
    "input.0.result",
    (url) => ({
      input: [
        { type: "image_generation_call", id: "ig_1", result: url },
        { role: "user", content: "Go on." },
      ],
    }),
  ],
  ["tools.0.server_url", (url) => ({ tools: [{ type: "mcp", server_label: "s", server_url: url }] })],
  [
    "tools.0.input_image_mask.image_url",
    (url) => ({ tools: [{ type: "image_generation", input_image_mask: { image_url: url } }] }),
  ],
  [
    "input.0.tools.0.server_url",
    (url) => ({
      input: [
        { type: "additional_tools", role: "developer", tools: [{ type: "mcp", server_label: "s", server_url: url }] },
        { role: "user", content: "Go on." },
      ],
    }),
  ],
  ["image_config.reference", (url) => ({ options: { reference: url } })],
  ["image_config.references.0", (url) => ({ options: { references: [url] } })],
  ["reference", (url) => ({ extra: { reference: url } })],
  ["chat_template_kwargs.images.0", (url) => ({ extra: { chat_template_kwargs: { images: [url] } } })],
];

const json = (value: unknown) => (value === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(value)));

const requestOf = (dialect: string, place: (url: string) => Places, url: string): TurnRequest => {
  const { input = "Hi", tools, options, extra } = place(url);
  return parseTurn(
    create(RunTurnRequestSchema, {
      model: `${dialect}/m`,
      inputJson: json(input),
      toolsJson: json(tools),
      imageConfigJson: json(options),
      extraJson: json(extra),
    }),
  );
};

/** The path of the refusal, and the number of requests to the provider. */
async function runRequest(dialect: string, place: (url: string) => object, url: string) {
  const before = provider.requests.length;
  const { fault } = await runTestTurn(stack.turn, requestOf(dialect, place, url), newScope());
  return {
    status: fault?.status,
    param: (fault?.metadata as { param?: string } | undefined)?.param,
    message: fault?.message,
    asked: provider.requests.length - before,
  };
}

const privateAddresses = [
  "http://127.0.0.1/",
  "https://127.0.0.1:8443/a.png",
  "http://127.1/",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0x7f000001/",
  "http://0177.0.0.1/",
  "http://017700000001/",
  "http://0/",
  "http://0.0.0.0/",
  "http://\u2460\u2461\u2466.0.0.1/",
  "http://127\u30020\u30020\u30021/",
  "http://127.0.0.1./",
  "http://%31%32%37.0.0.1/",
  "HTTP://127.0.0.1/",
  "http://10.0.0.5:8000/admin",
  "http://172.16.0.1/",
  "http://192.168.1.1/",
  "http://100.64.0.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://2852039166/",
  "http://168.63.129.16/",
  "http://[::1]/",
  "http://[::]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[fd00:ec2::254]/",
  "http://[fe80::1]/",
  "http://[fe80::1%25eth0]/",
  "http://localhost/",
  "http://LOCALHOST:3000/",
  "http://localhost./",
  "http://a.localhost/",
  "http://redis:6379/",
  "http://metadata/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "http://metadata.google.internal./",
  "http://metadata\u3002google\u3002internal/",
  "http://printer.local/",
  "http://host.docker.internal/",
  "http://api.default.svc/",
  "http://api.default.svc.cluster.local/",
  "http://router.home.arpa/",
  "http://user:pw@10.0.0.1/",
  "https://user:pw@a.example/",
  "https://user@a.example/",
  "https://a.example\\@127.0.0.1/",
  "https://a.example\t@127.0.0.1/",
  "http:127.0.0.1/",
  "http:/127.0.0.1/",
  "http:///127.0.0.1/",
  "http:\\\\127.0.0.1\\",
  " http://127.0.0.1/",
  "ht\ntp://127.0.0.1/",
  "http://a.example\r\nHost: 127.0.0.1/",
  "file:///etc/passwd",
  "FILE:///etc/passwd",
  "ftp://10.0.0.1/a.png",
  "gopher://10.0.0.1/_",
  "dict://10.0.0.1:11211/stat",
  "blob:http://10.0.0.1/1",
];

/** Forms that only a field for addresses accepts as an address; a field for bytes refuses them or sends them as bytes. */
const onlyInAddressFields = new Set(["//10.0.0.1/a.png", "/etc/passwd", "10.0.0.1/a.png"]);

describe.each(fields)("a private address in %s", (path, place) => {
  test.each(["responses", "chat", "messages", "gemini"])(
    "is not passed to a provider of the dialect %s",
    async (dialect) => {
      const passed: unknown[] = [];
      const inAddressField = path.endsWith("url");
      for (const url of [...privateAddresses, ...(inAddressField ? onlyInAddressFields : [])]) {
        let answer;
        try {
          answer = await runRequest(dialect, place, url);
        } catch (error) {
          // The check of the field's form already refuses this address.
          expect(error).toMatchObject({ status: 400 });
          continue;
        }
        if (answer.status !== 400 || answer.asked > 0 || answer.param !== path) passed.push([url, answer]);
      }
      expect(passed).toEqual([]);
    },
  );
});

describe("a public address in a request", () => {
  test.each([
    "https://a.example/a.png",
    "https://a.example:8443/a.png?x=/../&y=a@b#c",
    "http://8.8.8.8/a.png",
    "https://[2606:4700:4700::1111]/a.png",
    "https://b\u00fccher.example/a.png",
    "https://cdn.a.example./a.png",
    "data:image/png;base64,iVBORw0KGgo=",
    `${allowed}/a.png`,
  ])("%s is passed on", async (url) => {
    const place = (each: string) => part({ type: "input_image", image_url: each });
    expect(await runRequest("chat", place, url)).toMatchObject({ status: undefined, asked: 1 });
    expect(provider.requests.at(-1)?.body).toContain(JSON.stringify(url));
  });

  test.each(["gs://bucket/a.mp4", "s3://bucket/a/b.mp4"])(
    "is not required for an object in a store: %s",
    async (url) => {
      const place = (each: string) => part({ type: "input_video", video_url: each });
      expect(await runRequest("chat", place, url)).toMatchObject({ status: undefined, asked: 1 });
    },
  );
});

test("an MCP server that a provider calls may be private where mcp.allow names its origin", async () => {
  const place = (url: string) => ({ tools: [{ type: "mcp", server_label: "s", server_url: url }] });
  expect((await runRequest("responses", place, `${allowedServer}/mcp`)).param).toBeUndefined();
  expect(await runRequest("responses", place, "https://tools.internal/mcp")).toMatchObject({
    status: 400,
    param: "tools.0.server_url",
  });
  // The list of domains for fetching is another setting.
  expect(await runRequest("responses", place, `${allowed}/mcp`)).toMatchObject({
    status: 400,
    param: "tools.0.server_url",
  });
});

test("addresses in citations, search results and schemas of functions are only text, and are passed on", async () => {
  const url = "http://wiki.internal/";
  const annotations = [{ type: "url_citation", url, title: "Wiki", start_index: 0, end_index: 1 }];
  const said = { role: "assistant", content: [{ type: "output_text", text: "a", annotations }] };
  const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "open_page", url } };
  const schema = { type: "object", properties: { url: { type: "string" } }, examples: [{ url }] };
  const tools = [{ type: "function", name: "f", parameters: schema }];
  const place = () => ({ input: [search, said, { role: "user", content: "Go on." }], tools });
  expect(await runRequest("responses", place, "")).toMatchObject({ asked: 1 });
});

describe("a host name in a request", () => {
  const place = (url: string) => part({ type: "input_image", image_url: url });

  test.each([
    ["a.pictures.example", ["10.0.0.5"], 400],
    ["b.pictures.example", ["8.8.8.8", "127.0.0.1"], 400],
    ["c.pictures.example", ["8.8.8.8"], undefined],
    ["d.pictures.example", [], undefined],
    ["e.pictures.example", undefined, undefined],
  ])("%s with the addresses %j gives the status %s", async (name, addresses, status) => {
    if (addresses) names.set(name, addresses);
    expect(await runRequest("chat", place, `https://${name}/a.png`)).toMatchObject({ status });
    expect(lookedUp).toEqual([name]);
  });

  test("without an answer in time is passed on, and not resolved again", async () => {
    let asked = 0;
    const waiting = () => {
      asked++;
      return new Promise<never>(() => {});
    };
    const addresses = new PassedAddresses(configSchema.parse({ providers: [], models: [] }), waiting, () => 0);
    const request = requestOf("chat", place, "https://slow.example/a.png");
    await addresses.lookUp(addresses.check(request));
    await addresses.lookUp(addresses.check(request));
    expect(asked).toBe(1);
  });

  test("is resolved once for a request, and not at all in a dry run", async () => {
    names.set("pictures.example", ["10.0.0.5"]);
    const request = requestOf("chat", place, "https://pictures.example/a.png");
    await stack.planDryRun(request, newScope().scope);
    expect(lookedUp).toEqual([]);
    const again = requestOf("chat", place, "http://10.0.0.1/");
    await expect(stack.planDryRun(again, newScope().scope)).rejects.toMatchObject({ status: 400 });
  });
});

test("a request may name at most a hundred hosts", async () => {
  const images = (count: number) => () => ({
    input: [
      {
        role: "user",
        content: Array.from({ length: count }, (_, index) => ({
          type: "input_image",
          image_url: `https://h${index}.example/`,
        })),
      },
    ],
  });
  expect(await runRequest("chat", images(100), "")).toMatchObject({ status: undefined });
  expect(await runRequest("chat", images(101), "")).toMatchObject({
    status: 400,
    param: "input.0.content.100.image_url",
    message: expect.stringContaining("at most 100 hosts"),
  });
});
