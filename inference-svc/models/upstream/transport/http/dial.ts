/** Opens sockets to one server. */
import { type LookupFunction, type OnReadOpts, type Socket, connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";

/**
 * Milliseconds of silence before a TCP keep-alive probe. Load balancers between two machines keep a silent connection
 * for at least this long.
 */
const keepAliveProbeMs = 60_000;

/**
 * Buffer that all sockets share, because the bytes of a read are used up before the next read. A buffer for each read
 * would be most of the memory a call allocates.
 */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Called with the bytes of each read, which are valid only during the call. */
export type OnRead = (bytes: Buffer) => void;

export class Dialer {
  readonly #hostname: string;
  readonly #port: number;
  readonly #isSecure: boolean;
  readonly #lookup: LookupFunction;
  /** The last TLS session, with which the next handshake is shorter. */
  #session: Buffer | undefined;

  constructor(origin: URL, lookup: LookupFunction) {
    this.#hostname = origin.hostname.replace(/^\[(.*)\]$/, "$1");
    this.#isSecure = origin.protocol === "https:";
    this.#port = Number(origin.port) || (this.#isSecure ? 443 : 80);
    this.#lookup = lookup;
  }

  /** Opens a socket. @param ready called when requests can be sent */
  dial(onRead: OnRead, ready: () => void): Socket {
    const target = {
      host: this.#hostname,
      port: this.#port,
      lookup: this.#lookup,
      onread: readInto(onRead),
    };
    const socket = this.#isSecure ? this.#dialTls(target, ready) : connect(target, ready);
    return socket.setNoDelay(true).setKeepAlive(true, keepAliveProbeMs);
  }

  #dialTls(
    target: { host: string; port: number; lookup: LookupFunction; onread: OnReadOpts },
    ready: () => void,
  ): Socket {
    const socket = connectTls(
      {
        ...target,
        // In TLS, an IP address cannot be sent as the server's name.
        servername: isIP(target.host) ? "" : target.host,
        ALPNProtocols: ["http/1.1"],
        ...(this.#session && { session: this.#session }),
      },
      ready,
    );
    socket.on("session", (session) => {
      this.#session = session;
    });
    // The TLS session is forgotten after an error: some servers fail a handshake that resumes a session they no longer
    // know, and each new connection would fail.
    return socket.once("error", () => {
      this.#session = undefined;
    });
  }
}

const readInto = (onRead: OnRead): OnReadOpts => ({
  buffer: readBuffer,
  callback(size) {
    onRead(readBuffer.subarray(0, size));
    return true;
  },
});
