/** Small JSON files in the data folder: readable by their owner only, and written atomically. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** Undefined if the file does not exist. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

export function writePrivateJson(path: string, value: unknown): void {
  const draft = `${path}.new`;
  writeFileSync(draft, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}
