/** The worked examples of the wire contract, and the comparison of an answer with them. */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type SseStream, parseSse } from "./answers/sse.ts";

const folder = new URL("../../fixtures/contract/", import.meta.url);

/** File names of all samples. */
export const sampleNames = (): string[] => readdirSync(fileURLToPath(folder)).toSorted();

/** @param name file name without its folder */
export function readSample(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, folder)), "utf8");
}

export const sampleJson = (name: string): unknown => JSON.parse(readSample(name));

/** The stream of a sample. The file ends with one more empty line than a stream. */
export const sampleStream = (name: string): SseStream => parseSse(`${readSample(name).trimEnd()}\n\n`);

const differsFromRunToRun = new Set(["id", "item_id", "call_id", "created_at", "completed_at"]);

/** The value with the parts masked that differ from run to run. */
export function maskVolatile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskVolatile);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      differsFromRunToRun.has(key) && entry !== null ? "masked" : maskVolatile(entry),
    ]),
  );
}
