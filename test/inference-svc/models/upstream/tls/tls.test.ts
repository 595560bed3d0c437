/** Answers over TLS from servers with trusted certificates, and what happens with untrusted ones. */
import { type ChildProcess, fork } from "node:child_process";
import { constants, createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, type Server as TcpServer, type Socket, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Server, TLSSocket, type TlsOptions, createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type Authority, newAuthority, readCredentials, writeCertificate } from "../../../../support/certificates.js";
import { waitUntilStable } from "../../../../support/clock.js";
import { bareEnvironment, eventually } from "../../../../support/processes.js";
import type { CallerCommand, CallerReport } from "./caller.js";

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHi";
const closing = ok.replace("\r\n", "\r\nconnection: close\r\n");
const dayMs = 86_400_000;

let folder: string;
let authority: Authority;
let caller: ChildProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-upstream-tls-"));
  authority = await newAuthority("providers");
  await certify("localhost", ["localhost", "127.0.0.1"]);
  caller = fork(fileURLToPath(new URL("caller.js", import.meta.url)), {
    env: { ...bareEnvironment(), NODE_EXTRA_CA_CERTS: join(folder, "localhost", "ca.crt") },
  });
});
afterAll(async () => {
  caller.disconnect();
  await once(caller, "exit");
  rmSync(folder, { recursive: true });
});

const certify = (name: string, hosts: readonly string[], until?: Date): Promise<void> =>
  writeCertificate(join(folder, name), { hosts, by: authority, trusted: [authority], ...(until && { until }) });

const credentials = (name: string) => readCredentials(join(folder, name));

let server: TcpServer;
let port: number;
const sockets: TLSSocket[] = [];
/** The TCP sockets below the TLS connections. */
const rawSockets: Socket[] = [];
/** Versions of TLS by connection, and whether it resumed a session. */
const handshakes: string[] = [];
/** The requests that the servers received. */
const requests: string[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  rawSockets.length = 0;
  handshakes.length = 0;
  requests.length = 0;
  server.close();
});

type OnRequest = (socket: TLSSocket, path: string) => unknown;

function accept(socket: TLSSocket, onRequest: OnRequest): void {
  sockets.push(socket);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    const [, path = ""] = chunk.toString("latin1").split(" ");
    requests.push(path);
    void onRequest(socket, path);
  });
}

async function listen(listening: TcpServer): Promise<void> {
  server = listening;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
}

async function begin(onRequest: OnRequest, options: TlsOptions = {}, name = "localhost"): Promise<Server> {
  const secure = createServer({ ...credentials(name), ...options });
  secure.on("connection", (raw: Socket) => rawSockets.push(raw));
  secure.on("secureConnection", (socket) => {
    handshakes.push(`${socket.getProtocol()} ${socket.isSessionReused() ? "resumed" : "whole"}`);
    accept(socket, onRequest);
  });
  await listen(secure);
  return secure;
}

let lastId = 0;

interface Asked {
  readonly id: number;
  /** The next report about the request. */
  next(): Promise<CallerReport>;
}

function startAsking(
  options: {
    readonly host?: string;
    readonly path?: string;
    readonly stopsAfter?: number;
    readonly blocksMs?: number;
  } = {},
): Asked {
  const { host = "localhost", path = "/", ...rest } = options;
  const id = ++lastId;
  const order: CallerCommand = { kind: "ask", id, origin: `https://${host}:${port}`, path, ...rest };
  caller.send(order);
  const next = () =>
    new Promise<CallerReport>((resolve) => {
      const read = (report: CallerReport) => {
        if (report.id !== id) return;
        caller.off("message", read);
        resolve(report);
      };
      caller.on("message", read);
    });
  return { id, next };
}

const runRequest = (options?: Parameters<typeof startAsking>[0]): Promise<CallerReport> => startAsking(options).next();

const sha1 = (bytes: string | Buffer): string => createHash("sha1").update(bytes).digest("hex");

