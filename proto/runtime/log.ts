/** JSON lines on standard output. Prompts, answers, keys and end users are never logged: pass ids and counts. */
import { type DestinationStream, type Logger as PinoLogger, pino } from "pino";
import { loggedError } from "./log-error.ts";
import type { LogFields, Logger } from "./log-fields.ts";

export type { LogFields, Logger };

/** The millisecond of the last line, and how it is written: under load several lines share it. */
let writtenMs = 0;
let writtenTime = "";

function isoTime(): string {
  const now = Date.now();
  if (now !== writtenMs) {
    writtenMs = now;
    writtenTime = `,"time":"${new Date(now).toISOString()}"`;
  }
  return writtenTime;
}

/** Lines are written by the batch (below the 16 KiB that the stream writes at once), at the latest after 200 ms, so that a request never waits for the pipe. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({ fd: 1, sync: false, minLength: 16_000, periodicFlush: 200 });
  process.on("exit", () => {
    try {
      destination.flushSync();
    } catch {
      // Not yet opened: nothing was logged.
    }
  });
  return destination;
}

/** What terminals and viewers act upon although JSON lets it stand as it is: C1, ends of lines, marks and overrides of direction. */
const acting = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The same JSON. Nothing but a string can hold such a character. */
const inert = (line: string): string =>
  line.replace(acting, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** One logger a process. */
export const openLog = (room: string, level: string, destination: DestinationStream = standardOutput()): Logger =>
  pino(
    {
      level,
      base: { room, pid: process.pid },
      timestamp: isoTime,
      serializers: { err: (error: unknown) => loggedError(error) },
    },
    { write: (line) => destination.write(inert(line)) },
  );

/** Lines of one kind, one for every request. */
export interface LineLog {
  /** @param members JSON, each with a comma before it, as `member` makes them */
  info(members: string): void;
  error(members: string, cause: unknown): void;
}

/** Written down member by member, because for pino to find out what an object holds costs several times as much. */
export function lineLog(log: Logger, message: string): LineLog {
  const pinoLog = log as PinoLogger;
  const { [pino.symbols.chindingsSym]: bindings, [pino.symbols.streamSym]: stream } = pinoLog as unknown as {
    readonly [pino.symbols.chindingsSym]: string;
    readonly [pino.symbols.streamSym]: DestinationStream;
  };
  const begin = `{"level":${pinoLog.levels.values["info"]}`;
  const end = `,"msg":${JSON.stringify(message)}}\n`;
  return {
    info(members) {
      if (pinoLog.isLevelEnabled("info")) stream.write(begin + isoTime() + bindings + members + end);
    },
    error: (members, cause) => pinoLog.error({ ...JSON.parse(`{${members.slice(1)}}`), err: cause }, message),
  };
}

/** Clients may send megabytes where a name belongs. */
const mostCharacters = 1_024;

/** Nothing when there is no value. A long text is cut. */
export const member = (name: keyof LogFields, value: unknown): string =>
  value === undefined
    ? ""
    : `,"${name}":${JSON.stringify(typeof value === "string" ? value.slice(0, mostCharacters) : value)}`;
