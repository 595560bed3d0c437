/** A connection between its requests: when it is reused, which failures it survives, and its encryption. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { Connections } from "@sluice/inference-svc/models/upstream/transport/connections.js";
import type { ResponseHandler } from "@sluice/inference-svc/models/upstream/transport/http/connection.js";
import type { ResponseHead } from "@sluice/inference-svc/models/upstream/transport/http/response-head.js";

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHi";

/** A server that gives each request a scripted answer, and counts its sockets. */
let server: Server;
let connections: Connections;
const sockets: Socket[] = [];
afterEach(async () => {
  await connections.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

type OnRequest = (socket: Socket, text: string) => void;

async function begin(onRequest: OnRequest, scheme = "http", listening = createServer()): Promise<void> {
  server = listening.on(scheme === "https" ? "secureConnection" : "connection", (socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (chunk) => onRequest(socket, chunk.toString("latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  connections = new Connections(`${scheme}://localhost:${(server.address() as AddressInfo).port}`, 5_000);
}

/** Sends a request, and collects its response. */
function runRequest(body = "{}"): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const handler: ResponseHandler = {
      onRequestStart: () => {},
      onResponseStart: ({ status }: ResponseHead) => {
        text += `${status} `;
      },
      onResponseData: (bytes) => {
        text += bytes.toString();
      },
      onResponseEnd: () => resolve(text),
      onResponseError: reject,
    };
    connections.take().send({ head: "POST / HTTP/1.1\r\nhost: localhost\r\n", body }, handler);
  });
}

const turns = async (count = 10) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
};

describe("a connection to a provider between two requests", () => {
  test.each<[string, (socket: Socket | undefined) => void]>([
    ["closed", (socket) => socket?.destroy()],
    ["reset", (socket) => socket?.resetAndDestroy()],
  ])("that is %s by the server is opened again, invisible to the client", async (_, close) => {
    await begin((socket) => socket.write(ok));
    expect(await runRequest()).toBe("200 Hi");
    await turns(1);
    // The client has not noticed the end of the connection when the next request comes.
    close(sockets[0]);
    expect(await runRequest()).toBe("200 Hi");
    expect(sockets).toHaveLength(2);
  });

  test("is closed by an answer without a request", async () => {
    await begin((socket) => socket.write(ok));
    expect(await runRequest()).toBe("200 Hi");
    await turns(1);
    sockets[0]?.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother");
    expect(await runRequest()).toBe("200 Hi");
    expect(sockets).toHaveLength(2);
  });

  test("is closed by a second answer to a request", async () => {
    await begin((socket) => socket.write(ok + ok));
    expect(await runRequest()).toBe("200 Hi");
    await turns();
    expect(await runRequest()).toBe("200 Hi");
    expect(sockets).toHaveLength(2);
  });

  test("is not used again after an answer before the whole request", async () => {
    let answered = false;
    await begin((socket) => {
      if (!answered) socket.write(ok);
      answered = true;
      socket.pause();
    });
    expect(await runRequest("x".repeat(16 * 1024 * 1024))).toBe("200 Hi");
    answered = false;
    expect(await runRequest()).toBe("200 Hi");
    expect(sockets).toHaveLength(2);
  });

  test("is not reused near the limit of a server that closes idle connections after two seconds", async () => {
    await begin((socket) => socket.write(ok.replace("\r\n", "\r\nkeep-alive: timeout=2\r\n")));
    await runRequest();
    await runRequest();
    expect(sockets).toHaveLength(2);
  });

  test("is closed when it is idle", async () => {
    await begin((socket) => socket.write(ok.replace("\r\n", "\r\nkeep-alive: timeout=3\r\n")));
    await runRequest();
    await once(sockets[0] as Socket, "close");
    await runRequest();
    expect(sockets).toHaveLength(2);
  });

  test("is kept by the pool until a running request has ended, at shutdown", async () => {
    await begin((socket) => setTimeout(() => socket.write(ok), 50));
    const answer = runRequest();
    await turns();
    const closed = connections.close();
    expect(await answer).toBe("200 Hi");
    await closed;
    await once(sockets[0] as Socket, "close");
  });
});

describe("a request to a provider", () => {
  test.each(["{}", '{"a":"grüße 東京 😀"}', "x".repeat(300_000), "é".repeat(200_000)])(
    "arrives with its whole body, %#",
    async (body) => {
      let received = "";
      await begin((socket, text) => {
        received += text;
        if (received.length >= Buffer.byteLength(body) + received.indexOf("\r\n\r\n") + 4) socket.write(ok);
      });
      expect(await runRequest(body)).toBe("200 Hi");
      expect(Buffer.from(received, "latin1").toString()).toBe(
        `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    },
  );

  test("gets its own response, not a concurrent one", async () => {
    await begin((socket, text) => {
      const letter = text.at(-1) ?? "";
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 400000\r\n\r\n${letter.repeat(400_000)}`);
    });
    const letters = ["a", "b", "c", "d"];
    expect(await Promise.all(letters.map(runRequest))).toEqual(
      letters.map((letter) => `200 ${letter.repeat(400_000)}`),
    );
  });
});

describe("a TLS connection to a provider", () => {
  let folder: string;
  let credentials: { key: Buffer; cert: Buffer };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    execFileSync("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    credentials = { key: readFileSync(key), cert: readFileSync(cert) };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("with an unknown certificate is refused before anything is sent", async () => {
    let requests = 0;
    await begin(() => void requests++, "https", createTlsServer(credentials));
    await expect(runRequest()).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(requests).toBe(0);
  });

  test("without an answer to the handshake is given up", async () => {
    await begin(() => {}, "http");
    connections = new Connections(`https://localhost:${(server.address() as AddressInfo).port}`, 50);
    await expect(runRequest()).rejects.toMatchObject({ code: "ERR_CONNECT_TIMEOUT" });
  });
});
