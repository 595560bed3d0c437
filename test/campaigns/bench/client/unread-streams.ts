/** Opens streams whose client never reads, and times a healthy stream meanwhile. */
import { type Socket, connect } from "node:net";
import { machineClockMs } from "../../../support/machine.ts";
import type { Script } from "../script.ts";
import { Connection, prepare } from "./connection.ts";
import { type LoadTarget, requestBytes } from "./target.ts";

export class UnreadStreams {
  readonly #sockets: Socket[] = [];

  /** Opens endless streams. A socket without a listener for data is never read. */
  async open({ target, count }: { readonly target: LoadTarget; readonly count: number }): Promise<void> {
    for (let index = 0; index < count; index++) {
      const socket = connect({ port: target.port, host: "127.0.0.1" });
      socket.on("error", () => undefined);
      this.#sockets.push(socket);
      await new Promise<void>((resolve) => {
        socket.write(requestBytes(target, { kind: "flood" }), () => resolve());
      });
    }
  }

  close(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
  }
}

export interface TimedStream {
  readonly durationMs: number;
  /** Why the stream did not complete, if so. */
  readonly problem: string | undefined;
}

/** Times a complete stream, up to a limit. */
export async function timeStream(options: {
  readonly target: LoadTarget;
  readonly script: Script;
  readonly limitMs: number;
}): Promise<TimedStream> {
  const { target, script, limitMs } = options;
  const connection = new Connection(target);
  const beganMs = machineClockMs();
  let deltas = 0;
  const late = setTimeout(() => connection.close(), limitMs);
  try {
    await connection.exchange(prepare(target, script), { deltas: (count) => void (deltas += count) });
    return { durationMs: machineClockMs() - beganMs, problem: undefined };
  } catch (error) {
    return { durationMs: machineClockMs() - beganMs, problem: `${deltas} deltas, then ${(error as Error).message}` };
  } finally {
    clearTimeout(late);
    connection.close();
  }
}
