/** Writes JSON lines to standard output. Prompts, answers, keys and end users are never logged, only ids and counts. */
import { loggedError } from "./error.ts";
import type { LineLog, LogFields, Logger } from "./fields.ts";
import { LineOutput } from "./output.ts";
import { logMember, quoted } from "./text.ts";

export type { LineLog, LogFields, Logger };

const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, silent: Infinity } as const;

export type LogLevel = keyof typeof levels;

/** Destination of log lines, which receives whole lines. */
export interface LineSink {
  /** @param isUrgent whether the line is a warning or an error */
  write(line: string, isUrgent: boolean): unknown;
}

/** Opens the logger of a process. @param sink destination; by default standard output */
export const openLog = (room: string, level: LogLevel, sink?: LineSink): Logger =>
  new JsonLog(room, levels[level], sink);

/**
 * One output is shared by all logs of the process: otherwise a line of another log could split a line of which the pipe
 * has taken only a part.
 */
let standardOutput: LineOutput | undefined;

class JsonLog implements Logger {
  readonly #from: number;
  readonly #sink: LineSink;
  /** JSON members that every line has. */
  readonly #always: string;

  constructor(room: string, from: number, sink: LineSink | undefined) {
    this.#from = from;
    this.#sink = sink ?? (standardOutput ??= this.#openOutput());
    this.#always = `,"room":${quoted(room)},"pid":${process.pid}`;
  }

  /** The first use of `process.stdout` makes standard output non-blocking when it is a pipe. */
  #openOutput(): LineOutput {
    return new LineOutput(process.stdout.fd, (lines) =>
      this.#format(levels.warn, logMember("lines", lines), endOfLoss),
    );
  }

  debug(fields: LogFields | string, message?: string): void {
    this.#write(levels.debug, fields, message);
  }

  info(fields: LogFields | string, message?: string): void {
    this.#write(levels.info, fields, message);
  }

  warn(fields: LogFields | string, message?: string): void {
    this.#write(levels.warn, fields, message);
  }

  error(fields: LogFields | string, message?: string): void {
    this.#write(levels.error, fields, message);
  }

  lines(message: string): LineLog {
    const end = endOf(message);
    return {
      info: (members) => this.#writeLine(levels.info, members, end),
      error: (members, cause) => this.#writeLine(levels.error, members + logMember("err", loggedError(cause)), end),
    };
  }

  #write(level: number, fields: LogFields | string, message = ""): void {
    if (level < this.#from) return;
    if (typeof fields === "string") return this.#writeLine(level, "", endOf(fields));
    let members = "";
    for (const name of Object.keys(fields) as (keyof LogFields)[]) {
      members += logMember(name, name === "err" ? loggedError(fields.err) : fields[name]);
    }
    this.#writeLine(level, members, endOf(message));
  }

  #writeLine(level: number, members: string, end: string): void {
    if (level >= this.#from) this.#sink.write(this.#format(level, members, end), level >= levels.warn);
  }

  #format(level: number, members: string, end: string): string {
    const now = Date.now();
    if (now !== writtenMs) {
      writtenMs = now;
      writtenTime = new Date(now).toISOString();
    }
    return `{"level":${level},"time":"${writtenTime}"${this.#always}${members}${end}`;
  }
}

const endOf = (message: string): string => `,"msg":${quoted(message)}}\n`;

const endOfLoss = endOf("log lines were lost: standard output is read too slowly");

/** The millisecond of the last line as text: under load, several lines share it. */
let writtenMs = 0;
let writtenTime = "";
