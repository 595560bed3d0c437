/** Role: an OpenAI-compatible upstream on raw sockets; the name of the model selects its script. */
import { type AddressInfo, type Socket, createServer } from "node:net";
import { machineClockMs } from "../../../support/machine.ts";
import { serve } from "./commands.ts";
import {
  serverErrorAnswer,
  deltaBurst,
  mockDelta,
  floodPart,
  refusalAnswer,
  mockStreamHead,
  streamTail,
  wholeAnswer,
} from "./mock-answers.ts";
import { type MockRequest, RequestReader } from "./mock-request.ts";

/** Time at which the socket of each tagged request closed, by tag, in milliseconds of the machine-wide clock. */
const closedAtMs = new Map<string, number>();
const floods = new Set<Socket>();
const stepped = new Set<Socket>();
let connections = 0;
let failing = false;
let asked = 0;

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new RequestReader();
  connections++;
  socket.on("data", (bytes) => {
    try {
      for (const request of reader.feed(bytes)) answer(socket, request);
    } catch (error) {
      process.stderr.write(`mock upstream: ${error instanceof Error ? error.message : String(error)}\n`);
      socket.end(refusalAnswer("400 Bad Request"));
    }
  });
  // A client that aborts may reset the connection.
  socket.on("error", () => undefined);
  socket.on("close", () => {
    connections--;
    floods.delete(socket);
    stepped.delete(socket);
  });
});

function answer(socket: Socket, { script, tag }: MockRequest): void {
  if (tag !== undefined) noteClose(socket, tag);
  asked++;
  if (script.kind === "json" || (script.kind === "outage" && !failing)) socket.write(wholeAnswer);
  else if (script.kind === "outage") socket.write(serverErrorAnswer);
  else if (script.kind === "burst") socket.write(deltaBurst(script.deltas));
  else if (script.kind === "flood") flood(socket);
  else if (script.kind === "silent") begin(socket);
  else if (script.kind === "stepped") beginStepped(socket);
  else if (script.kind === "step") step(socket);
  else pace(socket, script.deltas, script.gapMs);
}

function noteClose(socket: Socket, tag: string): void {
  const note = () => {
    if (!closedAtMs.has(tag)) closedAtMs.set(tag, machineClockMs());
  };
  socket.once("end", note);
  socket.once("close", note);
}

/** Begins a stream. The first delta is sent together with the headers, so the time to it contains no timer. */
function begin(socket: Socket): void {
  socket.cork();
  socket.write(mockStreamHead);
  socket.write(mockDelta);
  socket.uncork();
}

function beginStepped(socket: Socket): void {
  stepped.add(socket);
  begin(socket);
}

function step(asking: Socket): void {
  for (const socket of stepped) socket.write(mockDelta);
  asking.write(wholeAnswer);
}

function pace(socket: Socket, deltas: number, gapMs: number): void {
  begin(socket);
  let left = deltas - 1;
  const timer = setInterval(() => {
    if (left-- > 0) return socket.write(mockDelta);
    stop();
    socket.write(streamTail);
  }, gapMs);
  const stop = () => {
    clearInterval(timer);
    socket.off("close", stop);
  };
  socket.on("close", stop);
}

function flood(socket: Socket): void {
  floods.add(socket);
  socket.write(mockStreamHead);
  const fill = () => {
    while (!socket.destroyed && socket.write(floodPart));
  };
  socket.on("drain", fill);
  fill();
}

const commands = {
  listen: () =>
    new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
    }),
  closed: (tags: readonly string[]) => new Map(tags.map((tag) => [tag, closedAtMs.get(tag)])),
  /** Bytes of each endless answer that the kernel has accepted. */
  accepted: () => [...floods].map((socket) => socket.bytesWritten - socket.writableLength),
  connections: () => connections,
  /** Sets whether requests for `outage` fail. */
  fail: (on: boolean) => void (failing = on),
  /** Number of requests so far. */
  asked: () => asked,
};
export type MockCommands = typeof commands;
serve(commands);
