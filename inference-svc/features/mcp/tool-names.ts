/** Makes names of MCP tools for models: `server__tool`, in characters every provider accepts. */
import { createHash } from "node:crypto";

/** Maximum characters of a name. Providers accept 64; the rest is for a number suffix. */
const maxLength = 60;
const digestLength = 8;

export function modelName(label: string, tool: string): string {
  const wanted = `${label}__${tool}`;
  const safe = wanted.replaceAll(/[^A-Za-z0-9_-]/g, "_").replace(/^(?![A-Za-z_])/, "_");
  if (safe === wanted && safe.length <= maxLength) return safe;
  // Names that differ only in characters replaced or cut off must stay different.
  const digest = createHash("sha256").update(wanted).digest("hex").slice(0, digestLength);
  return `${safe.slice(0, maxLength - digestLength - 1)}_${digest}`;
}
