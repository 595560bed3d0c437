/** An HTTP/1 server in a busy process: new connections wait in the system's queue, and are not refused. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type Socket, connect } from "node:net";
import { expect, test } from "@jest/globals";
import { listen } from "@sluice/proto/lib/http1/server.js";

const connections = 1_500;

/** Number of connections that wait to be accepted at a port, as Linux counts them. */
function waitingAt(port: number): number {
  const listening = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, "0")} \\S+ 0A \\S+:(\\S+) `);
  const counts = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap(
    (path) => listening.exec(readFileSync(path, "utf8"))?.[1] ?? [],
  );
  return Number.parseInt(counts[0] ?? "", 16);
}

const most = process.platform === "linux" ? Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8")) : 0;

(most < connections ? test.skip : test)(`${connections} clients that connect at once`, async () => {
  const server = createServer();
  const port = await listen(server, 0);
  const clients: Socket[] = [];
  for (let n = 0; n < connections; n++) clients.push(connect(port, "127.0.0.1").on("error", () => {}));
  // The count is taken after the connections were made, before any is accepted.
  const waiting = await new Promise((resolve) => process.nextTick(() => resolve(waitingAt(port))));
  for (const client of clients) client.destroy();
  server.closeAllConnections();
  server.close();
  expect(waiting).toBe(connections);
});
