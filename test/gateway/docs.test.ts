/** The published document and its page as they are served. */
import { once } from "node:events";
import { type IncomingMessage, type RequestOptions, type Server, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isDocument, writeDocument } from "@sluice/gateway/edge/docs/route.js";

let server: Server;

beforeAll(async () => {
  server = createServer((incoming, response) => {
    if (isDocument(incoming)) void writeDocument(incoming, response);
    else response.writeHead(599).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => void server.close());

/** Sends a request without decoding its path or its answer. */
async function sendRequest(path: string, headers: RequestOptions["headers"] = {}, method = "GET") {
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: "127.0.0.1", port, path, method, headers });
  sent.end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) };
}

function decoded(body: Buffer, coding: string | undefined): Buffer {
  if (coding === "br") return brotliDecompressSync(body);
  return coding === "gzip" ? gunzipSync(body) : body;
}

const paths = ["/api/v1/openapi.json", "/docs/api", "/docs/api/", "/docs/api/createKey", "/api/v1", "/api/v1/"];

describe.each(paths)("the document %s", (path) => {
  test("is served whole, with its length", async () => {
    const answer = await sendRequest(path);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-length"]).toBe(String(answer.body.length));
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    expect((await sendRequest(`${path}?version=1`)).body.equals(answer.body)).toBe(true);
  });

  test("has the same headers without a body for HEAD", async () => {
    const { headers } = await sendRequest(path);
    const answer = await sendRequest(path, {}, "HEAD");
    expect([answer.status, answer.body.length]).toEqual([200, 0]);
    expect({ ...answer.headers, date: "" }).toEqual({ ...headers, date: "" });
  });

  test.each([
    ["gzip", "gzip"],
    ["br, gzip;q=0.5", "br"],
    ["gzip, deflate, br, zstd", "br"],
    ["GZIP", "gzip"],
    ["br", "br"],
    ["br;q=0, gzip", "gzip"],
    ["gzip;q=0", undefined],
    ["gzip;q=0.0, x-br", undefined],
    ["x-gzip2", undefined],
  ])("is encoded for accept-encoding %s: %s", async (accepted, coding) => {
    const answer = await sendRequest(path, { "accept-encoding": accepted });
    expect(answer.headers["content-encoding"]).toBe(coding);
    expect(answer.headers.vary).toBe("accept-encoding");
    const plain = decoded(answer.body, coding);
    expect(plain.equals((await sendRequest(path)).body)).toBe(true);
    // The index is too short for a compression to shorten it.
    if (plain.length > 1_000) expect(answer.body.length < plain.length / 5).toBe(coding !== undefined);
  });

  test("is not sent again to a client with a current copy", async () => {
    const { etag } = (await sendRequest(path)).headers;
    expect(etag).toMatch(/^"[^"]+"$/);
    for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const answer = await sendRequest(path, { "if-none-match": tags });
      expect([answer.status, answer.body.length, answer.headers.etag]).toEqual([304, 0, etag]);
    }
    expect((await sendRequest(path, { "if-none-match": '"other"' })).status).toBe(200);
    // Each compressed form is a separate representation, with its own ETag.
    for (const coding of ["gzip", "br"]) {
      const compressed = { "accept-encoding": coding };
      expect((await sendRequest(path, { ...compressed, "if-none-match": etag })).status).toBe(200);
      const { etag: tag } = (await sendRequest(path, compressed)).headers;
      expect((await sendRequest(path, { ...compressed, "if-none-match": tag })).status).toBe(304);
    }
  });

  test.each([
    ["POST", path],
    ["GET", `${path}/x`.replace(/^\/docs.*/, "/docsx")],
    ["GET", path.toUpperCase()],
    ["GET", `/${path}`],
  ])("is not at %s %s", async (method, other) => {
    expect((await sendRequest(other, {}, method)).status).toBe(599);
  });
});

describe("addresses that people and browsers try first", () => {
  test("include /, which names the service, its version, and the address of the documentation", async () => {
    const { status, headers, body } = await sendRequest("/");
    expect([status, headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
    expect(JSON.parse(body.toString())).toMatchObject({
      name: "Sluice",
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      documentation: "/docs",
    });
    expect((await sendRequest("/", {}, "HEAD")).status).toBe(200);
  });

  test.each(["/api/hello", "/api/api/hello"])(
    "include HEAD %s, Claude Code's first request, which is no failed login",
    async (path) => {
      expect((await sendRequest(path, {}, "HEAD")).status).toBe(204);
    },
  );

  test("include the icon of browsers, which is absent and not requested again", async () => {
    const { status, headers, body } = await sendRequest("/favicon.ico");
    expect([status, headers["cache-control"], body.length]).toEqual([204, "public, max-age=86400", 0]);
  });

  test.each(["/docs/api/", "/docs/api/createKey", "/docs/api/x"])("include %s, the page of /docs/api", async (path) => {
    expect((await sendRequest(path)).body.equals((await sendRequest("/docs/api")).body)).toBe(true);
  });

  test("every address in the index of /api/v1 is in the contract, or a document", async () => {
    const named = Object.values(JSON.parse((await sendRequest("/api/v1")).body.toString()) as Record<string, string>);
    const { paths: operations, servers } = JSON.parse((await sendRequest("/api/v1/openapi.json")).body.toString()) as {
      paths: Record<string, unknown>;
      servers: { url: string }[];
    };
    const addresses = named.filter((value) => value.startsWith("/"));
    expect(addresses.length).toBeGreaterThan(2);
    for (const address of addresses) {
      const inContract = servers.some(({ url }) => address.replace(url, "") in operations) || address in operations;
      expect([address, inContract || [200, 308].includes((await sendRequest(address)).status ?? 0)]).toEqual([
        address,
        true,
      ]);
    }
  });

  test.each([
    ["POST", "/"],
    ["POST", "/docs/api/createKey"],
    ["GET", "/favicon.png"],
    ["GET", "/api"],
    ["GET", "/api/v1/unknown"],
  ])("a request for %s %s still needs a key", async (method, path) => {
    expect((await sendRequest(path, {}, method)).status).toBe(599);
  });
});

describe("the page of the API reference", () => {
  test("loads only its own files, and its policy permits no others", async () => {
    const { headers, body } = await sendRequest("/docs/api/createKey");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const files = [...body.toString().matchAll(/\s(?:src|href)="([^"]+)"/g)].map(([, file]) => file as string);
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) {
      expect(file).toMatch(/^\/docs\/assets\//);
      const { status, headers: own } = await sendRequest(file);
      expect([status, own["cache-control"]]).toEqual([200, "public, max-age=31536000, immutable"]);
    }
  });
});
