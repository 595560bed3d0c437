/** Names of MCP tools for models: `server__tool`, in letters accepted by every provider. */
import { createHash } from "node:crypto";

/** Leaves room for a number suffix: providers accept names of 64 characters. */
const maxLength = 60;
const digestLength = 8;

export function modelName(label: string, tool: string): string {
  const wanted = `${label}__${tool}`;
  const safe = wanted.replaceAll(/[^A-Za-z0-9_-]/g, "_").replace(/^(?![A-Za-z_])/, "_");
  if (safe === wanted && safe.length <= maxLength) return safe;
  // Names that differ only in replaced or cut letters must stay different.
  const digest = createHash("sha256").update(wanted).digest("hex").slice(0, digestLength);
  return `${safe.slice(0, maxLength - digestLength - 1)}_${digest}`;
}
