/**
 * Recorded exchanges of real programs with real providers, if this machine has them: JSON lines, one file for each format, in the folder
 * `shared/recorded/corpus` next to the checkout or in RECORDED_CORPUS. They are not part of the project.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/processes.ts";
import { type JsonRecord, jsonRecord, textOrEmpty } from "./readers/json.ts";

export interface Exchange {
  readonly id: string;
  readonly format: string;
  readonly vendor: string;
  /** The recorded request; absent if only the answer was recorded. */
  readonly request?: {
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: JsonRecord;
  };
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly isStream: boolean;
  /** Name of the model at the provider. */
  readonly model: string;
}

export const corpusFolder = process.env["RECORDED_CORPUS"] ?? join(root, "../shared/recorded/corpus");
export const hasCorpus = existsSync(corpusFolder);

export function readCorpus(): Exchange[] {
  const files = readdirSync(corpusFolder).filter((name) => name.endsWith(".jsonl"));
  return files.sort().flatMap((name) => {
    const lines = readFileSync(join(corpusFolder, name), "utf8").split("\n");
    return lines.filter((line) => line !== "").map((line) => exchangeOf(JSON.parse(line) as Recorded));
  });
}

export interface Recorded {
  readonly id: string;
  readonly dialect: string;
  readonly vendor: string;
  readonly request?: { readonly path: string; readonly headers?: Record<string, string>; readonly body: JsonRecord };
  readonly response: {
    readonly status: number;
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly body_base64?: string;
  };
}

export function exchangeOf({ id, dialect, vendor, request, response }: Recorded): Exchange {
  const { status, headers, body = "", body_base64: binary } = response;
  const bytes = binary === undefined ? Buffer.from(body) : Buffer.from(binary, "base64");
  const type = headers["content-type"] ?? "";
  const looksStreamed = /event-?stream/.test(type) || bytes[0] === 0 || /^\s*(?:event|data):/.test(body.slice(0, 40));
  return {
    id,
    format: dialect,
    vendor,
    status,
    headers,
    bytes,
    isStream: status < 400 && looksStreamed,
    model: modelOf(request),
    ...(request && { request: { ...request, headers: request.headers ?? {} } }),
  };
}

function modelOf(request: Recorded["request"]): string {
  const named = textOrEmpty(jsonRecord(request?.body)["model"]);
  if (named !== "") return named;
  const inPath = /\/models?\/([^/:]+)|\/deployments\/([^/]+)\//.exec(request?.path ?? "");
  return decodeURIComponent(inPath?.[1] ?? inPath?.[2] ?? "recorded-model");
}
