/** Responses of hostile or old servers, read without a socket. */
import { describe, expect, test } from "@jest/globals";
import { ResponseParser } from "@sluice/inference-svc/models/upstream/transport/http/response-parser.js";

interface Read {
  readonly status: number;
  readonly keepsAlive: boolean;
  readonly body: string;
  readonly isEnded: boolean;
}

/** Reads one response. @throws ConnectionError */
function read(text: string): Read {
  let response: Read = { status: 0, keepsAlive: false, body: "", isEnded: false };
  const parser = new ResponseParser({
    head: ({ status, keepsAlive }) => (response = { ...response, status, keepsAlive }),
    data: (bytes) => (response = { ...response, body: response.body + bytes.toString("latin1") }),
    end: () => (response = { ...response, isEnded: true }),
  });
  parser.isExpecting = true;
  parser.feed(Buffer.from(text, "latin1"));
  return response;
}

const chunked = (extensions: string) =>
  `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2${extensions}\r\nHi\r\n0\r\n\r\n`;

describe("chunk extensions of a provider's response", () => {
  test.each([";a", ";a=b;c", ';a="b;c=d"', ';a="say \\"Hi\\"";b', ';a="";b=""'])(
    "of the form %s are skipped",
    (extensions) => {
      expect(read(chunked(extensions))).toMatchObject({ body: "Hi", isEnded: true });
    },
  );

  test.each([";", ";=b", ';a="b', ';a="b"c', ";a b", ';a="b\\"'])("of the form %s are refused", (extensions) => {
    expect(() => read(chunked(extensions))).toThrow("invalid chunk extensions");
  });

  test("are refused in linear time", () => {
    const startedAt = performance.now();
    // Every pair of quotation marks could be inside a longer value: a pattern with backtracking takes minutes.
    expect(() => read(chunked(`${';a=""'.repeat(30)}(`))).toThrow("invalid chunk extensions");
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

test.each(["digest: abc", "content-length: 5", "transfer-encoding: gzip"])(
  "a trailer of a provider's response is ignored, %s",
  (trailer) => {
    const text = chunked("").replace(/\r\n$/, `${trailer}\r\n\r\n`);
    expect(read(text)).toMatchObject({ body: "Hi", isEnded: true });
  },
);

describe("an interim response of a provider", () => {
  const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHi";

  // RFC 9110, 15.2: even clients that do not expect them must read them.
  test.each(["100 Continue", "102 Processing", "103 Early Hints\r\nlink: </a>"])(
    "with %s is skipped",
    (informational) => {
      expect(read(`HTTP/1.1 ${informational}\r\n\r\n${ok}`)).toMatchObject({ status: 200, body: "Hi", isEnded: true });
    },
  );

  test("is refused when it changes the protocol, because no request asks for it", () => {
    expect(() => read(`HTTP/1.1 101 Switching Protocols\r\n\r\n${ok}`)).toThrow("unexpected status 101");
  });

  test("counts together with all others towards the limit of one head", () => {
    expect(() => read("HTTP/1.1 100 Continue\r\n\r\n".repeat(3_000) + ok)).toThrow("head of more than 65536 bytes");
  });
});

// RFC 9112, 6.1: such a server may not know the coding, so the end of the body is not certain.
test("a connection of HTTP/1.0 is not used again after a chunked body", () => {
  const head = "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n";
  expect(read(`${head}content-length: 2\r\n\r\nHi`).keepsAlive).toBe(true);
  expect(read(`${head}transfer-encoding: chunked\r\n\r\n2\r\nHi\r\n0\r\n\r\n`)).toEqual({
    status: 200,
    keepsAlive: false,
    body: "Hi",
    isEnded: true,
  });
});
