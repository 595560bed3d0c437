/** Serves requests with an Upgrade header. An accepted upgrade leaves HTTP; all other requests are served as if they had no such header. */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { hasOtherVersion } from "@sluice/proto/lib/http1/framing.js";
import { firstPendingResponse } from "@sluice/proto/lib/http1/pending-responses.js";

export interface UpgradeHandler {
  takes(request: IncomingMessage): boolean;
  /** @param head first bytes received after the headers */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void>;
}

/** Headers that belong to an upgrade only. */
const upgradeHeaders: ReadonlySet<string> = new Set(["upgrade", "http2-settings"]);

/**
 * Node calls a listener for every request with an Upgrade header, and common clients send `h2c` in each request. Requests without an accepted upgrade
 * therefore go back to Node's parser.
 */
export function serveUpgrades(server: Server, handler: UpgradeHandler): void {
  const serve = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    // The answers to earlier requests on the connection must be sent first.
    const pending = firstPendingResponse(socket);
    if (pending) return void pending.once("close", () => serve(request, socket, head));
    // After an early refusal, a listener of this program reads the connection, not Node's parser.
    socket.removeAllListeners("data");
    if (!hasOtherVersion(request) && handler.takes(request)) return void handler.upgrade(request, socket, head);
    socket.unshift(Buffer.concat([headWithoutUpgrade(request), head]));
    server.emit("connection", socket);
  };
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => {});
    serve(request, socket as Socket, head);
  });
}

/** The head of a request as received, without the headers of the upgrade. */
function headWithoutUpgrade({ method = "", url = "", httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name, value] = [rawHeaders[index] as string, rawHeaders[index + 1] as string];
    if (upgradeHeaders.has(name.toLowerCase())) continue;
    const kept = name.toLowerCase() === "connection" ? withoutUpgradeTokens(value) : value;
    head += `${name}: ${kept}\r\n`;
  }
  return Buffer.from(`${head}\r\n`, "latin1");
}

const withoutUpgradeTokens = (value: string): string =>
  value
    .split(",")
    .map((token) => token.trim())
    .filter((token) => !upgradeHeaders.has(token.toLowerCase()))
    .join(", ");
