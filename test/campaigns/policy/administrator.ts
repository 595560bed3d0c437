/** Administration of the measured installation, and requests to it. */
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { serviceSecrets } from "../../support/members.ts";

export const startPolicyInstallation = (models = "", providers = ""): Promise<Installation> =>
  startInstallation({
    embeddedPostgres: true,
    inferenceReplicas: 2,
    environment: serviceSecrets,
    config: `
providers:
  - {id: sluice, dialect: echo}
${providers}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
${models}
limits: {streams_per_key: 100000}
`,
  });

export class Administrator {
  readonly #installation: Pick<Installation, "baseUrl" | "managementKey">;

  constructor(installation: Pick<Installation, "baseUrl" | "managementKey">) {
    this.#installation = installation;
  }

  async makeKey(settings: object = {}): Promise<string> {
    return ((await this.#send("POST", "/keys", { name: "measured", ...settings })) as { key: string }).key;
  }

  /** Creates a guardrail that blocks a word. */
  async makeGuardrail(word = "forbidden"): Promise<string> {
    const content_filters = [{ pattern: word, action: "block" }];
    const { data } = (await this.#send("POST", "/guardrails", { name: word, content_filters })) as {
      data: { id: string };
    };
    return data.id;
  }

  assign(guardrail: string, keyHashes: readonly string[], remove = false): Promise<unknown> {
    const path = `/guardrails/${guardrail}/assignments/keys${remove ? "/remove" : ""}`;
    return this.#send("POST", path, { key_hashes: keyHashes });
  }

  async #send(method: string, path: string, body: object): Promise<unknown> {
    const { baseUrl, managementKey } = this.#installation;
    const answer = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
}

/** Sends a turn whose input a guardrail for the word "forbidden" blocks. @returns its status */
export async function postBlockedTurn(port: number, key: string, session?: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sluice/echo",
      input: "forbidden",
      ...(session !== undefined && { session_id: session }),
    }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

export const hashesOf = (keys: readonly string[]): string[] => keys.map(hashKey);
