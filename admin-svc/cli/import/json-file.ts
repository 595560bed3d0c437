/** Reads a JSON file of another gateway. */
import { readFileSync } from "node:fs";
import { CommandError } from "@sluice/proto/lib/process/cli.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";

/** @throws CommandError when the file cannot be read or parsed. The error never quotes the file. */
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

/** @throws CommandError unless the file holds a JSON object */
export function readJsonObject(file: string): JsonObject {
  const value = readJsonFile(file);
  if (!isObject(value)) throw new CommandError(`${file}: no JSON object`);
  return value;
}
