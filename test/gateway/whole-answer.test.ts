/** Whole answers equal those that Node writes, except for the order of header fields; unusual answers are left to Node. */
import { type Server, type ServerResponse, createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import { writeWholeAnswer } from "@sluice/gateway/edge/http/whole-answer.js";

const fields = { "content-type": "application/json", "x-request-id": "req_1" };
const lines = "content-type: application/json\r\nx-request-id: req_1\r\n";

let server: Server;
afterEach(() => void server.close());

/** Sends the text and collects the answers until the server closes the connection, as the last request asks. */
async function exchange(answer: (response: ServerResponse) => void, text: string): Promise<string> {
  server = createServer((request, response) => {
    if (request.url === "/last") response.writeHead(204, { connection: "close" }).end();
    else request.resume().on("end", () => answer(response));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.end(`${text}GET /last HTTP/1.1\r\nhost: a\r\n\r\n`);
  let received = "";
  for await (const chunk of socket.setEncoding("utf8")) received += String(chunk);
  return received.slice(0, received.indexOf("HTTP/1.1 204"));
}

const request = (more = ""): string => `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n${more}\r\n{}`;

/** Header fields in lower case with their values, sorted, and the time separately. */
function fieldsOf(answer: string): string[] {
  const [start = "", ...rest] = answer.slice(0, answer.indexOf("\r\n\r\n")).split("\r\n");
  const named = rest.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()));
  return [start, ...named.filter((line) => !line.startsWith("date:")).sort()];
}

const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);

test.each(["{}", "grüße 🙂 \ud800", "x".repeat(20_000), "x".repeat(100_000)])(
  "an answer that the gateway writes by itself equals that of Node",
  async (body) => {
    const nodes = await exchange((response) => {
      response.writeHead(200, { ...fields, "content-length": Buffer.byteLength(body) }).end(body);
    }, request());
    server.close();
    let isWritten = false;
    const whole = await exchange((response) => {
      isWritten = writeWholeAnswer(response, lines, body);
      if (!isWritten) response.writeHead(200, { ...fields, "content-length": Buffer.byteLength(body) }).end(body);
    }, request());
    expect(isWritten).toBe(body.length < 20_001);
    expect(fieldsOf(whole)).toEqual(fieldsOf(nodes));
    expect(bodyOf(whole)).toBe(bodyOf(nodes));
  },
);

test.each([
  ["a connection that ends", request("connection: close\r\n"), () => {}],
  ["other fields", request(), (response: ServerResponse) => void response.setHeader("x-other", "1")],
])("an answer with %s is written by Node", async (_, text, prepare) => {
  const written: boolean[] = [];
  await exchange((response) => {
    prepare(response);
    written.push(writeWholeAnswer(response, lines, "{}"));
    response.end();
  }, text);
  expect(written).toEqual([false]);
});

test("pipelined requests are answered one after the other, and each completed write is reported", async () => {
  let count = 0;
  const finished: string[] = [];
  const answers = await exchange(
    (response) => {
      const name = `"${++count}"`;
      response.on("close", () => finished.push(`${name} ${response.writableFinished}`));
      if (!writeWholeAnswer(response, lines, name)) response.writeHead(200, { "content-length": 3 }).end(name);
    },
    request() + request() + request(),
  );
  expect([...answers.matchAll(/"(\d)"/g)].map(([, name]) => name)).toEqual(["1", "2", "3"]);
  expect(finished).toEqual(['"1" true', '"2" true', '"3" true']);
});
