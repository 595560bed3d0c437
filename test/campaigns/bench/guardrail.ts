/** A key under a guardrail of 50 output patterns: words to block, and forms to redact. */
import type { LoadTarget } from "./client/target.ts";

const words = "plutonium|uranium|falcon|nightingale|tungsten|bluebird|orchard|granite|harvest|lantern".split("|");
const patterns = [
  ...words,
  ...words.map((word) => `(?i)project ${word}`),
  ...words.map((word) => `\\b${word}-\\d{3,6}\\b`),
  ...words.map((word, index) => `(?:${word}|${words[(index + 1) % words.length]}) (?:key|token): ?\\S+`),
  "sk-[A-Za-z0-9]{20,}",
  "ghp_[A-Za-z0-9]{36}",
  "AKIA[0-9A-Z]{16}",
  "[\\w.+-]+@[\\w-]+\\.[\\w.]+",
  "\\b\\d{3}-\\d{2}-\\d{4}\\b",
  "\\b(?:\\d[ -]?){13,19}\\b",
  "\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b",
  "-----BEGIN [A-Z ]+-----",
  "eyJ[\\w-]+\\.[\\w-]+\\.[\\w-]+",
  "(?i)password\\s*[:=]\\s*\\S+",
];

/** @returns the target with a key of its own under the guardrail */
export async function guardedTarget(target: LoadTarget, managementKey: string): Promise<LoadTarget> {
  const administer = async (path: string, body: object) => {
    const answer = await fetch(`http://127.0.0.1:${target.port}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { readonly key?: string; readonly data: { id: string; hash: string } };
  };
  const filters = patterns.map((pattern) => ({ pattern, action: "redact" }));
  const guardrail = { name: "bench", applies_to: "output", content_filters: filters };
  const { id } = (await administer("/guardrails", guardrail)).data;
  const { key = "", data } = await administer("/keys", { name: "guarded" });
  await administer(`/guardrails/${id}/assignments/keys`, { key_hashes: [data.hash] });
  return { ...target, key, changesDeltas: true };
}
