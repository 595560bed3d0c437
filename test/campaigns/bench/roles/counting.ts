/**
 * Loaded into the processes of an installation by `--import`, with the folder for sockets as its query. On command it counts promises, allocated and
 * surviving bytes, processor time and entered functions. Without a command the process behaves as usual.
 */
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { Allocations } from "../counts/allocations.ts";
import { type CountCommand, type CountReply, type CountResult, socketOf } from "../counts/channel.ts";
import { CpuKinds } from "../counts/cpu-kinds.ts";
import { Functions } from "../counts/functions.ts";
import { Promises } from "../counts/promises.ts";

const folder = new URL(import.meta.url).searchParams.get("folder");
/** Whether this process counts: the supervisor and its helpers load this module, too. */
const isCounted = /\/(gateway|inference-svc)\/(bundle|dist)\/main\.js$/.test(process.argv[1] ?? "");

const none: CountResult = { amount: 0, places: [] };

function serve(path: string): void {
  const counters = {
    bytes: new Allocations({ outliving: false }),
    survivors: new Allocations({ outliving: true }),
    promises: new Promises(),
    kinds: new CpuKinds(),
    functions: new Functions(),
  };
  const obey = (command: CountCommand): CountResult => {
    const counter = counters[command.quantity];
    if (command.do === "start") {
      counter.start(command.places);
      return none;
    }
    const { amount, tally } = counter.stop();
    return { amount, places: tally?.top(command.places) ?? [] };
  };
  const server = createServer((socket) => {
    socket.on("error", () => undefined).unref();
    createInterface(socket).on("line", (line) => {
      let reply: CountReply;
      try {
        reply = { result: obey(JSON.parse(line) as CountCommand) };
      } catch (error) {
        reply = { error: String(error) };
      }
      socket.write(`${JSON.stringify(reply)}\n`);
    });
  });
  // The server must not keep the process alive after its drain.
  server.listen(path).unref();
}

if (folder !== null && isCounted) serve(socketOf(folder, process.pid));
