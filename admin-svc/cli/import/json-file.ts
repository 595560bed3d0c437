/** Reads a JSON file of another gateway. */
import { readFileSync } from "node:fs";
import { CommandError } from "@sluice/proto/lib/process/cli.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";

/** @throws CommandError; the text of the file stays out of it */
export function readJsonFile(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new CommandError(`${file}: cannot be read: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CommandError(`${file}: no JSON`);
  }
}

/** @throws CommandError */
export function readJsonObject(file: string): JsonObject {
  const value = readJsonFile(file);
  if (!isObject(value)) throw new CommandError(`${file}: no JSON object`);
  return value;
}
