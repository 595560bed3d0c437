/** Two hundred WebSockets with a response under way, while their gateway stops or their key is revoked. */
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { SocketClient, textOf } from "../../support/answers/socket-client.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { chatChunk } from "../../support/providers/upstream.ts";

const connections = 200;
const sse = (data: unknown) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Begins each answer with the question, and ends all answers when released. */
class HoldingProvider {
  readonly #held: ServerResponse[] = [];
  readonly #server = createServer((request, response) => void this.#begin(request, response));

  async #begin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const bytes of request) body += String(bytes);
    const { messages } = JSON.parse(body) as { messages: readonly { content: string }[] };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(sse(chatChunk({ content: `${messages.at(-1)?.content} begun` })));
    this.#held.push(response);
  }

  async start(): Promise<number> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  release(): void {
    const end = [chatChunk({ content: " and ended" }), chatChunk({}, "stop"), "[DONE]"].map(sse).join("");
    for (const response of this.#held.splice(0)) response.end(end);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

const provider = new HoldingProvider();
let installation: Installation;

beforeAll(async () => {
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "http://127.0.0.1:${await provider.start()}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
limits: {streams_per_key: 300}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await provider.stop();
});

interface Named {
  readonly client: SocketClient;
  readonly name: string;
  readonly closed: Promise<unknown[]>;
}

async function connect(key: string, name: string): Promise<Named> {
  const client = new SocketClient(installation.ports.gateway, { authorization: `Bearer ${key}` });
  await once(client.socket, "open");
  return { client, name, closed: once(client.socket, "close") };
}

/** Connects clients, each with a started response. */
async function begin(key: string): Promise<Named[]> {
  const all = await Promise.all(Array.from({ length: connections }, (_, n) => connect(key, `client ${n}`)));
  for (const { client, name } of all) client.send({ input: name });
  await Promise.all(all.map(({ client }) => eventually(() => client.events.some(({ delta }) => delta !== undefined))));
  return all;
}

/** Checks that a client gets every frame of its own response, and no frame of other responses. */
async function finish({ client, name }: Named): Promise<void> {
  const events = await client.response();
  expect(events.at(-1)?.type).toBe("response.completed");
  expect(events.flatMap(({ delta }) => delta ?? []).join("")).toBe(`${name} begun and ended`);
  expect(textOf(events)).toBe(`${name} begun and ended`);
}

const reasonOf = async ({ closed }: Named) => {
  const [code, reason] = await closed;
  return [code, String(reason)];
};

test("revoking a key fails its running WebSocket response, refuses further ones, and sends the reason", async () => {
  const { stdout } = await installation.admin("keys", "create", "--name", "for sockets", "--json");
  const { key, hash } = JSON.parse(stdout) as { key: string; hash: string };
  const all = await begin(key);
  for (const { client } of all) client.send({ input: "next" });
  await installation.admin("keys", "revoke", hash);
  await Promise.all(
    all.map(async (each) => {
      const events = await each.client.response();
      expect(events.at(-1)).toMatchObject({ type: "response.failed" });
      expect(events.flatMap(({ delta }) => delta ?? []).join("")).toBe(`${each.name} begun`);
      expect([...(await reasonOf(each)), each.client.events]).toEqual([1008, "Invalid API key", []]);
    }),
  );
  provider.release();
});

test("a stopping gateway closes idle WebSockets at once, and others at the end of their response", async () => {
  const all = await begin(installation.apiKey);
  const idle = await connect(installation.apiKey, "idle");
  process.kill(installation.pids()["gateway"] as number, "SIGTERM");
  expect(await reasonOf(idle)).toEqual([1001, "The gateway is stopping"]);
  provider.release();
  await Promise.all(
    all.map(async (each) => {
      await finish(each);
      expect(await reasonOf(each)).toEqual([1001, "The gateway is stopping"]);
      expect(each.client.events).toEqual([]);
    }),
  );
});
