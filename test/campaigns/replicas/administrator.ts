/** Administrators' calls at the gateways in turn, with a journal of those acknowledged. */
import { setTimeout as wait } from "node:timers/promises";
import type { ReplicaCluster } from "./cluster.ts";

export interface AdministratorReply {
  /** HTTP status; 0 if the connection failed. */
  readonly status: number;
  readonly requestId: string;
  readonly body: unknown;
  /** Number of the called gateway. */
  readonly gateway: number;
}

export interface NamedRecord {
  readonly hash: string;
  /** Name of the record after the last acknowledged change. */
  acknowledged: string;
  /** Names in changes without an answer, each of which may take effect at any later time. */
  readonly uncertain: Set<string>;
}

const limitMs = 30_000;
const pauseMs = 20;
/** Statuses that may occur: during an outage, 500 with a retry header; 0 stands for no answer at all. */
const expected: ReadonlySet<number> = new Set([0, 200, 201, 500]);

export class ReplicaAdministrator {
  /** Ids of acknowledged changes, each of which must have an entry in the audit log. */
  readonly acknowledged: string[] = [];
  /** Keys whose creation was acknowledged. */
  readonly keys: NamedRecord[] = [];
  readonly odd: string[] = [];
  readonly #cluster: ReplicaCluster;
  #next = 0;

  constructor(cluster: ReplicaCluster) {
    this.#cluster = cluster;
  }

  async change(method: "POST" | "PATCH", path: string, body: object, at?: number): Promise<AdministratorReply> {
    const gateway = at ?? this.#next++ % this.#cluster.gateways.length;
    const reply = await this.send(gateway, method, path, body);
    if (!expected.has(reply.status)) this.odd.push(`${reply.status} to ${method} ${path}`);
    if (reply.status === 200 || reply.status === 201) this.acknowledged.push(reply.requestId);
    return reply;
  }

  async send(gateway: number, method: string, path: string, body?: object): Promise<AdministratorReply> {
    try {
      const answer = await fetch(`${this.#cluster.baseUrl(gateway)}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.#cluster.managementKey}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(limitMs),
      });
      const { status } = answer;
      return { status, gateway, requestId: answer.headers.get("x-request-id") ?? "", body: await answer.json() };
    } catch {
      return { status: 0, gateway, requestId: "", body: undefined };
    }
  }

  /** @returns undefined if the creation was not acknowledged */
  async makeKey(
    name: string,
    settings: object = {},
  ): Promise<{ readonly key: string; readonly named: NamedRecord } | undefined> {
    const { status, body } = await this.change("POST", "/keys", { name, ...settings });
    if (status !== 201) return undefined;
    const { key, data } = body as { key: string; data: { hash: string } };
    const named: NamedRecord = { hash: data.hash, acknowledged: name, uncertain: new Set() };
    this.keys.push(named);
    return { key, named };
  }

  /** Creates a guardrail that blocks the word. @throws if the creation was not acknowledged */
  async makeGuardrail(word: string): Promise<string> {
    const content_filters = [{ pattern: word, action: "block" }];
    const { status, body } = await this.change("POST", "/guardrails", { name: word, content_filters });
    if (status !== 201 && status !== 200) throw new Error(`a guardrail was not made: ${status}`);
    return (body as { data: { id: string } }).data.id;
  }

  assign(guardrail: string, hash: string, at?: number): Promise<AdministratorReply> {
    return this.change("POST", `/guardrails/${guardrail}/assignments/keys`, { key_hashes: [hash] }, at);
  }

  unassign(guardrail: string, hash: string): Promise<AdministratorReply> {
    return this.change("POST", `/guardrails/${guardrail}/assignments/keys/remove`, { key_hashes: [hash] });
  }

  /** Creates keys and renames them, with a new name each time. */
  async write(over: () => boolean): Promise<void> {
    for (let n = 0; !over(); n++) {
      const made = await this.makeKey(`made ${n}`);
      if (made) for (const change of [1, 2, 3]) await this.#rename(made.named, `named ${n} ${change}`);
      await wait(pauseMs);
    }
  }

  async #rename(named: NamedRecord, name: string): Promise<void> {
    const { status } = await this.change("PATCH", `/keys/${named.hash}`, { name });
    if (status === 200) named.acknowledged = name;
    else named.uncertain.add(name);
  }
}
