/** Host names of vendors, from which Sluice derives vendor rules. In the tests they lead to this machine. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Host and path of each vendor's `base_url`. */
const vendors: Readonly<Record<string, readonly [string, string]>> = {
  openai: ["api.openai.com", "/v1"],
  anthropic: ["api.anthropic.com", "/v1"],
  google: ["generativelanguage.googleapis.com", "/v1beta"],
  vertex: ["generativelanguage.googleapis.com", "/v1beta"],
  bedrock: ["bedrock-runtime.us-east-1.amazonaws.com", ""],
  cohere: ["api.cohere.com", ""],
  azure: ["acme.openai.azure.com", "/openai/v1"],
  groq: ["api.groq.com", "/openai/v1"],
  mistral: ["api.mistral.ai", "/v1"],
  deepseek: ["api.deepseek.com", ""],
  xai: ["api.x.ai", "/v1"],
  openrouter: ["openrouter.ai", "/api/v1"],
  moonshotai: ["api.moonshot.ai", "/v1"],
  cerebras: ["api.cerebras.ai", "/v1"],
  together: ["api.together.xyz", "/v1"],
  perplexity: ["api.perplexity.ai", ""],
  huggingface: ["router.huggingface.co", "/v1"],
  zai: ["api.z.ai", "/api/paas/v4"],
  fireworks: ["api.fireworks.ai", "/inference/v1"],
};

/** The base URL of a vendor on this machine. Without the vendor's host name, Sluice takes a provider for an unknown server. */
export function baseUrlOf(vendor: string, port: number): string {
  const [host, path] = vendors[vendor] ?? ["127.0.0.1", "/v1"];
  return `http://${vendorNames ? host : "127.0.0.1"}:${port}${path}`;
}

const hosts = Object.values(vendors).map(([host]) => `127.0.0.1 ${host}\n`);

/** Command that mounts a hosts file (its first argument) in a namespace, and runs a program there. */
const mount = ["sh", "-c", 'mount --make-rprivate / && mount --bind "$0" /etc/hosts && exec "$@"'];

/**
 * Command prefix with which the names of vendors lead to this machine for one program only, by mounts in a new namespace as root or as a user.
 * Undefined if the machine permits neither.
 */
export const vendorNames: readonly string[] | undefined = findVendorNames();

function findVendorNames(): readonly string[] | undefined {
  const file = join(mkdtempSync(join(tmpdir(), "sluice-test-vendors-")), "hosts");
  writeFileSync(file, `127.0.0.1 localhost\n::1 localhost\n${hosts.join("")}`);
  return ["-m", "-rm"]
    .map((flags) => ["unshare", flags, "--", ...mount, file])
    .find(([command = "", ...args]) => {
      try {
        return execFileSync(command, [...args, "getent", "hosts", "api.openai.com"]).includes("127.0.0.1");
      } catch {
        return false;
      }
    });
}