describe("a provider over TLS", () => {
  test("answers several requests on one connection", async () => {
    await begin((socket) => socket.write(ok), { ALPNProtocols: ["h2", "http/1.1"] });
    for (const path of ["/a", "/b", "/c"])
      expect(await runRequest({ path })).toMatchObject({ kind: "ended", status: 200, end: "Hi" });
    expect([sockets.length, requests]).toEqual([1, ["/a", "/b", "/c"]]);
    expect(sockets[0]?.alpnProtocol).toBe("http/1.1");
  });

  test("keeps the connection when its response is there before the process reads", async () => {
    await begin((socket) => socket.write(ok));
    for (const blocksMs of [0, 100, 0])
      expect(await runRequest({ blocksMs })).toMatchObject({ kind: "ended", status: 200 });
    expect(sockets.length).toBe(1);
  });

  test("is reached by its address", async () => {
    await begin((socket) => socket.write(ok));
    expect(await runRequest({ host: "127.0.0.1" })).toMatchObject({ kind: "ended", end: "Hi" });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)("resumes its session on the next connection, %s", async (version) => {
    await begin((socket) => socket.end(closing), { minVersion: version, maxVersion: version });
    expect((await runRequest()).kind).toBe("ended");
    expect((await runRequest()).kind).toBe("ended");
    expect(handshakes).toEqual([`${version} whole`, `${version} resumed`]);
  });

  test("that fails to resume a session gets a whole handshake next", async () => {
    // Sessions identified by ids instead of tickets, which servers look up.
    const options = { maxVersion: "TLSv1.2", secureOptions: constants.SSL_OP_NO_TICKET } as const;
    const secure = await begin((socket) => socket.end(closing), options);
    const known = new Set<string>();
    secure.on("newSession", (id, _session, done) => {
      known.add(id.toString("hex"));
      done();
    });
    secure.on("resumeSession", (id, done) => {
      done(known.has(id.toString("hex")) ? new Error("the table of sessions is gone") : null, null);
    });
    expect((await runRequest()).kind).toBe("ended");
    expect(await runRequest()).toMatchObject({ kind: "failed", isSent: false });
    expect((await runRequest()).kind).toBe("ended");
    expect(handshakes).toEqual(["TLSv1.2 whole", "TLSv1.2 whole"]);
  });

  test("is not read further while the reader of a large body pauses", async () => {
    const body = Buffer.alloc(24 * 1024 * 1024, "0123456789abcdef!");
    await begin((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
      let at = 0;
      const write = () => {
        while (at < body.length) if (!socket.write(body.subarray(at, (at += 65_536)))) return;
        socket.off("drain", write);
      };
      socket.on("drain", write);
      write();
    });
    const asked = startAsking({ stopsAfter: 1_000_000 });
    const stopped = await asked.next();
    expect(stopped).toMatchObject({ kind: "stopped", status: 200 });
    const written = await waitUntilStable(() => sockets[0]?.bytesWritten ?? 0);
    // The bytes that were already read, and those in the buffers of the system.
    expect(written).toBeLessThan(body.length / 2);
    const whole = asked.next();
    caller.send({ kind: "resume", id: asked.id } satisfies CallerCommand);
    expect(await whole).toMatchObject({ kind: "ended", bytes: body.length, sha1: sha1(body) });
    expect((await runRequest()).kind).toBe("ended");
    expect(sockets).toHaveLength(1);
  });

  test("is read byte by byte, each in a separate record", async () => {
    const events = 'data: {"a":"grüße 東京"}\n\ndata: [DONE]\n\n';
    const chunks = Buffer.from(events, "utf8");
    await begin(async (socket) => {
      const text = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks.length.toString(16)}\r\n`;
      for (const byte of Buffer.concat([Buffer.from(text), chunks, Buffer.from("\r\n0\r\n\r\n")])) {
        socket.write(Uint8Array.of(byte));
        await new Promise(setImmediate);
      }
    });
    expect(await runRequest()).toMatchObject({ kind: "ended", sha1: sha1(events) });
    expect((await runRequest()).sha1).toBe(sha1(events));
    expect(sockets).toHaveLength(1);
  });

  test("ends a body without a length by closing the connection", async () => {
    await begin((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nthe whole answer"));
    expect(await runRequest()).toMatchObject({ kind: "ended", end: "the whole answer" });
    expect(await runRequest()).toMatchObject({ kind: "ended", end: "the whole answer" });
    expect(sockets).toHaveLength(2);
  });

  test("keeps two concurrent answers apart", async () => {
    await begin((socket, path) => {
      const body = path.slice(1).repeat(3_000_000);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
    const letters = ["a", "b", "c"];
    const reports = await Promise.all(letters.map((letter) => runRequest({ path: `/${letter}` })));
    expect(reports.map((report) => report.sha1)).toEqual(letters.map((letter) => sha1(letter.repeat(3_000_000))));
    expect(sockets).toHaveLength(3);
  });
});

describe("a TLS connection closed by the provider", () => {
  test.each<[string, (socket: TLSSocket, raw: Socket) => Socket]>([
    ["in good order", (socket) => socket.end()],
    ["at once", (socket) => socket.destroy()],
    ["with a reset", (_, raw) => raw.resetAndDestroy()],
  ])("between two requests is opened again, %s", async (_, close) => {
    await begin((socket) => socket.write(ok));
    expect((await runRequest()).kind).toBe("ended");
    await once(close(sockets[0] as TLSSocket, rawSockets[0] as Socket), "close");
    expect(await runRequest()).toMatchObject({ kind: "ended", end: "Hi" });
    expect([sockets.length, requests.length]).toEqual([2, 2]);
  });

  test("is opened again only once", async () => {
    const secure = await begin((socket) => socket.write(ok));
    expect((await runRequest()).kind).toBe("ended");
    const [first] = sockets as [TLSSocket];
    secure.on("secureConnection", (socket) => socket.destroy());
    const closed = once(first, "close");
    first.destroy();
    await closed;
    expect((await runRequest()).kind).toBe("failed");
    expect([sockets.length, requests.length]).toEqual([2, 1]);
  });

  test.each<[string, string]>([
    ["counted", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHalf"],
    ["chunked", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nHalf"],
    ["chunked, between two chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nHalf\r\n"],
  ])("in the middle of a body has failed, %s", async (_, half) => {
    await begin((socket) => socket.end(half));
    expect(await runRequest()).toMatchObject({
      kind: "failed",
      end: "Half",
      code: "ERR_CONNECTION_CLOSED",
      isSent: true,
    });
  });

  test("in the middle of a body has failed, even without a TLS alert", async () => {
    await listen(
      createTcpServer((raw) => {
        raw.on("error", () => {});
        accept(new TLSSocket(raw, { isServer: true, ...credentials("localhost") }), (socket) =>
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHalf", () => raw.destroy()),
        );
      }),
    );
    expect(await runRequest()).toMatchObject({ kind: "failed", end: "Half", isSent: true });
  });
});

describe("a cancelled request over TLS", () => {
  /** A reset counts as well: a client sends one if it has not read everything. */
  const untilClosed = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));
  const giveUp = ({ id }: Asked) => caller.send({ kind: "close", id } satisfies CallerCommand);

  test("during the handshake closes its connection", async () => {
    await listen(createTcpServer());
    const asked = startAsking();
    const [raw] = (await once(server, "connection")) as [Socket];
    const [hello] = (await once(raw, "data")) as [Buffer];
    expect(hello[0]).toBe(0x16);
    giveUp(asked);
    await untilClosed(raw);
  });

  test.each([
    ["before the head", "", undefined],
    ["in a body that nobody reads", `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(100_000)}`, 1],
  ])("that is %s closes its connection, and the next one has another", async (_, text, stopsAfter) => {
    await begin((socket, path) => socket.write(path === "/next" ? ok : text));
    const asked = startAsking(stopsAfter === undefined ? {} : { stopsAfter });
    if (stopsAfter === undefined) await eventually(() => requests.length === 1);
    else expect((await asked.next()).kind).toBe("stopped");
    giveUp(asked);
    await untilClosed(sockets[0] as TLSSocket);
    expect(await runRequest({ path: "/next" })).toMatchObject({ kind: "ended", end: "Hi" });
    expect(sockets).toHaveLength(2);
  });
});

describe("a wrong TLS server", () => {
  test.each<[string, string, readonly string[], Date | undefined, string]>([
    ["of another name", "other", ["other.test"], undefined, "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["whose certificate has expired", "expired", ["localhost"], new Date(Date.now() - dayMs / 2), "CERT_HAS_EXPIRED"],
  ])("gets no request, %s", async (_, name, hosts, until, code) => {
    await certify(name, hosts, until);
    await begin((socket) => socket.write(ok), {}, name);
    expect(await runRequest()).toMatchObject({ kind: "failed", code, isSent: false });
    expect(requests).toEqual([]);
  });

  test("gets no request with an untrusted authority", async () => {
    const stranger = await newAuthority("stranger");
    await writeCertificate(join(folder, "strange"), { hosts: ["localhost"], by: stranger, trusted: [] });
    await begin((socket) => socket.write(ok), {}, "strange");
    expect(await runRequest()).toMatchObject({
      kind: "failed",
      code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      isSent: false,
    });
    expect(requests).toEqual([]);
  });
});
